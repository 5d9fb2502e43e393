//! `POST /admin/api/v1/explain/replay`: judges audited calls by the configuration in force and by one with changes, and
//! lists those that would be handled in another way.

mod audited_call;
mod changes;
mod outcome;
mod proposed_document;
mod workflow_changes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use domain::fault::{self, Fault, FaultCode};
use domain::principal::Principal;
use pipeline::explain::ExplanationRequest;
use pipeline::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::AuditEntry;
use utoipa::ToSchema;

use crate::App;
use crate::admin::{audit, record};
use crate::authorized::{Audit, Authorized, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::request_context::RequestContext;
use audited_call::NotReplayable;
pub use changes::DocumentChange;
use outcome::CallOutcome;
pub(in crate::admin) use proposed_document::ProposedDocument;
pub(in crate::admin) use workflow_changes::{activation_of, deactivated};

const DEFAULT_CALLS: i64 = 100;
const MAX_CALLS: i64 = 1000;
/// Calls that are read from the audit log at once: their bodies are in memory.
const PAGE: i64 = 50;
/// The time after which a replay ends with what was done.
const TIME_LIMIT: Duration = Duration::from_secs(30);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// Changes of documents, at most 100, in the order in which they would be made. They are not stored.
    #[schema(value_type = Vec<DocumentChange>)]
    pub changes: Vec<Value>,
    /// The number of audited calls to examine, from the newest on: 1 to 1000. Default: 100
    #[serde(default)]
    pub limit: Option<i64>,
}

/// The result of a replay.
#[derive(Serialize, ToSchema)]
pub struct ReplayResult {
    /// The audited calls that were read.
    pub examined: u64,
    /// Those of them that were judged twice.
    pub replayed: u64,
    /// The number of the others by reason: body_missing, body_truncated, body_lossy, endpoint_not_explained,
    /// caller_unknown, key_deleted or conversation_not_visible.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub not_replayable: BTreeMap<&'static str, u64>,
    /// The number of calls whose route, cost or verdict would differ.
    pub differing: u64,
    /// False if the time limit of 30 seconds ended the replay early.
    pub complete: bool,
    /// The calls that would differ, newest first.
    pub calls: Vec<ReplayedCall>,
}

/// An audited call that would be handled in another way.
#[derive(Serialize, ToSchema)]
pub struct ReplayedCall {
    pub request_id: String,
    pub timestamp: String,
    pub requested_model: String,
    pub user_path: String,
    /// The differences: route, cost or verdict.
    #[schema(value_type = Vec<String>)]
    pub changed: Vec<&'static str>,
    /// With the configuration in force.
    pub before: CallOutcome,
    /// With the changes.
    pub after: CallOutcome,
}

/// Replay audited calls with changes of the configuration: list those whose route, cost or verdict would differ. Nothing
/// is sent, stored or put in force.
#[utoipa::path(post, path = "/admin/api/v1/explain/replay", operation_id = "replay_calls", tag = "explain", request_body = ReplayRequest,
    responses((status = 200, description = "The calls that would differ", body = ReplayResult),
        (status = 400, description = "Invalid request, or a document that a PUT would refuse"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "A document to delete does not exist"), (status = 409, description = "A name is taken by another kind"),
        (status = 503, description = "The audit log is off or storage is down")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    // The verdicts of proposed guardrails tell about the bodies of audited calls.
    authorized: Authorized<Read<Audit>>,
    Strict(request): Strict<ReplayRequest>,
) -> Result<Json<ReplayResult>, Problem> {
    audit::enabled(&app)?;
    let limit = request.limit.unwrap_or(DEFAULT_CALLS);
    check_limit("limit", limit)?;
    // That of the default tenant, with those of all others: a call is judged as its caller's tenant sees it.
    let before = app.gateway.snapshot();
    let access = authorized.documents(&app);
    let proposal = changes::read(&access, &authorized.principal, request.changes).await?;
    let after = Box::pin(proposal.compile(&app, &before)).await?;
    let asker = authorized.principal.clone();
    let replay = Replay { app, context, asker, before, after };
    Ok(Json(replay.run(limit).await?))
}

/// Judges the newest audited calls by two configurations.
pub(in crate::admin) async fn run(
    app: Arc<App>,
    context: RequestContext,
    asker: Principal,
    (before, after): (Arc<Snapshot>, Arc<Snapshot>),
    limit: i64,
) -> Result<ReplayResult, Problem> {
    check_limit("replay", limit)?;
    Replay { app, context, asker, before, after }.run(limit).await
}

fn check_limit(param: &str, limit: i64) -> Result<(), Fault> {
    if (1..=MAX_CALLS).contains(&limit) {
        return Ok(());
    }
    let message = format!("'{param}' must be a whole number, 1 to {MAX_CALLS}.");
    Err(fault::invalid_parameter(param, message))
}

/// The inputs of a replay.
struct Replay {
    app: Arc<App>,
    context: RequestContext,
    asker: Principal,
    before: Arc<Snapshot>,
    after: Arc<Snapshot>,
}

impl Replay {
    /// Judges the newest calls that the caller may see.
    async fn run(&self, limit: i64) -> Result<ReplayResult, Problem> {
        let filter = audit::visible_to(&self.asker);
        let clock = &self.app.gateway.clock;
        let deadline = clock.tick() + TIME_LIMIT;
        let mut result = ReplayResult::default();
        let (mut left, mut cursor) = (limit, None);
        while left > 0 {
            let audit = self.app.refresher.store().audit();
            let (entries, next) = audit.newest(&filter, left.min(PAGE), cursor.as_ref()).await?;
            for entry in &entries {
                if clock.tick() >= deadline {
                    result.complete = false;
                    return Ok(result);
                }
                self.add(entry, &mut result).await?;
                left -= 1;
                // Judging takes CPU time and hardly waits: other connections of this thread get their turn.
                tokio::task::yield_now().await;
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
            if clock.tick() >= deadline {
                result.complete = false;
                break;
            }
        }
        Ok(result)
    }

    /// Judges a call, and adds what came of it to the result.
    async fn add(&self, entry: &AuditEntry, result: &mut ReplayResult) -> Result<(), Problem> {
        result.examined += 1;
        let question = audited_call::question(&self.app, &self.context, &self.asker, &self.before, entry);
        let outcomes = match question {
            Ok(question) => Box::pin(self.judge(question)).await,
            Err(reason) => {
                result.leave_out(reason);
                return Ok(());
            }
        };
        match outcomes {
            Ok((before, after)) => result.compare(entry, before, after),
            // The request continues a stored response of another caller.
            Err(fault) if fault.code == FaultCode::InsufficientScope => {
                result.leave_out(NotReplayable::ConversationNotVisible);
            }
            Err(fault) => return Err(fault.into()),
        }
        Ok(())
    }

    /// The outcomes of a call before and after the changes.
    async fn judge(&self, question: ExplanationRequest) -> Result<(CallOutcome, CallOutcome), Fault> {
        let before = self.outcome(&self.before, question.clone()).await?;
        let after = self.outcome(&self.after, question.clone()).await?;
        if before == after {
            return Ok((before, after));
        }
        // The state of the targets may have changed in between: a second judgement of the same configuration shows it.
        let again = self.outcome(&self.before, question).await?;
        if again == after { Ok((again, after)) } else { Ok((before, after)) }
    }

    async fn outcome(
        &self,
        snapshot: &Arc<Snapshot>,
        question: ExplanationRequest,
    ) -> Result<CallOutcome, Fault> {
        super::run(&self.app, snapshot, question).await.map(CallOutcome::from)
    }
}

impl ReplayResult {
    fn leave_out(&mut self, reason: NotReplayable) {
        *self.not_replayable.entry(reason.as_str()).or_default() += 1;
    }

    /// Adds a call that was judged twice.
    fn compare(&mut self, entry: &AuditEntry, before: CallOutcome, after: CallOutcome) {
        self.replayed += 1;
        let changed = before.differences(&after);
        if changed.is_empty() {
            return;
        }
        self.differing += 1;
        self.calls.push(ReplayedCall {
            request_id: entry.request_id.clone(),
            timestamp: record::time(entry.at),
            requested_model: entry.requested_model.clone(),
            user_path: entry.user_path.clone(),
            changed,
            before,
            after,
        });
    }
}

impl Default for ReplayResult {
    fn default() -> Self {
        Self {
            examined: 0,
            replayed: 0,
            not_replayable: BTreeMap::new(),
            differing: 0,
            complete: true,
            calls: Vec::new(),
        }
    }
}
