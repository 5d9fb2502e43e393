//! Managed keys. One that does not compile is rejected.

use domain::principal::KeyFacts;
use domain::resources::auth_key::AuthKey;
use store::Stored;

use crate::snapshot::keys;
use crate::snapshot::section::Section;

pub struct AuthKeys;

impl Section for AuthKeys {
    type Document = AuthKey;
    /// The facts of each of its values; a key without values is not known.
    type Compiled = Vec<KeyFacts>;

    fn compile(document: Stored<AuthKey>) -> Result<Vec<KeyFacts>, String> {
        keys::compile(&document.value)
    }

    fn fallback(_name: &str) -> Option<Vec<KeyFacts>> {
        Some(Vec::new())
    }
}
