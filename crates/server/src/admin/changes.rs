//! `/admin/api/v1/changes`: the change log of stored documents.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Serialize;
use serde_json::Value;
use store::DEFAULT_TENANT;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Changes, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct ChangeView {
    pub revision: i64,
    pub at: String,
    pub actor: String,
    /// The tenant that the document belongs to; absent for the default tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    pub kind: String,
    pub name: String,
    /// create, update or delete
    pub action: String,
    /// Secrets are masked.
    pub before: Option<Value>,
    pub after: Option<Value>,
}

#[derive(Serialize, ToSchema)]
pub struct ChangeList {
    pub entries: Vec<ChangeView>,
    /// Value of `before` for the next page; absent on the last page.
    pub next: Option<i64>,
}

/// List changes to documents, newest first.
#[utoipa::path(get, path = "/admin/api/v1/changes", tag = "changes",
    params(("kind" = Option<String>, Query, description = "Only this kind of document"),
        ("name" = Option<String>, Query, description = "Only the document of this name"),
        ("actor" = Option<String>, Query, description = "Only changes by this caller: master, cli or the id of a key"),
        ("before" = Option<i64>, Query, description = "Only revisions below this one"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 50")),
    responses((status = 200, description = "The changes", body = ChangeList), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:changes:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Changes>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<ChangeList>, Problem> {
    let limit = query::integer(&pairs, "limit", 1..=200)?.unwrap_or(50);
    let before = query::integer(&pairs, "before", 1..=i64::MAX)?;
    let access = authorized.documents(&app);
    let documents = access.documents();
    let owned = |name: &str| query::text(&pairs, name).map(str::to_owned);
    let filter = store::ChangeFilter {
        kind: owned("kind"),
        name: owned("name"),
        actor: owned("actor"),
        before_revision: before,
        limit,
        all_tenants: authorized.tenant.is_none(),
    };
    let changes = documents.changes(&filter).await?;
    let next = changes.last().filter(|_| changes.len() as i64 == limit).map(|change| change.revision);
    let parse = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    let view = |change: store::Change| ChangeView {
        revision: change.revision,
        at: record::time(change.at),
        actor: change.actor,
        tenant_id: Some(change.tenant).filter(|tenant| tenant != DEFAULT_TENANT),
        kind: change.kind,
        name: change.name,
        action: change.action,
        before: parse(change.before),
        after: parse(change.after),
    };
    Ok(Json(ChangeList { entries: changes.into_iter().map(view).collect(), next }))
}
