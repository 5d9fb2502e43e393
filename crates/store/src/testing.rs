//! Test support for this crate: both backends, a settable clock, deterministic entropy, sample calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};
use domain::money::{Cost, Nanos};
use domain::receipt::{CostSource, Opening, Receipt};
use domain::secret::Secret;
use domain::usage::{Tokens, Usage};
use sqlx::Executor as _;

use crate::{Backend, Journal, JournalConfig, Store, StoreConfig};

pub use testkit::complete_receipt;

/// The allocator of the gateway, so that measurements are of what it does.
#[global_allocator]
static ALLOCATOR: memory_map::Allocator = memory_map::Allocator;

pub const KEY: [u8; 32] = [42; 32];

/// A clock that only moves when advanced.
pub struct Hand(AtomicI64);

impl Hand {
    pub fn at(seconds: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(seconds * 1_000_000)))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as i64, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    fn tick(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed) as u64)
    }
}

/// Deterministic entropy: the same bytes for the same seed.
pub struct Noise(AtomicU64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Different in every process and every call.
    pub fn fresh() -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed) << 32;
        Arc::new(Self::new(next | u64::from(std::process::id())))
    }
}

impl Entropy for Noise {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let mut word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (word ^ (word >> 31)) as u8;
        }
    }
}

/// Runs a test on a new SQLite file and on a new PostgreSQL database.
pub async fn for_each_backend<F, Fut>(test: F)
where
    F: Fn(Store) -> Fut,
    Fut: Future<Output = ()>,
{
    for_each_database(|backend| async { test(open(backend).await).await }).await;
}

pub async fn for_each_database<F, Fut>(test: F)
where
    F: Fn(Backend) -> Fut,
    Fut: Future<Output = ()>,
{
    let directory = tempfile::tempdir().unwrap();
    test(Backend::Sqlite { path: directory.path().join("gatehouse.db") }).await;
    if let Some(server) = postgres() {
        let name = format!("store_{}", ids::unique(Timestamp(0), Noise::fresh().as_ref()).simple());
        let admin = sqlx::PgPool::connect(&server).await.unwrap();
        admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        test(Backend::Postgres { url: Secret::new(format!("{base}/{name}")) }).await;
        admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "where the test database is comes from whoever starts the tests"
)]
fn postgres() -> Option<String> {
    if let Ok(url) = std::env::var("GATEHOUSE_TEST_POSTGRES_URL") {
        return Some(url);
    }
    assert!(
        std::env::var("GATEHOUSE_TEST_SQLITE_ONLY").is_ok_and(|only| only == "1"),
        "GATEHOUSE_TEST_POSTGRES_URL is not set: run through make test"
    );
    eprintln!("PostgreSQL is left out: GATEHOUSE_TEST_SQLITE_ONLY=1");
    None
}

pub async fn open(backend: Backend) -> Store {
    open_with(backend, KEY, Hand::at(1_800_000_000)).await
}

pub async fn open_with(backend: Backend, sealing_key: [u8; 32], clock: Arc<dyn Clock>) -> Store {
    let operation_timeout = Duration::from_secs(20);
    let config = StoreConfig { backend, sealing_key, operation_timeout, entropy: Noise::fresh() };
    Store::open(config, clock).await.unwrap()
}

/// Opens the store with a key that did not encrypt the stored data.
pub async fn open_with_wrong_key(backend: Backend) -> Store {
    let operation_timeout = Duration::from_secs(20);
    let config = StoreConfig { backend, sealing_key: [1; 32], operation_timeout, entropy: Noise::fresh() };
    Store::open_with_any_key(config, Hand::at(1)).await.unwrap()
}

pub fn journal_config(directory: impl Into<PathBuf>) -> JournalConfig {
    JournalConfig {
        directory: directory.into(),
        workers: 2,
        segment_bytes: 512 << 10,
        max_bytes: 1 << 30,
        fsync: false,
    }
}

pub fn journal(config: JournalConfig) -> Journal {
    Journal::open(config, Hand::at(1_800_000_000), Noise::fresh()).unwrap()
}

pub fn receipt(id: impl Into<String>) -> Receipt {
    let id = id.into();
    Receipt {
        request_id: format!("req_{id}"),
        id,
        at: Timestamp::from_seconds(1_800_000_000),
        method: "POST".into(),
        endpoint: "/v1/chat/completions".into(),
        requested_model: "gpt-4o".into(),
        model: "gpt-4o-2024-08-06".into(),
        provider: "openai".into(),
        provider_name: "main".into(),
        provider_id: "chatcmpl-9f2b".into(),
        user_path: "/team/app".into(),
        auth_key_id: Some("key_1".into()),
        auth_method: "api_key".into(),
        client_ip: "10.0.0.1".into(),
        user_agent: "test/1.0".into(),
        status: 200,
        duration_us: 812_345,
        first_byte_us: Some(201_000),
        usage: Usage { tokens: Tokens { input: 100, output: 20, ..Tokens::default() }, ..Usage::default() },
        cost: Some(Cost { input: Nanos(250_000), output: Nanos(200_000) }),
        cost_source: CostSource::ModelPricing,
        raw_usage: serde_json::from_str(
            r#"{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}"#,
        )
        .unwrap(),
        ..Receipt::default()
    }
}

pub fn opening(id: impl Into<String>) -> Opening {
    let id = id.into();
    Opening {
        request_id: format!("req_{id}"),
        id,
        at: Timestamp::from_seconds(1_800_000_000),
        endpoint: "/v1/chat/completions".into(),
        requested_model: "gpt-4o".into(),
        model: "gpt-4o-2024-08-06".into(),
        provider: "openai".into(),
        provider_name: "main".into(),
        user_path: "/team/app".into(),
        auth_key_id: Some("key_1".into()),
        tenant_id: None,
        run_id: None,
        stream: true,
        reserved: Usage {
            tokens: Tokens { input: 500, output: 4096, ..Tokens::default() },
            ..Usage::default()
        },
        reserved_cost: Some(Cost { input: Nanos(1_000), output: Nanos(40_000) }),
        unbooked: false,
        audited: false,
        follow: None,
        workflow_version_id: None,
    }
}
