//! Settings of the test gateway: a short table in the form in which the executable provides its own.

use std::sync::Arc;

use arc_swap::ArcSwap;
use domain::resources::setting_values::{self, SettingValues};
use futures_util::future::BoxFuture;
use server::{RuntimeSettings, SettingFault, SettingLayer, SettingState};
use store::Store;

/// Name, variable, default, whether it is live, whether it is secret.
const TABLE: [(&str, &str, &str, bool, bool); 7] = [
    ("log.level", "LOG_LEVEL", "info", true, false),
    ("cache.ttl", "RESPONSE_CACHE_TTL", "1h", false, false),
    ("proxy.http", "HTTP_PROXY", "", false, true),
    ("server.host", "HOST", "127.0.0.1", false, false),
    ("storage.path", "STORAGE_PATH", "data", false, false),
    ("telemetry.otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", "", false, false),
    ("telemetry.otlp_headers", "OTEL_EXPORTER_OTLP_HEADERS", "", false, true),
];

pub struct TestRuntimeSettings {
    store: Store,
    stored: ArcSwap<SettingValues>,
    /// The values of the start.
    in_force: SettingValues,
}

impl TestRuntimeSettings {
    pub async fn open(store: Store) -> Arc<Self> {
        let values = read(&store).await;
        Arc::new(Self { store, stored: ArcSwap::from_pointee(values.clone()), in_force: values })
    }
}

async fn read(store: &Store) -> SettingValues {
    let stored = store.collection::<SettingValues>().get_readable(setting_values::NAME).await.unwrap();
    stored.map(|stored| stored.value).unwrap_or_default()
}

impl RuntimeSettings for TestRuntimeSettings {
    fn list(&self) -> Vec<SettingState> {
        let stored = self.stored.load();
        let state =
            |(name, env, default, live, secret): (&'static str, &'static str, &'static str, bool, bool)| {
                let value = stored.get(name);
                let never_stored = name == "storage.path";
                let locked = never_stored || name == "server.host";
                SettingState {
                    name,
                    env,
                    value: match value {
                        Some(_) if secret => "***".to_owned(),
                        value => value.unwrap_or(default).to_owned(),
                    },
                    default,
                    source: match (locked, value) {
                        (true, _) => SettingLayer::Env,
                        (false, Some(_)) => SettingLayer::Admin,
                        (false, None) => SettingLayer::Default,
                    },
                    locked,
                    locked_reason: locked.then(|| format!("{env} in the environment sets it")),
                    never_stored,
                    restart_required: !live,
                    restart_reason: (!live).then_some("the tests say so"),
                    restart_pending: !live && value != self.in_force.get(name),
                    secret,
                    kind: "text",
                    description: "A setting of the tests.",
                }
            };
        TABLE.map(state).into()
    }

    fn check(&self, values: &SettingValues) -> Result<(), SettingFault> {
        let valid = ["error", "warn", "info", "debug", "trace"];
        match values.get("log.level").filter(|level| !valid.contains(level)) {
            Some(level) => {
                Err(SettingFault { name: Some("log.level"), message: format!("'{level}' is not a level") })
            }
            None => Ok(()),
        }
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            self.stored.store(Arc::new(read(&self.store).await));
            Ok(())
        })
    }
}
