//! `GET /admin/api/v1/runtime/replicas`: the processes on the database.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::clock::Timestamp;
use pipeline::budgets;
use pipeline::gateway::replication;
use serde::Serialize;
use store::{RegisteredReplica, Replica};
use utoipa::ToSchema;

use super::replica_leases::{self, ReplicaLeases};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Read, Runtime};
use crate::fault::Problem;

#[derive(Serialize, ToSchema)]
pub struct ReplicaList {
    /// Number of replicas that are live or draining
    pub live: usize,
    pub replicas: Vec<ReplicaStatus>,
}

/// A process on the database.
#[derive(Serialize, ToSchema)]
pub struct ReplicaStatus {
    /// The name of its journal directory
    pub id: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    /// live, draining, or vanished if it has sent no heartbeat for five seconds
    pub state: &'static str,
    /// Whether it is the process that answers
    pub this_process: bool,
    pub started_at: String,
    /// Null on SQLite
    pub last_heartbeat_at: Option<String>,
    pub journal: ReplicaJournal,
    pub budget_leases: ReplicaLeases,
}

/// The journal of a replica at its last heartbeat.
#[derive(Serialize, ToSchema)]
pub struct ReplicaJournal {
    /// Bytes that storage does not have yet
    pub lag_bytes: u64,
    /// Records that storage does not have yet
    pub lag_records: u64,
    /// Age of the oldest record that storage does not have yet; 0 without one
    pub lag_seconds: u64,
}

/// List the processes on the database: their versions, states, journals and budget leases. A vanished one is listed until
/// its journal has been drained, at most for a week.
#[utoipa::path(get, path = "/admin/api/v1/runtime/replicas", tag = "runtime", operation_id = "list_replicas",
    responses((status = 200, description = "The replicas", body = ReplicaList), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:runtime:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Runtime>>,
) -> Result<Json<ReplicaList>, Problem> {
    let own = replication::own_row(&app.gateway, app.is_draining());
    let mut registered = app.refresher.store().replicas().list().await?;
    // On SQLite there is no other, and before its first heartbeat a replica is not registered.
    let known = registered.iter().find(|other| other.replica.journal == own.journal);
    let heartbeat_at = known.map(|known| known.heartbeat_at);
    registered.retain(|other| other.replica.journal != own.journal);
    let now = app.gateway.clock.now();
    let mut replicas = vec![status(&own, own_state(&own), heartbeat_at, now, true)];
    replicas.extend(
        registered
            .iter()
            .map(|other| status(&other.replica, state_of(other), Some(other.heartbeat_at), now, false)),
    );
    if app.gateway.budgets.is_leased() {
        let leases = budgets::all_leases(app.refresher.store(), now).await?;
        let mut leases = replica_leases::by_journal(leases);
        for replica in &mut replicas {
            replica.budget_leases = leases.remove(&replica.id).unwrap_or_default();
        }
    }
    let live = replicas.iter().filter(|replica| replica.state != VANISHED).count();
    Ok(Json(ReplicaList { live, replicas }))
}

const LIVE: &str = "live";
const DRAINING: &str = "draining";
const VANISHED: &str = "vanished";

fn own_state(own: &Replica) -> &'static str {
    if own.draining { DRAINING } else { LIVE }
}

fn state_of(other: &RegisteredReplica) -> &'static str {
    if other.is_live() { own_state(&other.replica) } else { VANISHED }
}

fn status(
    replica: &Replica,
    state: &'static str,
    heartbeat_at: Option<Timestamp>,
    now: Timestamp,
    this_process: bool,
) -> ReplicaStatus {
    let age = replica.lag.oldest.map_or(0, |oldest| now.seconds() - oldest.seconds());
    ReplicaStatus {
        id: replica.journal.clone(),
        host: replica.host.clone(),
        pid: replica.pid,
        version: replica.version.clone(),
        state,
        this_process,
        started_at: record::time(replica.started_at),
        last_heartbeat_at: heartbeat_at.map(record::time),
        journal: ReplicaJournal {
            lag_bytes: replica.lag.bytes,
            lag_records: replica.lag.records,
            lag_seconds: u64::try_from(age).unwrap_or(0),
        },
        budget_leases: ReplicaLeases::default(),
    }
}
