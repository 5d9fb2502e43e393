//! `/admin/api/v1/runtime`: the state of this process and of what it depends on.

pub mod refresh;
mod replica_leases;
pub mod replicas;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pipeline::snapshot::Snapshot;
use pipeline::snapshot::document_errors::DocumentError;
use serde::Serialize;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Read, Runtime};
use crate::dependencies::Dependencies;

#[derive(Serialize, ToSchema)]
pub struct RuntimeStatus {
    /// As in `/ready`: ok, degraded, down or draining
    pub status: &'static str,
    pub version: &'static str,
    pub edition: &'static str,
    pub started_at: String,
    pub uptime_seconds: u64,
    pub snapshot: SnapshotStatus,
    /// Stored documents that do not compile, by kind and name
    pub documents: Vec<DocumentStatus>,
    pub storage: StorageStatus,
    /// ok, degraded or down
    pub shared_store: &'static str,
    /// Null without REDIS_URL
    pub redis: Option<RedisStatus>,
    pub journal: JournalStatus,
    /// ok, degraded or down
    pub providers: &'static str,
    /// Null if the semantic cache is off
    pub semantic_cache: Option<SemanticCacheStatus>,
    /// Null if budgets are not shared with other replicas
    pub budget_leases: Option<BudgetLeaseStatus>,
}

/// The leases of this process on budgets that replicas share.
#[derive(Serialize, ToSchema)]
pub struct BudgetLeaseStatus {
    /// ok or degraded
    pub state: &'static str,
    /// Name of the journal directory that owns them
    pub owner: String,
    /// Budget windows with a lease
    pub windows: usize,
    /// US dollars that are leased and not in the ledger yet
    pub granted: f64,
    /// Of these, neither held by calls nor spent
    pub free: f64,
    /// Calls that wait for room
    pub waiting_calls: usize,
}

/// Redis, through which replicas share rate limits and cached answers.
#[derive(Serialize, ToSchema)]
pub struct RedisStatus {
    /// up or down
    pub state: &'static str,
    /// Whether Redis decides about rate limits; if not, each replica enforces its share
    pub limits_shared: bool,
    /// The number of replicas that limits are divided by while they are not shared
    pub live_replicas: u32,
    /// The reason why Redis is down, and what to do
    pub error: Option<String>,
}

/// The semantic cache of this process.
#[derive(Serialize, ToSchema)]
pub struct SemanticCacheStatus {
    /// ok, failing if the last embedding failed, or off if there is no embedder
    pub state: &'static str,
    /// shadow or serve
    pub mode: &'static str,
    /// The number of answers
    pub entries: u64,
    /// The reason why it does not work, and what it needs
    pub error: Option<String>,
}

/// The compiled configuration in force.
#[derive(Serialize, ToSchema)]
pub struct SnapshotStatus {
    /// Revision of the change log that it was compiled from
    pub revision: i64,
    pub compiled_at: String,
}

/// A stored document that does not compile.
#[derive(Serialize, ToSchema)]
pub struct DocumentStatus {
    pub kind: &'static str,
    pub name: String,
    /// The tenant that it belongs to; absent for the default tenant
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Names fields and positions, never values
    pub error: String,
    /// When this process first failed to compile it
    pub since: String,
}

#[derive(Serialize, ToSchema)]
pub struct StorageStatus {
    /// sqlite or postgres
    pub backend: &'static str,
    /// ok, degraded or down
    pub state: &'static str,
}

/// The journal of this process, and those of dead processes that it has taken over.
#[derive(Serialize, ToSchema)]
pub struct JournalStatus {
    /// ok or degraded
    pub state: &'static str,
    /// Bytes that storage does not have yet
    pub lag_bytes: u64,
    /// Records that storage does not have yet
    pub lag_records: u64,
    /// Age of the oldest record that storage does not have yet; 0 without one
    pub lag_seconds: u64,
    /// Records that could not be read back since the start
    pub damaged_records: u64,
    /// Receipts in memory that the journal could not write yet
    pub pending_receipts: usize,
}

/// Show the state of this process: its configuration, the documents that do not compile, storage and journal.
#[utoipa::path(get, path = "/admin/api/v1/runtime/status", tag = "runtime",
    responses((status = 200, description = "The state", body = RuntimeStatus), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:runtime:read"])))]
pub async fn status(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Runtime>>,
) -> Json<RuntimeStatus> {
    let snapshot = &authorized.snapshot;
    let states = Dependencies::check(&app, snapshot).await;
    let uptime = app.gateway.clock.tick().saturating_sub(app.started.tick);
    Json(RuntimeStatus {
        status: states.status(&app),
        version: app.config.version,
        edition: app.gateway.capabilities.edition.as_str(),
        started_at: record::time(app.started.at),
        uptime_seconds: uptime.as_secs(),
        snapshot: SnapshotStatus {
            revision: snapshot.revision,
            compiled_at: record::time(snapshot.compiled_at),
        },
        documents: documents(snapshot),
        storage: StorageStatus { backend: app.refresher.store().backend_name(), state: states.storage },
        shared_store: states.shared_store,
        redis: redis(&app),
        journal: journal(&app, states.journal),
        providers: states.providers,
        semantic_cache: semantic_cache(&app),
        budget_leases: budget_leases(&app, states.budget_leases),
    })
}

fn documents(snapshot: &Snapshot) -> Vec<DocumentStatus> {
    let view = |(tenant, DocumentError { kind, name, error, since }): (&str, DocumentError<'_>)| {
        let tenant_id = Some(tenant.to_owned()).filter(|tenant| !tenant.is_empty());
        let (name, error, since) = (name.to_owned(), error.to_owned(), record::time(since));
        DocumentStatus { kind, name, tenant_id, error, since }
    };
    snapshot.all_document_errors().map(view).collect()
}

fn journal(app: &App, state: &'static str) -> JournalStatus {
    let lag = app.gateway.journal.lag();
    let now = app.gateway.clock.now();
    let age = lag.oldest.map_or(0, |oldest| now.seconds() - oldest.seconds());
    JournalStatus {
        state,
        lag_bytes: lag.bytes,
        lag_records: lag.records,
        lag_seconds: u64::try_from(age).unwrap_or(0),
        damaged_records: app.gateway.journal.damaged(),
        pending_receipts: app.gateway.pending_receipts.len(),
    }
}

fn budget_leases(app: &App, state: &'static str) -> Option<BudgetLeaseStatus> {
    let leases = app.gateway.budgets.lease_summary(app.gateway.clock.tick())?;
    Some(BudgetLeaseStatus {
        state,
        owner: app.gateway.journal.name().to_owned(),
        windows: leases.windows,
        granted: leases.granted.usd(),
        free: leases.free.usd(),
        waiting_calls: leases.waiting,
    })
}

fn redis(app: &App) -> Option<RedisStatus> {
    let limiter = &app.gateway.limiter;
    let shared = limiter.shared()?;
    let error = shared.redis().failure();
    let state = if error.is_none() { "up" } else { "down" };
    let live_replicas = limiter.live_replicas().get();
    Some(RedisStatus { state, limits_shared: shared.is_shared(), live_replicas, error })
}

fn semantic_cache(app: &App) -> Option<SemanticCacheStatus> {
    let cache = app.gateway.semantic_cache.as_ref()?;
    let (state, error) = match (cache.embedder.requirement(), cache.failure()) {
        (Some(requirement), _) => ("off", Some(requirement.to_owned())),
        (None, Some(failure)) => ("failing", Some(failure)),
        (None, None) => ("ok", None),
    };
    let mode = app.gateway.policy.cache.semantic.mode.as_str();
    Some(SemanticCacheStatus { state, mode, entries: cache.len(), error })
}
