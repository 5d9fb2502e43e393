//! The settings whose change takes effect after a restart only, with the reason. All others are applied by a reload.

const LISTENER: &str = "the listener is opened at the start";
const ROUTES: &str = "the routes are built at the start";
const CONNECTIONS: &str = "the connections to providers are set up at the start";
const SEMANTIC_STORE: &str = "the store of the semantic cache is opened at the start";

/// Names of settings, or of sections with a final dot.
const REASONS: [(&str, &str); 30] = [
    ("server.host", LISTENER),
    ("server.port", LISTENER),
    ("server.base_path", ROUTES),
    ("server.max_connections", LISTENER),
    ("server.header_timeout", LISTENER),
    ("server.write_timeout", LISTENER),
    ("server.shutdown_delay", LISTENER),
    ("server.shutdown_grace", LISTENER),
    ("storage.", "storage is opened at the start"),
    ("redis.", "the connection to Redis is set up at the start"),
    ("journal.", "the journal is opened at the start"),
    ("metrics.", ROUTES),
    ("admin.", ROUTES),
    ("log.format", "the log is opened at the start"),
    ("telemetry.", "the exporter is set up at the start"),
    ("edition.", "the tasks of capabilities are begun at the start"),
    ("identity.admin_email", "the first administrator is created at the start"),
    ("identity.admin_password", "the first administrator is created at the start"),
    ("proxy.", CONNECTIONS),
    ("upstream.allow_private", CONNECTIONS),
    ("upstream.http2", CONNECTIONS),
    ("upstream.connect_timeout", CONNECTIONS),
    ("cache.max_bytes", "the cache is allocated at the start"),
    ("semantic_cache.enabled", "the index and the embedder are loaded at the start"),
    ("semantic_cache.embedder", "the index and the embedder are loaded at the start"),
    ("semantic_cache.max_entries", "the index and the embedder are loaded at the start"),
    ("semantic_cache.store", SEMANTIC_STORE),
    ("semantic_cache.qdrant_url", SEMANTIC_STORE),
    ("semantic_cache.qdrant_api_key", SEMANTIC_STORE),
    ("semantic_cache.qdrant_collection", SEMANTIC_STORE),
];

/// The reason why a change of this setting needs a restart; `None` if a reload applies it.
pub fn restart_reason(path: &str) -> Option<&'static str> {
    let fits = |name: &str| name == path || (name.ends_with('.') && path.starts_with(name));
    REASONS.iter().find(|(name, _)| fits(name)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TABLE;

    #[test]
    fn every_reason_is_of_a_setting() {
        for (name, _) in REASONS {
            let fits = |path: &str| path == name || (name.ends_with('.') && path.starts_with(name));
            assert!(TABLE.iter().any(|setting| fits(setting.path)), "{name}");
        }
    }

    #[test]
    fn settings_of_calls_are_live() {
        for live in ["cache.ttl", "logging.enabled", "server.body_size_limit", "webhooks.url", "log.level"] {
            assert_eq!(restart_reason(live), None, "{live}");
        }
        for fixed in ["storage.type", "server.port", "admin.debug", "journal.fsync"] {
            assert!(restart_reason(fixed).is_some(), "{fixed}");
        }
    }
}
