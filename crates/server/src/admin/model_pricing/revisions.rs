//! `/model-pricing/revisions`: price history and restoring earlier prices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::model_price::ModelPrice;
use serde::Serialize;
use serde_json::Value;
use store::ChangeFilter;
use utoipa::ToSchema;

use super::import::{self, Difference, Plan};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, ModelPricing, Read, Write};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};
use crate::tenant_access::TenantAccess;

#[derive(Serialize, ToSchema)]
pub struct RevisionView {
    pub revision: i64,
    pub at: String,
    pub actor: String,
    pub selector: String,
    /// create, update or delete
    pub action: String,
    #[schema(value_type = Option<ModelPrice>)]
    pub before: Option<Value>,
    #[schema(value_type = Option<ModelPrice>)]
    pub after: Option<Value>,
}

#[derive(Serialize, ToSchema)]
pub struct RevisionList {
    pub entries: Vec<RevisionView>,
    /// Value of `before` for the next page; absent on the last page.
    pub next: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub struct RestoreResult {
    /// The revision whose prices are in force again.
    pub restored: i64,
    #[serde(flatten)]
    pub difference: Difference,
}

/// Number of log entries read at a time.
const STRIDE: i64 = 1_000;

/// List changes to prices, newest first.
#[utoipa::path(get, path = "/admin/api/v1/model-pricing/revisions", tag = "model-pricing", operation_id = "revisions",
    params(("selector" = Option<String>, Query, description = "Only the price of this selector"),
        ("before" = Option<i64>, Query, description = "Only revisions below this one"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 50")),
    responses((status = 200, description = "The changes", body = RevisionList), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:model-pricing:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<ModelPricing>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<RevisionList>, Problem> {
    // Restricted like the change log, because it names who changed what.
    authorized.principal.require_no_user_path()?;
    let limit = query::integer(&pairs, "limit", 1..=200)?.unwrap_or(50);
    let filter = ChangeFilter {
        kind: Some(ModelPrice::KIND.to_owned()),
        name: query::text(&pairs, "selector").map(str::to_owned),
        before_revision: query::integer(&pairs, "before", 1..=i64::MAX)?,
        limit,
        ..ChangeFilter::default()
    };
    let changes = authorized.documents(&app).documents().changes(&filter).await?;
    let next = changes.last().filter(|_| changes.len() as i64 == limit).map(|change| change.revision);
    let parse = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    let entries = changes.into_iter().map(|change| RevisionView {
        revision: change.revision,
        at: record::time(change.at),
        actor: change.actor,
        selector: change.name,
        action: change.action,
        before: parse(change.before),
        after: parse(change.after),
    });
    Ok(Json(RevisionList { entries: entries.collect(), next }))
}

/// Restore all operator prices to their state right after a revision; recorded as new changes.
#[utoipa::path(post, path = "/admin/api/v1/model-pricing/revisions/{id}/restore", tag = "model-pricing", operation_id = "restore",
    params(("id" = String, Path, description = "A revision of a price")),
    responses((status = 200, description = "What changed", body = RestoreResult), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such revision")),
    security(("bearer" = ["admin:model-pricing:write"])))]
pub async fn restore(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelPricing>>,
    Named(id): Named,
) -> Result<Json<RestoreResult>, Problem> {
    let missing = || fault::not_found(format!("No price has changed in the revision '{id}'."));
    let revision: i64 = id.parse().ok().filter(|revision| *revision > 0).ok_or_else(missing)?;
    let _turn = app.naming.lock().await;
    let access = authorized.documents(&app);
    let then = prices_at(&access, revision).await?.ok_or_else(missing)?;
    let plan = Plan::new(&import::stored(&access).await?, then);
    plan.carry_out(&access, authorized.principal.actor()).await?;
    Ok(Json(RestoreResult { restored: revision, difference: plan.difference() }))
}

/// Reconstructs the prices right after a revision from the change log; `None` if that revision changed no price.
async fn prices_at(
    access: &TenantAccess<'_>,
    revision: i64,
) -> Result<Option<BTreeMap<String, ModelPrice>>, Problem> {
    let documents = access.documents();
    let (mut prices, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let mut before = revision.saturating_add(1);
    loop {
        let filter = ChangeFilter {
            kind: Some(ModelPrice::KIND.to_owned()),
            before_revision: Some(before),
            limit: STRIDE,
            ..ChangeFilter::default()
        };
        let changes = documents.changes(&filter).await?;
        if seen.is_empty() && changes.first().is_none_or(|newest| newest.revision != revision) {
            return Ok(None);
        }
        let end = (changes.len() as i64) < STRIDE;
        before = changes.last().map_or(before, |oldest| oldest.revision);
        for change in changes {
            if seen.insert(change.name.clone())
                && let Some(after) = change.after
            {
                let price = serde_json::from_str(&after).map_err(|_| unreadable(change.revision))?;
                prices.insert(change.name, price);
            }
        }
        if end {
            return Ok(Some(prices));
        }
    }
}

fn unreadable(revision: i64) -> Fault {
    fault::conflict(format!(
        "What was written in the revision {revision} cannot be read as a price any more."
    ))
}
