//! Budgets. One that does not compile closes its scope: its amount is not known.

use domain::resources::budget::Budget;
use store::Stored;

use crate::budgets::{ClosedScope, StoredBudget};
use crate::snapshot::section::Section;

pub struct Budgets;

impl Section for Budgets {
    type Document = Budget;
    type Compiled = StoredBudget;

    fn compile(document: Stored<Budget>) -> Result<StoredBudget, String> {
        match document.value.key() {
            Some(_) => Ok(StoredBudget::Enforced(document.value)),
            None => Err("not a valid period".to_owned()),
        }
    }

    fn fallback(name: &str) -> Option<StoredBudget> {
        Some(StoredBudget::Closed(ClosedScope::named(name)))
    }
}
