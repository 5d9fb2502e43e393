//! Storage; the only crate with SQL. Documents with history, the journal for exact accounting, the usage ledger, the
//! audit log, stored Responses, idempotency keys, sessions and the entries of the semantic cache.

pub mod audit;
pub mod backup;
mod change_notices;
mod database;
mod disk;
pub mod documents;
mod error;
mod expiry;
pub mod idempotency;
pub mod journal;
mod journal_record;
pub mod ledger;
mod migrations;
mod outbox;
mod replicas;
pub mod responses;
pub mod seal;
mod semantic_checks;
pub mod semantic_entries;
pub mod sessions;
mod stamp;
#[cfg(test)]
mod testing;
mod varint;
mod write_behind;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::ids::Entropy;
use domain::resources::Resource;
use domain::secret::Secret;
use sha2::{Digest as _, Sha256};

use crate::database::Database;
use crate::seal::Sealer;

pub use crate::audit::{
    Audit, AuditBreak, AuditBucket, AuditCursor, AuditEntry, AuditFilter, AuditPage, AuditSlice, AuditSort,
    AuditStats, AuditTotal, AuditVerification,
};
pub use crate::change_notices::{ChangeListener, ChangedData};
pub use crate::documents::batch::Batch;
pub use crate::documents::collection::{Collection, Page, Stored, Write, decode};
pub use crate::documents::encryption_key::{SealedCounts, fingerprint};
pub use crate::documents::key::DEFAULT_TENANT;
pub use crate::documents::{Change, ChangeFilter, Documents, RawDocument};
pub use crate::error::StoreError;
pub use crate::idempotency::{Claim, Claimed, Idempotency, KeptAnswer, Repeatable};
pub use crate::journal::abandoned::{DrainCounts, DrainError, drain_abandoned};
pub use crate::journal::drain::Drainer;
pub use crate::journal::{Journal, JournalConfig, Lag, ShardId};
pub use crate::ledger::leases::{
    BaseChange, BudgetLease, BudgetLeases, LeaseAsk, LeaseGift, LeaseKey, LeaseNeed, LeaseScope, LeaseTaken,
    LedgerReading, OwnLease, RangeSums, WindowFigures,
};
pub use crate::ledger::spending::{BookingListener, RunSpent, Spent};
pub use crate::ledger::{
    Axis, CacheMode, CacheUsage, Consumed, Figures, Histogram, Ledger, Line, LogPage, LogPlace, LogSlice,
    Recalculated, Report, Repriced, Step, UnpricedUsage, UsageFilter, UsageSummary,
};
pub use crate::outbox::{Alert, Delivery, Message, Outbox, OutboxEntry};
pub use crate::replicas::{LIVE_FOR, RegisteredReplica, Replica, Replicas};
pub use crate::responses::{Found, OwnedObject, Owner, OwnerFilter, Responses, StoredResponse};
pub use crate::seal::load_or_create_key;
pub use crate::semantic_checks::{SemanticCheckSums, SemanticChecks, bucket as semantic_bucket};
pub use crate::semantic_entries::{
    KEPT_REMOVALS, NearestEntry, SemanticChange, SemanticChanges, SemanticCursor, SemanticEntries,
    SemanticPurge, SemanticRow,
};
pub use crate::sessions::{RefreshOutcome, RevokedBy, Sessions, TokenRevocation};
pub use crate::stamp::Stamp;

#[derive(Clone, Debug)]
pub enum Backend {
    Sqlite { path: PathBuf },
    Postgres { url: Secret },
}

#[derive(Clone)]
pub struct StoreConfig {
    pub backend: Backend,
    pub sealing_key: [u8; 32],
    /// Timeout of every operation; on expiry it fails as unavailable.
    pub operation_timeout: Duration,
    pub entropy: Arc<dyn Entropy>,
}

/// Recovery from a lost encryption key: removes all encrypted values, so that storage opens with the current key.
pub struct SecretReset {
    store: Store,
    own: String,
    entropy: Arc<dyn Entropy>,
}

impl SecretReset {
    pub async fn open(config: StoreConfig, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let (own, entropy) = (fingerprint(&config.sealing_key), config.entropy.clone());
        Ok(Self { store: Store::open_with_any_key(config, clock).await?, own, entropy })
    }

    /// Counts the documents that `run` would clear.
    pub async fn sealed(&self) -> Result<SealedCounts, StoreError> {
        self.store.documents().sealed_counts().await
    }

    /// Removes the credentials and headers of providers, the values of managed keys, the passwords of users and the
    /// secrets of webhooks.
    pub async fn run(&self, actor: &str) -> Result<(), StoreError> {
        self.store.documents().clear_sealed(&self.own, &*self.entropy, actor).await
    }

    pub async fn close(&self) {
        self.store.close().await;
    }
}

/// An open database, migrated to the version of this build. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    database: Database,
    /// The path of the SQLite file.
    file: Option<PathBuf>,
    audit: Audit,
    documents: Documents,
    ledger: Ledger,
    outbox: Outbox,
    responses: Responses,
    sessions: Sessions,
    idempotency: Idempotency,
    semantic_entries: SemanticEntries,
    /// Keys for other purposes are derived from it; it is not the key that seals secrets.
    root_key: [u8; 32],
}

impl Store {
    /// Opens the database. Fails with `WrongKey` if the stored data was encrypted with another key.
    pub async fn open(config: StoreConfig, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let own = fingerprint(&config.sealing_key);
        let store = Self::open_with_any_key(config, clock).await?;
        match store.documents().verify_key(&own).await {
            Ok(()) => Ok(store),
            Err(error) => {
                store.close().await;
                Err(error)
            }
        }
    }

    /// For `SecretReset` only: encrypted values may be unreadable.
    async fn open_with_any_key(config: StoreConfig, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let database = Database::open(&config.backend, config.operation_timeout).await?;
        migrations::run(&database, clock.now()).await?;
        let audit = Audit::new(database.clone(), &config.sealing_key);
        let root_key = derived_key(&config.sealing_key, "root");
        let sealer = Arc::new(Sealer::new(&config.sealing_key, config.entropy.clone()));
        let documents = Documents::new(database.clone(), sealer, clock.clone(), DEFAULT_TENANT);
        let ledger = Ledger::new(database.clone());
        let outbox = Outbox::new(database.clone());
        let responses = Responses::new(database.clone(), clock.clone());
        let idempotency = Idempotency::new(database.clone(), clock.clone());
        let semantic_entries = SemanticEntries::new(database.clone(), clock, &*config.entropy);
        let sessions = Sessions::new(database.clone());
        let file = match config.backend {
            Backend::Sqlite { path } => Some(path),
            Backend::Postgres { .. } => None,
        };
        let inner = Inner {
            database,
            file,
            audit,
            documents,
            ledger,
            outbox,
            responses,
            idempotency,
            semantic_entries,
            sessions,
            root_key,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Checks whether storage responds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.0.database.fetch("SELECT rev FROM meta WHERE id = 1", &[]).await.map(|_| ())
    }

    /// True if the disk of a SQLite file accepts writes; always true for PostgreSQL. Blocks.
    pub fn has_room(&self) -> bool {
        let directory = self.0.file.as_deref().and_then(Path::parent);
        directory.is_none_or(|directory| disk::probe(directory).is_ok())
    }

    /// The state of the SQLite files; `None` for PostgreSQL.
    pub fn stamp(&self) -> Option<Stamp> {
        self.0.file.as_deref().map(Stamp::of)
    }

    pub fn backend_name(&self) -> &'static str {
        self.0.database.name()
    }

    pub async fn close(&self) {
        self.0.database.close().await;
    }

    pub fn collection<T: Resource>(&self) -> Collection<T> {
        Collection::new(self.0.documents.clone())
    }

    /// The documents of one kind that a tenant has itself.
    pub fn collection_of<T: Resource>(&self, tenant: &str) -> Collection<T> {
        Collection::new(self.0.documents.of_tenant(tenant))
    }

    pub fn documents(&self) -> &Documents {
        &self.0.documents
    }

    pub fn audit(&self) -> &Audit {
        &self.0.audit
    }

    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    pub fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// Shared by all clones of this store; `run` has to be called once.
    pub fn responses(&self) -> &Responses {
        &self.0.responses
    }

    /// A key for one purpose, the same for all processes on this database.
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        derived_key(&self.0.root_key, purpose)
    }

    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Shared by all clones of this store; `run` has to be called once.
    pub fn idempotency(&self) -> &Idempotency {
        &self.0.idempotency
    }

    /// Shared by all clones of this store; `run` has to be called once.
    pub fn semantic_entries(&self) -> &SemanticEntries {
        &self.0.semantic_entries
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }
}

/// Derives a key that does not reveal the one it is made from.
fn derived_key(key: &[u8; 32], purpose: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse derived key v1\n");
    hash.update(key);
    hash.update(purpose.as_bytes());
    hash.finalize().into()
}
