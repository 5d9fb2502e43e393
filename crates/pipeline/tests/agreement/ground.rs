//! The test rig that all cases share: one scripted upstream, one egress, one stopped clock.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::capability::{Capabilities, Edition};
use domain::clock::{Clock, Timestamp};
use domain::ids::Entropy;
use egress::{Destination, Egress, EgressConfig, Trust};
use pipeline::gateway::Gateway;
use pipeline::policy::Policy;
use pipeline::services::embedder::{Embedder, TextEncoder};
use pipeline::services::semantic_cache::EntryStorage;
use pipeline::snapshot::Snapshot;
use store::{Backend, Idempotency, Journal, JournalConfig, Responses, Store, StoreConfig};
use tempfile::TempDir;
use testkit::{ManualClock, SeededEntropy, Upstream};
use tokio_util::task::TaskTracker;

pub const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// The time since the process started.
pub const TICK: Duration = Duration::from_secs(10_000);

pub struct Ground {
    pub upstream: Upstream,
    /// An address where nothing listens.
    pub closed: String,
    pub egress: Egress,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    journal: Journal,
    responses: Responses,
    idempotency: Idempotency,
    /// Keeps the destination, so that its connections serve all cases.
    _kept: Arc<Destination>,
    _directory: TempDir,
}

impl Ground {
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let manual = ManualClock::new(NOW);
        manual.advance(TICK);
        manual.set(NOW);
        let clock: Arc<dyn Clock> = Arc::new(manual);
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(7));
        let backend = Backend::Sqlite { path: directory.path().join("gatehouse.db") };
        let config = StoreConfig {
            backend,
            sealing_key: [42; 32],
            operation_timeout: Duration::from_secs(20),
            entropy: entropy.clone(),
        };
        let store = Store::open(config, clock.clone()).await.unwrap();
        let config = JournalConfig {
            directory: directory.path().join("journal"),
            workers: 2,
            segment_bytes: 512 << 10,
            max_bytes: 1 << 30,
            fsync: false,
        };
        let journal = Journal::open(config, clock.clone(), entropy.clone()).unwrap();
        let egress = Egress::new(EgressConfig::default(), clock.clone(), TaskTracker::new()).unwrap();
        let upstream = Upstream::start().await;
        let kept = egress.destination(&upstream.base_url(), Trust::Operator).unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self {
            upstream,
            closed: format!("http://{closed}"),
            egress,
            clock,
            entropy,
            journal,
            responses: store.responses().clone(),
            idempotency: store.idempotency().clone(),
            _kept: kept,
            _directory: directory,
        }
    }

    /// A new gateway, whose targets have no health history.
    pub fn gateway(&self, policy: Policy) -> Arc<Gateway> {
        Arc::new(Gateway {
            response_cache: policy.cache.open(None),
            semantic_cache: policy
                .cache
                .open_semantic(Embedder::Local(Arc::new(WordEncoder)), EntryStorage::Memory),
            send_embeddings: pipeline::embeddings_call::send,
            admin_trust: Trust::Operator,
            egress: self.egress.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            // Of its own: connections are kept in the tasks of the egress.
            tasks: TaskTracker::new(),
            journal: self.journal.clone(),
            metrics: Default::default(),
            target_health: Default::default(),
            traces: None,
            policy: policy.into(),
            capabilities: Capabilities { edition: Edition::Oss, single: Default::default() },
            snapshot: ArcSwap::from_pointee(Snapshot {
                revision: 0,
                compiled_at: Default::default(),
                master: [0; 32],
                keys: Default::default(),
                identities: Default::default(),
                routes: Default::default(),
                guardrails: Default::default(),
                workflows: Default::default(),
                document_errors: Default::default(),
                tenant_views: Default::default(),
            }),
            pending_receipts: Default::default(),
            responses: self.responses.clone(),
            prompt_affinity: Default::default(),
            reasoning_states: Default::default(),
            retry_budget: Default::default(),
            hedge_budget: Default::default(),
            console: Default::default(),
            audit: Default::default(),
            limiter: Default::default(),
            budgets: Default::default(),
            key_uses: Default::default(),
            user_paths: Default::default(),
            injection_scorer: Default::default(),
            idempotency: self.idempotency.clone(),
            body_work: Default::default(),
            unknown_callers: Default::default(),
            replica: Default::default(),
            change_signals: Default::default(),
            webhook_events: Default::default(),
        })
    }
}

/// Encodes texts by their words.
struct WordEncoder;

impl TextEncoder for WordEncoder {
    fn embed(&self, text: &str) -> Result<Vec<f32>, String> {
        Ok(testkit::word_vector(text))
    }

    fn word_pieces(&self, text: &str) -> Result<usize, String> {
        Ok(text.split_whitespace().count())
    }

    fn identity(&self) -> Result<String, String> {
        Ok("words float32 1".to_owned())
    }
}
