//! `GET /admin/api/v1/usage/unpriced`: usage without a cost, because its model has no price.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use http::HeaderMap;
use serde::Serialize;
use store::UnpricedUsage;
use utoipa::ToSchema;

use super::usage::ReportParameters;
use super::{record, usage};
use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct UnpricedView {
    pub model: String,
    /// The provider's type.
    pub provider: String,
    /// The provider's instance.
    pub provider_name: String,
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    pub last_seen: String,
}

/// List models that were used without a price, by tokens.
#[utoipa::path(get, path = "/admin/api/v1/usage/unpriced", tag = "usage", operation_id = "unpriced",
    params(ReportParameters),
    responses((status = 200, description = "The models", body = Vec<UnpricedView>), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Vec<UnpricedView>>, Problem> {
    usage::enabled(&app)?;
    let filter = query::usage_filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let found = app.refresher.store().ledger().unpriced(&filter).await?;
    Ok(Json(found.into_iter().map(show).collect()))
}

fn show(usage: UnpricedUsage) -> UnpricedView {
    UnpricedView {
        total_tokens: usage.input_tokens + usage.output_tokens,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        requests: usage.requests,
        last_seen: record::time(usage.last_seen),
        model: usage.model,
        provider: usage.provider,
        provider_name: usage.provider_name,
    }
}
