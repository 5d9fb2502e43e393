//! Test harness: a whole gateway in one process with store, journal, egress and routes, assembled like the executable.

mod answer;
mod call;
mod clock;
mod databases;
mod dialect;
mod embedder;
mod issuer;
mod line;
mod log;
mod redis;
mod settings;
mod socket;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::capability::{Capabilities, Edition};
use domain::clock::Clock;
use domain::ids::Entropy;
use domain::receipt::Opening;
use domain::resources::auth_key;
use domain::resources::budget;
use domain::resources::provider::{Provider, ProviderSource, Resilience};
use domain::secret::Secret;
use egress::{Egress, EgressConfig, Trust};
use http::Method;
use identity::token_issuer::TokenIssuer;
use pipeline::budgets::{self, Budgets};
use pipeline::gateway::Gateway;
use pipeline::gateway::replication::ReplicaIdentity;
use pipeline::policy::Policy;
use pipeline::refresh::{ConfiguredDocument, Refresher, StaticConfig};
use pipeline::routing::inventory::Inventory;
use pipeline::services::embedder::Embedder;
use pipeline::services::semantic_cache::{EntryStorage, Qdrant, QdrantConfig};
use pipeline::services::webhooks::{ConfiguredReceiver, WebhookEvents};
use pipeline::snapshot::Snapshot;
use serde_json::{Value, json};
use server::{App, CliToolsConfig, Config, HttpService, ListenConfig};
use store::{Backend, Drainer, Journal, JournalConfig, SemanticEntries, Store, StoreConfig};
use tempfile::TempDir;
use testkit::{SeededEntropy, Upstream};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

pub use answer::{Answer, check_envelope, check_snapshot, pretty};
pub use call::Call;
pub use clock::{ShiftedClock, eventually};
pub use dialect::{CLIENTS, Client, UPSTREAMS, input, message};
pub use embedder::WordEncoder;
pub use issuer::TestIssuer;
pub use line::Line;
pub use log::CapturedLog;
pub use redis::{RedisConfig, redis_server};
pub use socket::Socket;

pub const MASTER: &str = "master-key-of-the-tests";
pub const UPSTREAM_KEY: &str = "sk-upstream-secret-7890";
pub const ADMIN_EMAIL: &str = "admin@example.com";
pub const ADMIN_PASSWORD: &str = "a password of the tests";

/// In `Policy::client_credentials`, the address of the scripted upstream.
pub const AT_UPSTREAM: &str = "@upstream";

/// The store of the semantic cache.
#[derive(Clone, Debug)]
pub enum SemanticStore {
    Embedded,
    Pgvector,
    Qdrant(QdrantConfig),
}

impl SemanticStore {
    async fn open(self, egress: &Egress, entries: SemanticEntries) -> EntryStorage {
        match self {
            Self::Embedded => EntryStorage::Embedded(entries),
            // SQLite has none.
            Self::Pgvector if !entries.is_shared() => EntryStorage::Embedded(entries),
            Self::Pgvector => {
                entries.open_vectors().await.unwrap();
                EntryStorage::Pgvector(entries)
            }
            Self::Qdrant(config) => EntryStorage::Qdrant(Qdrant::new(egress.clone(), config).unwrap()),
        }
    }
}

/// Settings that a test may change.
pub struct TestSettings {
    pub policy: Policy,
    pub config: Config,
    pub allow_private: bool,
    pub loopback_listener: bool,
    pub store_timeout: Duration,
    /// The provider types of the environment: one instance each, named after its type, at the scripted upstream.
    pub vendors: &'static [&'static str],
    pub demo: Option<bool>,
    pub edition: Edition,
    /// Configured budgets, in the format of `BUDGETS`.
    pub budgets: &'static str,
    /// Documents of the configuration file.
    pub documents: Vec<ConfiguredDocument>,
    /// The embedder of the semantic cache, if that is on.
    pub embedder: Embedder,
    /// The store of the semantic cache, if that is on.
    pub semantic_store: SemanticStore,
    /// The receiver of webhooks.
    pub webhooks: Option<ConfiguredReceiver>,
    pub token_issuers: Vec<TokenIssuer>,
    /// Redis, through which gateways share limits and cached answers.
    pub redis: Option<RedisConfig>,
}

impl Default for TestSettings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            config: Config {
                version: "0.0.0-test",
                // Long, so that a busy machine does not look like storage that is down.
                probe_timeout: Duration::from_secs(20),
                // Writes nothing without a home directory.
                cli_tools: CliToolsConfig { enabled: true, apply_enabled: true, home: None },
                ..Config::default()
            },
            allow_private: false,
            loopback_listener: false,
            store_timeout: Duration::from_secs(20),
            vendors: &["openai"],
            demo: None,
            edition: Edition::Oss,
            budgets: "",
            documents: Vec::new(),
            embedder: Embedder::Local(Arc::new(WordEncoder)),
            semantic_store: SemanticStore::Embedded,
            webhooks: None,
            token_issuers: Vec::new(),
            redis: None,
        }
    }
}

impl TestSettings {
    /// Settings with all capabilities.
    pub fn enterprise() -> Self {
        Self { edition: Edition::Enterprise, ..Self::default() }
    }

    /// Settings with all capabilities and a first administrator.
    pub fn with_identity() -> Self {
        let mut settings = Self::enterprise();
        settings.config.identity.has_first_admin = true;
        settings
    }

    /// Settings with one provider of every API format.
    pub fn every_dialect() -> Self {
        Self {
            vendors: &["openai", "anthropic", "gemini", "groq", "jina", "azure", "ollama"],
            ..Self::default()
        }
    }
}

pub struct TestApp {
    pub upstream: Arc<Upstream>,
    pub gateway: Arc<Gateway>,
    pub refresher: Arc<Refresher>,
    pub http_service: HttpService,
    pub clock: Arc<ShiftedClock>,
    pub backend: Backend,
    drainer: Mutex<Drainer>,
    vendors: &'static [&'static str],
    budgets: &'static str,
    embedder: Embedder,
    semantic_store: SemanticStore,
    redis: Option<RedisConfig>,
    /// The task that writes responses, idempotent answers and entries of the semantic cache to storage.
    writer: Mutex<Option<(watch::Sender<bool>, JoinHandle<()>)>>,
    directory: TempDir,
}

/// Runs a test on SQLite and on PostgreSQL, each time with a new app.
pub async fn each(test: impl AsyncFn(TestApp)) {
    each_with(TestSettings::default, test).await;
}

pub async fn each_with(settings: impl Fn() -> TestSettings, test: impl AsyncFn(TestApp)) {
    // Boxed: both futures are large.
    databases::each(async |backend| {
        let app = Box::pin(TestApp::build(backend, settings())).await;
        Box::pin(test(app)).await;
    })
    .await;
}

/// Runs a test that does not depend on the database, with SQLite.
pub async fn on_sqlite(settings: TestSettings, test: impl AsyncFnOnce(TestApp)) {
    let directory = tempfile::tempdir().unwrap();
    let backend = Backend::Sqlite { path: directory.path().join("gatehouse.db") };
    test(TestApp::build(backend, settings).await).await;
}

impl TestApp {
    async fn build(backend: Backend, settings: TestSettings) -> Self {
        let ground =
            Ground { upstream: Arc::new(Upstream::start().await), clock: Default::default(), seed: 7 };
        Self::build_on(backend, settings, ground).await
    }

    async fn build_on(backend: Backend, settings: TestSettings, ground: Ground) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let Ground { upstream, clock: shifted, seed } = ground;
        let mut policy = settings.policy;
        for receiver in &mut policy.client_credentials {
            *receiver = receiver.replace(AT_UPSTREAM, &format!("@http://{}", upstream.address()));
        }
        let clock: Arc<dyn Clock> = shifted.clone();
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(seed));
        let config = StoreConfig {
            backend: backend.clone(),
            sealing_key: [42; 32],
            operation_timeout: settings.store_timeout,
            entropy: entropy.clone(),
        };
        let store = Store::open(config, clock.clone()).await.unwrap();
        let journal = Journal::open(journal_config(&directory), clock.clone(), entropy.clone()).unwrap();
        let is_shared = store.ledger().leases().are_used() && settings.edition == Edition::Enterprise;
        let tasks = TaskTracker::new();
        let egress = Egress::new(EgressConfig::default(), clock.clone(), tasks.clone()).unwrap();
        let entry_storage =
            settings.semantic_store.clone().open(&egress, store.semantic_entries().clone()).await;
        let redis = redis::connect(settings.redis.as_ref()).await;
        let gateway = Arc::new(Gateway {
            response_cache: policy.cache.open(redis::cache(redis.as_ref(), &tasks)),
            limiter: redis::limiter(settings.redis.as_ref().zip(redis.as_ref()), &entropy),
            semantic_cache: policy.cache.open_semantic(settings.embedder.clone(), entry_storage),
            send_embeddings: pipeline::embeddings_call::send,
            admin_trust: Trust::Admin {
                allow_private: settings.allow_private,
                loopback_listener: settings.loopback_listener,
            },
            egress,
            clock,
            entropy,
            tasks,
            journal: journal.clone(),
            metrics: Default::default(),
            target_health: Default::default(),
            traces: None,
            policy: policy.into(),
            capabilities: Capabilities { edition: settings.edition, single: Default::default() },
            snapshot: ArcSwap::from_pointee(empty_snapshot()),
            pending_receipts: Default::default(),
            responses: store.responses().clone(),
            prompt_affinity: Default::default(),
            reasoning_states: Default::default(),
            retry_budget: Default::default(),
            hedge_budget: Default::default(),
            console: Default::default(),
            audit: Default::default(),
            budgets: Arc::new(Budgets::new(is_shared.then(|| journal.name()))),
            key_uses: Default::default(),
            user_paths: Default::default(),
            injection_scorer: Default::default(),
            idempotency: store.idempotency().clone(),
            body_work: Default::default(),
            unknown_callers: Default::default(),
            replica: ReplicaIdentity {
                host: "host-of-the-tests".into(),
                pid: u32::try_from(seed).unwrap(),
                version: settings.config.version,
                started_at: shifted.now(),
            },
            change_signals: Default::default(),
            webhook_events: Arc::new(WebhookEvents::new(settings.webhooks.clone())),
        });
        redis::start(&gateway);
        let (stop, stopped) = watch::channel(false);
        let (responses, keys) = (store.responses().clone(), store.idempotency().clone());
        let entries = store.semantic_entries().clone();
        let leases = budgets::keep_leases(
            gateway.budgets.clone(),
            gateway.clock.clone(),
            store.clone(),
            stopped.clone(),
        );
        let writing = gateway.tasks.spawn(async move {
            let (responses, keys) = (responses.run(stopped.clone()), keys.run(stopped.clone()));
            tokio::join!(responses, keys, entries.run(stopped), leases);
        });
        let instance = |vendor: &&str| (provider(vendor, &upstream), ProviderSource::Env);
        let fixed = StaticConfig {
            providers: settings.vendors.iter().map(instance).collect(),
            demo: settings.demo,
            allow_private: settings.allow_private,
            loopback_listener: settings.loopback_listener,
            combos: true,
            budgets: budget::parse_list(settings.budgets).unwrap(),
            documents: settings.documents,
            token_issuers: settings.token_issuers.clone(),
            secrets: vec![Secret::new(MASTER.to_owned())],
        };
        let refresher =
            Arc::new(Refresher::new(gateway.clone(), store.clone(), fixed, Inventory::open(None)));
        refresher.load().await.unwrap();
        let runtime_settings = settings::TestRuntimeSettings::open(store.clone()).await;
        let app = App::new(gateway.clone(), refresher.clone(), runtime_settings, settings.config);
        Self {
            upstream,
            gateway,
            refresher,
            http_service: HttpService::new(app),
            clock: shifted,
            backend,
            drainer: Mutex::new(Drainer::new(journal, store)),
            vendors: settings.vendors,
            budgets: settings.budgets,
            embedder: settings.embedder,
            semantic_store: settings.semantic_store,
            redis: settings.redis,
            writer: Mutex::new(Some((stop, writing))),
            directory,
        }
    }

    /// Starts another gateway on the same database, with the same providers, clock and settings.
    pub async fn neighbour(&self) -> Self {
        let settings = TestSettings {
            policy: self.gateway.policy.clone(),
            config: Config::clone(&self.http_service.app().config),
            vendors: self.vendors,
            edition: self.gateway.capabilities.edition,
            budgets: self.budgets,
            embedder: self.embedder.clone(),
            semantic_store: self.semantic_store.clone(),
            redis: self.redis.clone(),
            token_issuers: self.refresher.configuration().token_issuers,
            loopback_listener: self.refresher.configuration().loopback_listener,
            ..TestSettings::default()
        };
        let ground = Ground { upstream: self.upstream.clone(), clock: self.clock.clone(), seed: 8 };
        Box::pin(Self::build_on(self.backend.clone(), settings, ground)).await
    }

    /// Stops the gateway like a process and starts another on its database.
    pub async fn restart(&self) -> Self {
        let (stop, writing) = self.writer.lock().await.take().unwrap();
        stop.send_replace(true);
        writing.await.unwrap();
        self.refresher.store().close().await;
        self.neighbour().await
    }

    /// The data directory, which contains the journal.
    pub fn data_directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Changes the database directly, bypassing the gateway.
    pub async fn sql(&self, statement: &str) {
        use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
        match &self.backend {
            Backend::Sqlite { path } => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_secs(5)).unwrap();
                connection.execute_batch(statement).unwrap();
            }
            Backend::Postgres { url } => {
                let statement = AssertSqlSafe(statement.to_owned());
                let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
                connection.execute(statement).await.map(drop).unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    /// Simulates another process on the same journal directory that crashes during this call.
    pub fn crash(&self, opening: &Opening) {
        let config = journal_config(&self.directory);
        let journal =
            Journal::open(config, self.gateway.clock.clone(), self.gateway.entropy.clone()).unwrap();
        journal.open_call(opening.as_ref(), store::ShardId::SHARED).unwrap();
    }

    /// A request, by default with the master key.
    pub fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        Call::new(&self.http_service, method, path.into()).key(MASTER)
    }

    pub fn get(&self, path: impl Into<String>) -> Call<'_> {
        self.call(Method::GET, path)
    }

    pub fn post(&self, path: impl Into<String>, body: Value) -> Call<'_> {
        self.call(Method::POST, path).json(body)
    }

    pub fn put(&self, path: impl Into<String>, body: Value) -> Call<'_> {
        self.call(Method::PUT, path).json(body)
    }

    /// A chat completion with the upstream's scripted model of that name.
    pub fn chat(&self, model: &str) -> Call<'_> {
        self.post("/v1/chat/completions", question(model))
    }

    pub fn stream(&self, model: &str) -> Call<'_> {
        let mut body = question(model);
        body["stream"] = json!(true);
        self.post("/v1/chat/completions", body)
    }

    /// Creates a managed key; returns its id and its raw value.
    pub async fn key(&self, body: Value) -> (String, String) {
        let answer = self.post("/admin/api/v1/auth-keys", body).send().await.expect_status(201);
        let created = answer.json();
        (created["id"].as_str().unwrap().to_owned(), created["key"].as_str().unwrap().to_owned())
    }

    pub async fn key_with(&self, scopes: &[&str]) -> String {
        self.key(json!({"name": "of the tests", "scopes": scopes})).await.1
    }

    /// Creates the first administrator and logs in; returns the answer to the login.
    pub async fn admin_login(&self) -> Value {
        let password = Secret::new(ADMIN_PASSWORD.to_owned());
        server::create_first_admin(self.http_service.app(), ADMIN_EMAIL, &password).await.unwrap();
        self.login(ADMIN_EMAIL, ADMIN_PASSWORD).await.expect_status(200).json()
    }

    pub async fn login(&self, email: &str, password: &str) -> Answer {
        let body = json!({"email": email, "password": password});
        self.post("/admin/api/v1/auth/login", body).anonymous().send().await
    }

    /// Creates a user with these roles and logs it in; returns its id and its access token.
    pub async fn user(&self, email: &str, roles: &[&str]) -> (String, String) {
        let body = json!({"email": email, "password": ADMIN_PASSWORD, "roles": roles});
        let made = self.post("/admin/api/v1/identity/users", body).send().await.expect_status(201).json();
        let login = self.login(email, ADMIN_PASSWORD).await.expect_status(200).json();
        let token = login["tokens"]["access_token"].as_str().unwrap().to_owned();
        (made["id"].as_str().unwrap().to_owned(), token)
    }

    pub async fn drain(&self) -> Result<usize, store::StoreError> {
        self.drainer.lock().await.drain_once().await
    }

    /// The body of the newest request that the upstream received.
    pub fn last_upstream_request(&self) -> String {
        String::from_utf8(self.upstream.requests().last().unwrap().body.clone()).unwrap()
    }

    /// The usage log, oldest first, once it has exactly `count` calls; fails if it has more.
    pub async fn receipts(&self, count: usize) -> Vec<Value> {
        let deadline = self.clock.tick() + Duration::from_secs(60);
        loop {
            self.drain().await.unwrap();
            let found = self.usage_log().await;
            assert!(found.len() <= count, "{} calls instead of {count}: {found:#?}", found.len());
            if found.len() == count {
                tokio::time::sleep(Duration::from_millis(30)).await;
                self.drain().await.unwrap();
                let later = self.usage_log().await;
                assert_eq!(later.len(), count, "{later:#?}");
                return later;
            }
            assert!(self.clock.tick() < deadline, "{} calls instead of {count}: {found:#?}", found.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn usage_log(&self) -> Vec<Value> {
        let answer = self.get("/admin/api/v1/usage/log?limit=200").send().await.expect_status(200);
        let mut entries = answer.json()["entries"].as_array().unwrap().clone();
        entries.reverse();
        entries
    }

    /// Serves the gateway on a real socket until the app is dropped.
    pub async fn listen(&self) -> Listening {
        self.listen_with(ListenConfig { grace: Duration::from_secs(5), ..ListenConfig::default() }).await
    }

    pub async fn listen_with(&self, config: ListenConfig) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let http_service = self.http_service.clone();
        let serving = self.gateway.tasks.spawn(async move {
            server::serve(listener, http_service, config, stopping, &server::Workers::none()).await
        });
        Listening { address, stop, serving }
    }
}

pub struct Listening {
    pub address: std::net::SocketAddr,
    pub stop: watch::Sender<bool>,
    /// Returns the number of connections that were still open when the grace period ended.
    pub serving: tokio::task::JoinHandle<usize>,
}

pub fn question(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "How are you today?"}]})
}

/// The parts of an app that another app may share.
struct Ground {
    upstream: Arc<Upstream>,
    clock: Arc<ShiftedClock>,
    seed: u64,
}

/// An instance named after its type, at the URL where the upstream serves that type.
pub fn provider(vendor: &str, upstream: &Upstream) -> Provider {
    let base_url = match vendor {
        "gemini" => format!("http://{}/v1beta", upstream.address()),
        "azure" => format!("http://{}", upstream.address()),
        "ollama" => format!("http://{}/ollama/v1", upstream.address()),
        _ => upstream.base_url(),
    };
    Provider {
        name: vendor.into(),
        provider_type: vendor.into(),
        api_key: Some(Secret::new(UPSTREAM_KEY.to_owned())),
        base_url,
        api_version: String::new(),
        models: Vec::new(),
        headers: Default::default(),
        enabled: true,
        priority: 0,
        resilience: steadfast(),
    }
}

/// Resilience without retries and without a circuit breaker, for tests of single responses.
fn steadfast() -> Resilience {
    Resilience { max_retries: Some(0), breaker_failures: Some(u32::MAX), ..Resilience::default() }
}

fn journal_config(directory: &TempDir) -> JournalConfig {
    JournalConfig {
        directory: directory.path().join("journal"),
        workers: 2,
        segment_bytes: 512 << 10,
        max_bytes: 1 << 30,
        fsync: false,
    }
}

fn empty_snapshot() -> Snapshot {
    Snapshot {
        revision: 0,
        compiled_at: Default::default(),
        master: auth_key::digest(MASTER),
        keys: Default::default(),
        identities: Default::default(),
        routes: Default::default(),
        guardrails: Default::default(),
        workflows: Default::default(),
        document_errors: Default::default(),
        tenant_views: Default::default(),
    }
}
