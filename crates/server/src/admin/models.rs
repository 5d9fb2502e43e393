//! `/admin/api/v1/models`: the models of all enabled providers with their metadata and access rules.

pub mod catalog;
mod entry;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::model::Category;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::authorized::{Authorized, Models, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};
use entry::ModelEntry;

/// Maximum length of the list; `X-Total-Count` has the full number.
const MOST: usize = 10_000;

/// The value that selects all categories.
const ALL: &str = "all";

#[derive(Serialize, ToSchema)]
pub struct CategoryCount {
    /// all, text_generation, embedding, rerank, image, audio, video or utility
    pub category: &'static str,
    pub display_name: &'static str,
    pub count: usize,
}

/// List the models of all enabled providers, at most 10000; `X-Total-Count` has their number.
#[utoipa::path(get, path = "/admin/api/v1/models", tag = "models",
    params(("category" = Option<String>, Query,
        description = "all (default), text_generation, embedding, rerank, image, audio, video or utility")),
    responses((status = 200, description = "The models", body = Vec<ModelEntry>), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:models:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Models>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let wanted = category(&pairs)?;
    let fits = |found: Category| wanted.is_none_or(|wanted| wanted == found);
    let deployments: Vec<_> = authorized
        .snapshot
        .routes
        .deployments()
        .filter(|deployment| fits(deployment.mode().category()))
        .collect();
    let default_enabled = app.gateway.policy.models_enabled_by_default;
    let entries: Vec<ModelEntry> =
        deployments.iter().take(MOST).map(|deployment| entry::show(deployment, default_enabled)).collect();
    Ok(([("x-total-count", deployments.len().to_string())], Json(entries)).into_response())
}

/// Count the models of each category.
#[utoipa::path(get, path = "/admin/api/v1/models/categories", tag = "models",
    responses((status = 200, description = "The categories", body = Vec<CategoryCount>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:models:read"])))]
pub async fn categories(authorized: Authorized<Read<Models>>) -> Json<Vec<CategoryCount>> {
    let found: Vec<Category> =
        authorized.snapshot.routes.deployments().map(|deployment| deployment.mode().category()).collect();
    let all = CategoryCount { category: ALL, display_name: "All", count: found.len() };
    let count = |category: &Category| CategoryCount {
        category: category.as_str(),
        display_name: category.title(),
        count: found.iter().filter(|found| *found == category).count(),
    };
    Json(std::iter::once(all).chain(Category::ALL.iter().map(count)).collect())
}

fn category(pairs: &Pairs) -> Result<Option<Category>, Fault> {
    let Some(name) = query::text(pairs, "category").filter(|name| *name != ALL) else { return Ok(None) };
    let found = Category::ALL.iter().copied().find(|category| category.as_str() == name);
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
        let message = format!("There is no category '{name}'. There are {ALL}, {}.", known.join(", "));
        fault::invalid_parameter("category", message)
    })
}
