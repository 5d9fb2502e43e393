//! Providers stored through the admin API. One that does not compile is ignored.

use domain::resources::provider::Provider;
use store::Stored;
use wire::vendors;

use crate::snapshot::section::Section;

pub struct Providers;

impl Section for Providers {
    type Document = Provider;
    type Compiled = Provider;

    fn compile(document: Stored<Provider>) -> Result<Provider, String> {
        Ok(document.value)
    }

    fn fallback(_name: &str) -> Option<Provider> {
        None
    }

    /// Such an instance still takes the place of a configured one of the same name.
    fn defect(document: &Provider) -> Option<String> {
        let known = vendors::find(&document.provider_type).is_some();
        (!known).then(|| "its type is not known to this version, so that it serves no models".to_owned())
    }
}
