//! `POST /admin/api/v1/cache/purge`: removes cached answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::user_path::UserPath;
use pipeline::services::response_cache::PurgeFilter;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enabled;
use crate::App;
use crate::authorized::{Authorized, Cache, Write};
use crate::body::Strict;
use crate::fault::Problem;

/// The answers to remove. Without a member, all that the caller can reach.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CachePurgeRequest {
    /// Answers to callers of this user path and of those below it.
    pub user_path: Option<String>,
    /// Answers of one model, by its name at the provider.
    pub model: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct CachePurgeResult {
    /// The number of answers that were removed.
    pub purged: u64,
}

/// Remove cached answers: all, or those of a tenant, a user path or a model.
#[utoipa::path(post, path = "/admin/api/v1/cache/purge", operation_id = "purgeCache", tag = "cache", request_body = CachePurgeRequest,
    responses((status = 200, description = "The number of answers that were removed", body = CachePurgeResult),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The user path is not within that of the key"),
        (status = 503, description = "The response cache is off, or storage or Redis is down")),
    security(("bearer" = ["admin:cache:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Cache>>,
    Strict(request): Strict<CachePurgeRequest>,
) -> Result<Json<CachePurgeResult>, Problem> {
    enabled(&app)?;
    let CachePurgeRequest { user_path, model } = request;
    let user_path = purged_path(&authorized.principal, user_path)?;
    let tenant = authorized.reported_tenant().map(|tenant| tenant.to_string());
    let filter = PurgeFilter { tenant, user_path, model };
    let mut purged = match &app.gateway.response_cache {
        Some(cache) => cache.purge_for_all(&filter).await.map_err(|_| not_purged())?,
        None => 0,
    };
    if let Some(semantic) = &app.gateway.semantic_cache {
        purged += semantic.purge(&filter);
        purged += semantic.purge_stored(&filter).await?;
    }
    tracing::info!(purged, actor = authorized.principal.actor(), "cache purged");
    Ok(Json(CachePurgeResult { purged }))
}

/// Redis does not answer, so that only the answers of this process are removed.
fn not_purged() -> Fault {
    fault::feature_unavailable(
        "Answers are removed from this process only: Redis, where replicas share them, does not answer. Retry when /ready \
         reports shared_store ok.",
    )
}

/// The path to purge: the requested one, or that of a key that is bound to one.
fn purged_path(principal: &Principal, requested: Option<String>) -> Result<Option<UserPath>, Fault> {
    let parse =
        |text: String| UserPath::parse(&text).map_err(|reason| fault::invalid_parameter("user_path", reason));
    match (requested.map(parse).transpose()?, principal.own_path()) {
        (None, own) => Ok(own.cloned()),
        (Some(path), Some(own)) if !own.covers(&path) => {
            Err(fault::user_path_denied(path.as_str(), own.as_str()).param("user_path"))
        }
        (Some(path), _) => Ok(Some(path)),
    }
}
