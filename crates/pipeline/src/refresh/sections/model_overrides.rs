//! Model overrides. One that does not compile denies access: to ignore it would allow everybody.

use domain::resources::model_override::ModelOverride;
use domain::user_path::UserPath;
use store::Stored;

use crate::snapshot::section::Section;

pub struct ModelOverrides;

impl Section for ModelOverrides {
    type Document = ModelOverride;
    type Compiled = ModelOverride;

    fn compile(document: Stored<ModelOverride>) -> Result<ModelOverride, String> {
        Ok(document.value)
    }

    fn fallback(selector: &str) -> Option<ModelOverride> {
        Some(ModelOverride {
            selector: selector.to_owned(),
            enabled: false,
            user_paths: Vec::new(),
            metadata: Default::default(),
        })
    }

    /// User paths that cannot be parsed are left out; see `routing::routes::Access`.
    fn defect(document: &ModelOverride) -> Option<String> {
        let invalid = document.user_paths.iter().position(|path| UserPath::parse(path).is_err())?;
        Some(format!("user_paths[{invalid}] is not a user path and is ignored"))
    }
}
