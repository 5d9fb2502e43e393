//! Aliases. One that does not compile is ignored.

use domain::resources::alias::Alias;
use store::Stored;

use crate::snapshot::section::Section;

pub struct Aliases;

impl Section for Aliases {
    type Document = Alias;
    type Compiled = Alias;

    fn compile(document: Stored<Alias>) -> Result<Alias, String> {
        Ok(document.value)
    }

    fn fallback(_name: &str) -> Option<Alias> {
        None
    }
}
