//! Budget settings. If they do not compile, the scopes of all budgets are closed: their windows are not known.

use domain::resources::budget_settings::BudgetSettings;
use store::Stored;

use crate::budgets::StoredSettings;
use crate::snapshot::section::Section;

pub struct Settings;

impl Section for Settings {
    type Document = BudgetSettings;
    type Compiled = StoredSettings;

    fn compile(document: Stored<BudgetSettings>) -> Result<StoredSettings, String> {
        Ok(StoredSettings::Known(document.value))
    }

    fn fallback(_name: &str) -> Option<StoredSettings> {
        Some(StoredSettings::Unknown)
    }
}
