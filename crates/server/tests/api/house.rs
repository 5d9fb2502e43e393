//! A whole gateway in one process: store, journal, egress, routes and door, as the executable puts them together.

mod answer;
mod call;
mod clock;
mod databases;
mod dialect;
mod line;
mod log;
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
use domain::resources::provider::{Provider, Resilience, Source};
use domain::secret::Secret;
use egress::{Egress, EgressConfig};
use http::Method;
use pipeline::gateway::{Gateway, Policy};
use pipeline::inventory::Inventory;
use pipeline::refresh::{Fixed, Refresher};
use pipeline::snapshot::Snapshot;
use serde_json::{Value, json};
use server::{App, Config, Door, ListenConfig};
use store::{Backend, Drainer, Journal, JournalConfig, Store, StoreConfig};
use tempfile::TempDir;
use testkit::{SeededEntropy, Upstream};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

pub use answer::{Answer, check_envelope, check_snapshot, pretty};
pub use call::Call;
pub use clock::ShiftedClock;
pub use dialect::{CLIENTS, Client, UPSTREAMS, input, message};
pub use line::Line;
pub use log::CapturedLog;
pub use socket::Socket;

pub const MASTER: &str = "master-key-of-the-tests";
pub const UPSTREAM_KEY: &str = "sk-upstream-secret-7890";

/// What a test may want to be different.
pub struct Wishes {
    pub policy: Policy,
    pub config: Config,
    pub allow_private: bool,
    pub loopback_listener: bool,
    pub store_timeout: Duration,
    /// The provider types of the environment: an instance each, under the type's name, at the scripted upstream.
    pub vendors: &'static [&'static str],
    pub demo: Option<bool>,
    pub edition: Edition,
    /// Budgets of the configuration, as `BUDGETS` has them.
    pub budgets: &'static str,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            config: Config { version: "0.0.0-test", ..Config::default() },
            allow_private: false,
            loopback_listener: false,
            store_timeout: Duration::from_secs(20),
            vendors: &["openai"],
            demo: None,
            edition: Edition::Oss,
            budgets: "",
        }
    }
}

impl Wishes {
    /// With all capabilities.
    pub fn enterprise() -> Self {
        Self { edition: Edition::Enterprise, ..Self::default() }
    }

    /// One provider of every dialect.
    pub fn every_dialect() -> Self {
        Self {
            vendors: &["openai", "anthropic", "gemini", "groq", "jina", "azure", "ollama"],
            ..Self::default()
        }
    }
}

pub struct House {
    pub upstream: Arc<Upstream>,
    pub gateway: Arc<Gateway>,
    pub refresher: Arc<Refresher>,
    pub door: Door,
    pub clock: Arc<ShiftedClock>,
    pub backend: Backend,
    drainer: Mutex<Drainer>,
    vendors: &'static [&'static str],
    budgets: &'static str,
    /// Writes responses and the answers of repeatable calls to storage.
    writer: Mutex<Option<(watch::Sender<bool>, JoinHandle<()>)>>,
    directory: TempDir,
}

/// Runs a test on SQLite and on PostgreSQL, each time in a new house.
pub async fn each(test: impl AsyncFn(House)) {
    each_with(Wishes::default, test).await;
}

pub async fn each_with(wishes: impl Fn() -> Wishes, test: impl AsyncFn(House)) {
    databases::each(async |backend| test(House::build(backend, wishes()).await).await).await;
}

impl House {
    async fn build(backend: Backend, wishes: Wishes) -> Self {
        let ground =
            Ground { upstream: Arc::new(Upstream::start().await), clock: Default::default(), seed: 7 };
        Self::build_on(backend, wishes, ground).await
    }

    async fn build_on(backend: Backend, wishes: Wishes, ground: Ground) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let Ground { upstream, clock: shifted, seed } = ground;
        let clock: Arc<dyn Clock> = shifted.clone();
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(seed));
        let config = StoreConfig {
            backend: backend.clone(),
            sealing_key: [42; 32],
            operation_timeout: wishes.store_timeout,
            entropy: entropy.clone(),
        };
        let store = Store::open(config, clock.clone()).await.unwrap();
        let journal = Journal::open(journal_config(&directory), clock.clone(), entropy.clone()).unwrap();
        let tasks = TaskTracker::new();
        let gateway = Arc::new(Gateway {
            egress: Egress::new(EgressConfig::default(), clock.clone(), tasks.clone()).unwrap(),
            clock,
            entropy,
            tasks,
            journal: journal.clone(),
            metrics: Default::default(),
            traces: None,
            policy: wishes.policy,
            capabilities: Capabilities { edition: wishes.edition, single: Default::default() },
            snapshot: ArcSwap::from_pointee(empty_snapshot()),
            unwritten: Default::default(),
            responses: store.responses().clone(),
            recall: Default::default(),
            retry_budget: Default::default(),
            hedge_budget: Default::default(),
            console: Default::default(),
            audit: Default::default(),
            limiter: Default::default(),
            spending: Default::default(),
            key_uses: Default::default(),
            user_paths: Default::default(),
            idempotency: store.idempotency().clone(),
            body_work: Default::default(),
            unknown_callers: Default::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let (responses, keys) = (store.responses().clone(), store.idempotency().clone());
        let writing = gateway.tasks.spawn(async move {
            tokio::join!(responses.run(stopped.clone()), keys.run(stopped));
        });
        let instance = |vendor: &&str| (provider(vendor, &upstream), Source::Env);
        let fixed = Fixed {
            providers: wishes.vendors.iter().map(instance).collect(),
            demo: wishes.demo,
            allow_private: wishes.allow_private,
            loopback_listener: wishes.loopback_listener,
            combos: true,
            budgets: budget::parse_list(wishes.budgets).unwrap(),
            secrets: vec![Secret::new(MASTER.to_owned())],
        };
        let refresher =
            Arc::new(Refresher::new(gateway.clone(), store.clone(), fixed, Inventory::open(None)));
        refresher.load().await.unwrap();
        let app = App::new(gateway.clone(), refresher.clone(), wishes.config);
        Self {
            upstream,
            gateway,
            refresher,
            door: Door::new(app),
            clock: shifted,
            backend,
            drainer: Mutex::new(Drainer::new(journal, store)),
            vendors: wishes.vendors,
            budgets: wishes.budgets,
            writer: Mutex::new(Some((stop, writing))),
            directory,
        }
    }

    /// Another gateway on the same database, with the same providers, clock and settings.
    pub async fn neighbour(&self) -> Self {
        let wishes = Wishes {
            policy: self.gateway.policy.clone(),
            vendors: self.vendors,
            edition: self.gateway.capabilities.edition,
            budgets: self.budgets,
            ..Wishes::default()
        };
        let ground = Ground { upstream: self.upstream.clone(), clock: self.clock.clone(), seed: 8 };
        Self::build_on(self.backend.clone(), wishes, ground).await
    }

    /// The gateway stops as a process does, and another starts on its database.
    pub async fn restart(&self) -> Self {
        let (stop, writing) = self.writer.lock().await.take().unwrap();
        stop.send_replace(true);
        writing.await.unwrap();
        self.refresher.store().close().await;
        self.neighbour().await
    }

    /// The data directory, which holds the journal.
    pub fn data_directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Changes the database behind the gateway's back.
    pub async fn sql(&self, statement: &str) {
        use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
        let statement = AssertSqlSafe(statement.to_owned());
        match &self.backend {
            Backend::Sqlite { path } => {
                let address = format!("sqlite://{}", path.display());
                let mut connection = SqliteConnection::connect(&address).await.unwrap();
                connection.execute(statement).await.map(drop).unwrap();
                connection.close().await.unwrap();
            }
            Backend::Postgres { url } => {
                let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
                connection.execute(statement).await.map(drop).unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    /// Another process that shares our journal's directory dies with this call under way.
    pub fn crash(&self, opening: &Opening) {
        let config = journal_config(&self.directory);
        let journal =
            Journal::open(config, self.gateway.clock.clone(), self.gateway.entropy.clone()).unwrap();
        journal.open_call(opening.as_ref()).unwrap();
    }

    /// A request with the master key, unless it is told otherwise.
    pub fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        Call::new(&self.door, method, path.into()).key(MASTER)
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

    /// A chat completion by the upstream's scripted model of that name.
    pub fn chat(&self, model: &str) -> Call<'_> {
        self.post("/v1/chat/completions", question(model))
    }

    pub fn stream(&self, model: &str) -> Call<'_> {
        let mut body = question(model);
        body["stream"] = json!(true);
        self.post("/v1/chat/completions", body)
    }

    /// A new managed key: its id and its raw value.
    pub async fn key(&self, body: Value) -> (String, String) {
        let answer = self.post("/admin/api/v1/auth-keys", body).send().await.expect_status(201);
        let created = answer.json();
        (created["id"].as_str().unwrap().to_owned(), created["key"].as_str().unwrap().to_owned())
    }

    pub async fn key_with(&self, scopes: &[&str]) -> String {
        self.key(json!({"name": "of the tests", "scopes": scopes})).await.1
    }

    pub async fn drain(&self) -> Result<usize, store::StoreError> {
        self.drainer.lock().await.drain_once().await
    }

    /// The usage log, oldest first, once it has exactly so many calls; it must not grow beyond that.
    pub async fn receipts(&self, count: usize) -> Vec<Value> {
        let deadline = self.clock.tick() + Duration::from_secs(10);
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

    /// The same gateway on a real socket, until the house is gone.
    pub async fn listen(&self) -> Listening {
        self.listen_with(ListenConfig { grace: Duration::from_secs(5), ..ListenConfig::default() }).await
    }

    pub async fn listen_with(&self, config: ListenConfig) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let door = self.door.clone();
        let serving = self.gateway.tasks.spawn(async move {
            server::serve(listener, door, config, stopping, &server::Workers::none()).await
        });
        Listening { address, stop, serving }
    }
}

pub struct Listening {
    pub address: std::net::SocketAddr,
    pub stop: watch::Sender<bool>,
    /// How many connections had to be cut.
    pub serving: tokio::task::JoinHandle<usize>,
}

pub fn question(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "How are you today?"}]})
}

/// What a house stands on and may share with another.
struct Ground {
    upstream: Arc<Upstream>,
    clock: Arc<ShiftedClock>,
    seed: u64,
}

/// An instance under its type's name, at the place where the upstream serves that type.
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

/// One attempt each, and no pause after any number of failures: what tests of single answers want.
fn steadfast() -> Resilience {
    Resilience { max_retries: Some(0), breaker_failures: Some(u32::MAX), ..Resilience::default() }
}

fn journal_config(directory: &TempDir) -> JournalConfig {
    JournalConfig {
        directory: directory.path().join("journal"),
        segment_bytes: 64 << 20,
        max_bytes: 1 << 30,
        fsync: false,
    }
}

fn empty_snapshot() -> Snapshot {
    Snapshot {
        revision: 0,
        master: auth_key::digest(MASTER),
        keys: Default::default(),
        routes: Default::default(),
        broken: Default::default(),
    }
}
