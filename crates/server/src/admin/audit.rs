//! `/admin/api/v1/audit`: the audit log of calls.

mod export;
mod filter;
mod journey_view;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::auth_key::AuthKey;
use domain::scope::Scope;
use domain::user_path::UserPath;
use http::HeaderMap;
use pipeline::gateway::Gateway;
use pipeline::services::feed::{Entry, Feed};
use serde::Serialize;
use store::{AuditEntry, AuditFilter, AuditSlice};
use utoipa::{IntoParams, ToSchema};

use super::record;
use super::watch::{self, Watched};
use crate::App;
use crate::authorized::{Audit, Authorized, Needs as _, Read};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};
pub(super) use filter::visible_to;
use view::{AuditEntryView, AuditStatsView};

/// Query parameters for the period of the list and the export.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what `filter` reads")]
pub struct PeriodParameters {
    /// 1 to 365, default 30
    days: Option<i64>,
    /// YYYY-MM-DD, in the request's time zone
    start_date: Option<String>,
    /// YYYY-MM-DD, inclusive
    end_date: Option<String>,
    /// IANA time zone of dates and days, default UTC; wins over the header X-Gateway-Timezone
    timezone: Option<String>,
}

/// Query parameters that filter the audit log; the same for the list, the export and the stream.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what `filter` reads")]
pub struct AuditParameters {
    /// Only calls below this user path
    user_path: Option<String>,
    /// Only this model, as requested
    requested_model: Option<String>,
    /// Only this provider, by name or type
    provider: Option<String>,
    /// Only this method
    method: Option<String>,
    /// Only this path, or this route
    path: Option<String>,
    /// Only errors of this type
    error_type: Option<String>,
    /// Only this status
    status_code: Option<i64>,
    /// error (a status of 400 or more, or an error_type) or ok; a stream that broke off is an error
    status: Option<String>,
    /// Only streaming calls (true), or only others (false)
    stream: Option<bool>,
    /// Only this key
    auth_key_id: Option<String>,
    /// Only this session
    session_id: Option<String>,
    /// Text to search in request_id, requested_model, provider, method, path, error_type and error_message
    search: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct AuditLogView {
    pub entries: Vec<AuditEntryView>,
    /// Absent with `include_total=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// False when `total` is a lower bound. Absent with `include_total=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_is_exact: Option<bool>,
    /// True when the search stopped after 200,000 entries; `next` continues with the rest of the period.
    pub search_truncated: bool,
    pub limit: i64,
    pub offset: i64,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<AuditStatsView>,
}

#[derive(Serialize, ToSchema)]
pub struct ConversationView {
    pub anchor_id: String,
    /// Oldest first.
    pub entries: Vec<AuditEntryView>,
}

/// Refuses requests while the audit log is off.
pub(super) fn enabled(app: &App) -> Result<(), Fault> {
    if app.gateway.policy.audit.enabled {
        return Ok(());
    }
    Err(fault::feature_unavailable("There is no audit log: LOGGING_ENABLED is false."))
}

/// List the calls of a period, newest first.
#[utoipa::path(get, path = "/admin/api/v1/audit/log", operation_id = "audit_log", tag = "audit",
    params(PeriodParameters, AuditParameters,
        ("sort" = Option<String>, Query, description = "timestamp, -timestamp (default), duration or -duration"),
        ("limit" = Option<i64>, Query, description = "1 to 100, default 25"), ("offset" = Option<i64>, Query, description = "Default 0"),
        ("cursor" = Option<String>, Query, description = "What `next` of the page before said"),
        ("include_total" = Option<bool>, Query, description = "Whether entries are counted, up to 10,000 with filters. Default: true"),
        ("include_data" = Option<bool>, Query, description = "Whether entries have their headers and bodies. Default: true"),
        ("include_stats" = Option<bool>, Query, description = "Also counts, percentiles and buckets over the newest 100,000")),
    responses((status = 200, description = "The entries", body = AuditLogView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "The audit log is off or storage is down")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn log(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Audit>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<AuditLogView>, Problem> {
    enabled(&app)?;
    let (limit, offset) = record::page(&pairs, 25, 100)?;
    let sort = filter::sort(&pairs)?;
    let cursor = filter::cursor(&pairs, sort)?;
    if cursor.is_some() && offset > 0 {
        return Err(fault::invalid_parameter("offset", "'offset' and 'cursor' exclude each other.").into());
    }
    let with_stats = query::boolean(&pairs, "include_stats")? == Some(true);
    let filter = filter::filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let audit = app.refresher.store().audit();
    let with_total = query::boolean(&pairs, "include_total")? != Some(false);
    let with_data = query::boolean(&pairs, "include_data")? != Some(false);
    let slice = AuditSlice { limit, offset, after: cursor.as_ref(), with_total, with_data };
    let page = audit.page(&filter, sort, slice).await?;
    let stats = if with_stats { Some(view::stats(audit.stats(&filter).await?)) } else { None };
    Ok(Json(AuditLogView {
        entries: page
            .entries
            .into_iter()
            .map(|entry| view::entry(entry, Some(&authorized.principal)))
            .collect(),
        total: page.total.map(|total| total.entries),
        total_is_exact: page.total.map(|total| total.is_exact),
        search_truncated: page.truncated,
        limit,
        offset,
        next: page.next.as_ref().map(filter::show_cursor),
        stats,
    }))
}

/// Get one call, with its journey: the decisions about it, in their order.
#[utoipa::path(get, path = "/admin/api/v1/audit/log/{id}", operation_id = "audit_entry", tag = "audit",
    params(("id" = String, Path, description = "The entry, or a request_id: then the newest entry that has it")),
    responses((status = 200, description = "The entry", body = AuditEntryView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such entry"), (status = 503, description = "The audit log is off or storage is down")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Audit>>,
    Named(id): Named,
) -> Result<Json<AuditEntryView>, Problem> {
    enabled(&app)?;
    let entry = find_by_either(&app, &authorized, &id).await?;
    let mut shown = view::entry(entry, Some(&authorized.principal));
    if let Some(caller) = shown.journey.as_mut().and_then(|journey| journey.caller.as_mut()) {
        caller.redacted_value = redacted_key(&app, caller.auth_key_id.as_deref()).await?;
    }
    Ok(Json(shown))
}

/// Export the calls of a period as a file, oldest first. A truncated export ends without the terminator of its chunked
/// body; a complete JSONL export also ends with a line that says so.
#[utoipa::path(get, path = "/admin/api/v1/audit/log/export", operation_id = "export_audit_log", tag = "audit",
    params(PeriodParameters, AuditParameters, ("format" = Option<String>, Query, description = "csv (default, without headers and bodies) or jsonl")),
    responses((status = 200, description = "The file", content((String = "text/csv"), (String = "application/jsonl"))),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "The audit log is off or storage is down")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn export(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Audit>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    enabled(&app)?;
    let format = match query::text(&pairs, "format") {
        None | Some("csv") => export::Format::Csv,
        Some("jsonl") => export::Format::Jsonl,
        Some(_) => return Err(fault::invalid_parameter("format", "'format' is csv or jsonl.").into()),
    };
    // Fails before the download starts if storage is down.
    app.refresher.store().documents().revision().await?;
    let now = app.gateway.clock.now();
    let mut filter = filter::filter(&pairs, &headers, &authorized, now)?;
    // Entries that are written during the export would keep it from ending.
    filter.until = filter.until.min(now);
    Ok(export::answer(app, filter, format, authorized.principal))
}

/// Stream calls as they end in this process, as server-sent events without headers and bodies.
#[utoipa::path(get, path = "/admin/api/v1/audit/log/stream", operation_id = "watch_audit_log", tag = "audit",
    params(AuditParameters,
        ("last_event_id" = Option<i64>, Query, description = "Begin after the event of this id, as far as it is still there"),
        ("Last-Event-ID" = Option<i64>, Header, description = "The same, and wins: what browsers send when they come back")),
    responses((status = 200, description = "Events named entry, and dropped when some were missed", content_type = "text/event-stream", body = String),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "The audit log is off")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn stream(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Audit>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    enabled(&app)?;
    let filter = filter::of_stream(&pairs, &authorized)?;
    Ok(watch::answer(app, authorized.principal, Newest(filter), &headers, &pairs)?)
}

/// List the calls of the conversation that a call belongs to.
#[utoipa::path(get, path = "/admin/api/v1/audit/conversation", operation_id = "audit_conversation", tag = "audit",
    params(("log_id" = String, Query, description = "The entry to begin with"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 40")),
    responses((status = 200, description = "The conversation", body = ConversationView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such entry"),
        (status = 503, description = "The audit log is off or storage is down")),
    security(("bearer" = ["admin:audit:read"])))]
pub async fn conversation(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Audit>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<ConversationView>, Problem> {
    enabled(&app)?;
    let limit = query::integer(&pairs, "limit", 1..=200)?.unwrap_or(40);
    let id = query::text(&pairs, "log_id")
        .ok_or_else(|| fault::invalid_parameter("log_id", "'log_id' must name an entry of the audit log."))?;
    let anchor = find(&app, &authorized, id).await?;
    let anchor_id = anchor.id.clone();
    let limit = usize::try_from(limit).unwrap_or(1);
    let visible = |entry: &AuditEntry| is_reported(entry, &authorized);
    let entries = app.refresher.store().audit().conversation(anchor, limit, visible).await?;
    Ok(Json(ConversationView {
        anchor_id,
        entries: entries.into_iter().map(|entry| view::entry(entry, Some(&authorized.principal))).collect(),
    }))
}

/// Finds an entry; one that the caller may not see, or that the request is not about, counts as missing.
async fn find(app: &App, authorized: &Authorized<Read<Audit>>, id: &str) -> Result<AuditEntry, Problem> {
    let entry = app.refresher.store().audit().find(id).await?;
    let entry = entry.filter(|entry| is_reported(entry, authorized));
    Ok(entry.ok_or_else(missing)?)
}

/// Finds an entry by its id, or else the newest one with this request id, among those that the caller may see.
async fn find_by_either(
    app: &App,
    authorized: &Authorized<Read<Audit>>,
    id: &str,
) -> Result<AuditEntry, Problem> {
    let audit = app.refresher.store().audit();
    let named = audit.find(id).await?.filter(|entry| is_reported(entry, authorized));
    let found = match named {
        Some(entry) => Some(entry),
        None => {
            let reported = AuditFilter {
                tenant_id: authorized.reported_tenant().map(|tenant| tenant.to_string()),
                ..filter::visible_to(&authorized.principal)
            };
            audit.find_by_request(id, &reported).await?
        }
    };
    Ok(found.filter(|entry| is_reported(entry, authorized)).ok_or_else(missing)?)
}

fn missing() -> Fault {
    fault::not_found("There is no such entry in the audit log.")
}

/// The key as it is now, redacted; `None` if there is none with this id.
async fn redacted_key(app: &App, id: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(id) = id else { return Ok(None) };
    let mut stored = app.refresher.store().collection::<AuthKey>().named(&[id]).await?;
    let stored = stored.pop().or_else(|| app.refresher.configured_document(id));
    Ok(stored.map(|stored| stored.value.redacted_value))
}

fn is_reported(entry: &AuditEntry, authorized: &Authorized<Read<Audit>>) -> bool {
    is_visible(entry, &authorized.principal) && authorized.reports(entry.tenant_id.as_deref())
}

fn is_visible(entry: &AuditEntry, principal: &Principal) -> bool {
    let is_below = |own: &UserPath| UserPath::parse(&entry.user_path).is_ok_and(|path| own.covers(&path));
    principal.subtree().is_none_or(is_below) && principal.sees_tenant(entry.tenant_id.as_deref())
}

/// The live stream of this process's audit entries, those that the filter selects.
struct Newest(AuditFilter);

impl Watched for Newest {
    type Event = Box<AuditEntry>;
    const SCOPE: Option<Scope> = Read::<Audit>::SCOPE;

    fn feed(gateway: &Gateway) -> &Feed<Self::Event> {
        &gateway.audit
    }

    fn concerns(&self, entry: &Entry<Self::Event>, principal: &Principal) -> bool {
        is_visible(&entry.event, principal) && self.0.matches(&entry.event)
    }

    fn name(_: &Entry<Self::Event>) -> &'static str {
        "entry"
    }

    fn json(entry: &Entry<Self::Event>) -> &str {
        entry.json_by(|_, entry| {
            serde_json::to_string(&view::entry((**entry).clone(), None)).unwrap_or_default()
        })
    }
}
