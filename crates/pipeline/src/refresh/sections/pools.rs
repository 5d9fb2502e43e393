//! Provider pools. One that does not compile is ignored.

use domain::resources::pool::Pool;
use store::Stored;

use crate::snapshot::section::Section;

pub struct Pools;

impl Section for Pools {
    type Document = Pool;
    type Compiled = Pool;

    fn compile(document: Stored<Pool>) -> Result<Pool, String> {
        Ok(document.value)
    }

    fn fallback(_name: &str) -> Option<Pool> {
        None
    }
}
