//! Combos. One that does not compile is ignored.

use domain::resources::combo::Combo;
use store::Stored;

use crate::snapshot::section::Section;

pub struct Combos;

impl Section for Combos {
    type Document = Combo;
    type Compiled = Combo;

    fn compile(document: Stored<Combo>) -> Result<Combo, String> {
        Ok(document.value)
    }

    fn fallback(_name: &str) -> Option<Combo> {
        None
    }
}
