//! `/admin/api/v1/usage/models` and `/user-paths`: usage by model and by user path, the most used first.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use http::HeaderMap;
use serde::Serialize;
use store::{Axis, Line, Report, UsageFilter};
use utoipa::ToSchema;

use super::{Consumption, ReportParameters};
use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::Pairs;

#[derive(Clone, Serialize, ToSchema)]
pub struct ModelUsageView {
    pub model: String,
    /// The provider's type.
    pub provider: String,
    pub provider_name: String,
    #[serde(flatten)]
    pub usage: Consumption,
}

#[derive(Clone, Serialize, ToSchema)]
pub struct UserPathView {
    pub user_path: String,
    #[serde(flatten)]
    pub usage: Consumption,
}

/// Usage by model, the most used first.
pub async fn by_model(app: &App, filter: UsageFilter) -> Result<Vec<ModelUsageView>, Problem> {
    let lines = lines(app, filter, &[Axis::Model, Axis::Provider, Axis::ProviderName]).await?;
    let views = lines.into_iter().map(|line| {
        let usage = (&line.figures).into();
        let mut names = line.names.into_iter();
        let mut name = || names.next().unwrap_or_default();
        ModelUsageView { model: name(), provider: name(), provider_name: name(), usage }
    });
    Ok(views.collect())
}

/// Usage by user path, the most used first.
pub async fn by_user_path(app: &App, filter: UsageFilter) -> Result<Vec<UserPathView>, Problem> {
    let lines = lines(app, filter, &[Axis::UserPath]).await?;
    let views = lines.into_iter().map(|mut line| UserPathView {
        user_path: line.names.pop().unwrap_or_default(),
        usage: (&line.figures).into(),
    });
    Ok(views.collect())
}

async fn lines(app: &App, filter: UsageFilter, axes: &[Axis]) -> Result<Vec<Line>, Problem> {
    let mut lines = super::ledger(app).report(&Report::of(filter).by(axes)).await?;
    lines.sort_by(|one, other| {
        let requests = other.figures.requests().cmp(&one.figures.requests());
        requests.then_with(|| one.names.cmp(&other.names))
    });
    Ok(lines)
}

/// Report usage by model and the provider that served it.
#[utoipa::path(get, path = "/admin/api/v1/usage/models", tag = "usage", params(ReportParameters),
    responses((status = 200, description = "The models, the most used first", body = [ModelUsageView]),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn models(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Vec<ModelUsageView>>, Problem> {
    let filter = super::filter(&app, &authorized, &pairs, &headers)?;
    Ok(Json(by_model(&app, filter).await?))
}

/// Report usage by user path.
#[utoipa::path(get, path = "/admin/api/v1/usage/user-paths", tag = "usage", params(ReportParameters),
    responses((status = 200, description = "The paths, the most used first", body = [UserPathView]),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn user_paths(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Vec<UserPathView>>, Problem> {
    let filter = super::filter(&app, &authorized, &pairs, &headers)?;
    Ok(Json(by_user_path(&app, filter).await?))
}
