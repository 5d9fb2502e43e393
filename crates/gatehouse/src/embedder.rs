//! The embedder of the semantic cache that the settings name.

use std::sync::Arc;

use local_models::{ModelDirectory, ModelKind};
use pipeline::services::embedder::{Embedder, LocalEncoder};

use crate::settings::{Settings, SettingsFault};

/// The name of the embedder in the process.
pub const LOCAL: &str = "local";

/// The embedder that the settings name. A local one is loaded when it is first used.
pub fn find(settings: &Settings) -> Embedder {
    let name = &settings.semantic_cache.embedder;
    if name != LOCAL {
        return Embedder::Provider(name.clone());
    }
    let directory = ModelDirectory::of(&settings.storage.data_dir);
    match directory.imported(ModelKind::Encoder) {
        Some(file) => Embedder::Local(Arc::new(LocalEncoder::new(file))),
        None => {
            let file = directory.file(ModelKind::Encoder);
            Embedder::Missing(format!(
                "the semantic cache needs an embedder, and {} does not exist: import the weights with `gatehouse models \
                 import`, or set SEMANTIC_CACHE_EMBEDDER to the selector of a provider's embedding model",
                file.display()
            ))
        }
    }
}

/// A fault if the semantic cache is on and has no embedder.
pub fn missing(settings: &Settings) -> Option<SettingsFault> {
    if !settings.semantic_cache.enabled {
        return None;
    }
    let embedder = find(settings);
    let message = format!("has no effect: {}", embedder.requirement()?);
    Some(SettingsFault::new("semantic_cache.enabled (SEMANTIC_CACHE_ENABLED)", message))
}
