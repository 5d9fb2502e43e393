//! The store of the semantic cache that the settings name.

use std::time::Duration;

use egress::Egress;
use pipeline::services::semantic_cache::{EntryStorage, Qdrant, QdrantConfig};
use store::Store;

use crate::settings::{SemanticStore, Settings, SettingsFault, StorageType};

/// The times that a call waits for an embedding by default: of a local model, and of that of a provider.
const LOCAL_EMBEDDING: Duration = Duration::from_millis(100);
const PROVIDER_EMBEDDING: Duration = Duration::from_secs(1);

/// Opens the store. Fails if it lacks something that the settings or an administrator have to provide.
pub async fn open(settings: &Settings, egress: &Egress, store: &Store) -> Result<EntryStorage, String> {
    let cache = &settings.semantic_cache;
    if !cache.enabled {
        return Ok(EntryStorage::Memory);
    }
    let entries = store.semantic_entries().clone();
    match cache.store {
        SemanticStore::Embedded => Ok(EntryStorage::Embedded(entries)),
        SemanticStore::Pgvector => {
            let opened = entries.open_vectors().await;
            opened.map_err(|error| format!("SEMANTIC_CACHE_STORE=pgvector cannot be used: {error}"))?;
            Ok(EntryStorage::Pgvector(entries))
        }
        SemanticStore::Qdrant => {
            let config = QdrantConfig {
                url: cache.qdrant_url.clone().unwrap_or_default(),
                api_key: cache.qdrant_api_key.clone(),
                collection: cache.qdrant_collection.clone(),
            };
            let qdrant = Qdrant::new(egress.clone(), config);
            qdrant
                .map(EntryStorage::Qdrant)
                .map_err(|reason| format!("SEMANTIC_CACHE_STORE=qdrant cannot be used: {reason}"))
        }
    }
}

/// The time that a call waits for its embedding.
pub fn embedding_timeout(settings: &Settings) -> Duration {
    let cache = &settings.semantic_cache;
    let by_default =
        if cache.embedder == crate::embedder::LOCAL { LOCAL_EMBEDDING } else { PROVIDER_EMBEDDING };
    cache.embedding_timeout.unwrap_or(by_default)
}

/// A fault if the semantic cache is on and its store lacks a setting.
pub fn missing(settings: &Settings) -> Option<SettingsFault> {
    let cache = &settings.semantic_cache;
    let needed = |name: &str, needed: &str| Some(SettingsFault::new(name, needed));
    match cache.store {
        SemanticStore::Pgvector if cache.enabled && settings.storage.kind != StorageType::Postgres => needed(
            "semantic_cache.store (SEMANTIC_CACHE_STORE)",
            "is pgvector, which needs storage.type (STORAGE_TYPE) postgres",
        ),
        SemanticStore::Qdrant if cache.enabled && cache.qdrant_url.is_none() => needed(
            "semantic_cache.qdrant_url (SEMANTIC_CACHE_QDRANT_URL)",
            "is needed because semantic_cache.store (SEMANTIC_CACHE_STORE) is qdrant",
        ),
        _ => None,
    }
}
