//! `POST /admin/api/v1/cache/debug`: the verdict of the response cache on a request that is not sent.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::fault;
use domain::scope::{Action, Scope};
use pipeline::explain::{ExplainedCache, Explanation};
use serde::Serialize;
use utoipa::ToSchema;

use super::enabled;
use crate::App;
use crate::admin::explain::{self, ExplainRequest};
use crate::authorized::{Authorized, Cache, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::inference::chat;
use crate::request_context::RequestContext;

/// The verdict of the cache on a request. Members about the semantic cache are empty while there is none.
#[derive(Serialize, ToSchema)]
pub struct CacheDebugResult {
    pub path: String,
    /// The layers that are searched: exact, semantic, both or none.
    pub cache_type: &'static str,
    pub exact_cache_key: String,
    pub semantic_params_hash: String,
    pub semantic_cache_key: String,
    pub semantic_threshold: f64,
    pub prompt_similarity_threshold: f64,
    pub exact_ttl_seconds: u64,
    pub semantic_ttl_seconds: u64,
    pub streaming: bool,
    pub cacheable: bool,
    /// Empty if the answer is in the cache; else disabled, not_cacheable, bypass, not_found or expired.
    pub miss_reason: &'static str,
    pub guardrails_hash: String,
    pub embedder_identity: String,
    /// application/json or text/event-stream
    pub effective_content_type: &'static str,
}

/// Tell whether a request would be answered from the response cache, and by which key. Nothing is sent.
#[utoipa::path(post, path = "/admin/api/v1/cache/debug", operation_id = "debugCache", tag = "cache", request_body = ExplainRequest,
    responses((status = 200, description = "The verdict of the cache", body = CacheDebugResult),
        (status = 400, description = "Invalid request, or a request that would be refused"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "The response cache is off")),
    security(("bearer" = ["admin:cache:read"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Authorized<Read<Cache>>,
    Strict(mut request): Strict<ExplainRequest>,
) -> Result<Json<CacheDebugResult>, Problem> {
    enabled(&app)?;
    let path = request.path.get_or_insert_with(|| chat::PATH.to_owned()).clone();
    let Authorized { principal, snapshot, .. } = authorized;
    let Explanation { request, cache, decision, .. } =
        explain::explain(&app, context, principal, snapshot, request).await?;
    let Some(cache) = cache else {
        // The entries of another caller are for admins.
        let Some(refusal) = decision.error else {
            return Err(fault::insufficient_scope(Scope::Admin(None, Action::Read).to_string()).into());
        };
        let message = format!("The call would be refused before the cache is searched: {}", refusal.message);
        return Err(fault::invalid_parameter("body", message).into());
    };
    Ok(Json(result(path, request.is_some_and(|request| request.stream), cache)))
}

fn result(path: String, streaming: bool, cache: ExplainedCache) -> CacheDebugResult {
    let cacheable = cache.key.is_some();
    CacheDebugResult {
        path,
        cache_type: if cacheable { "exact" } else { "none" },
        exact_cache_key: cache.key.unwrap_or_default(),
        semantic_params_hash: String::new(),
        semantic_cache_key: String::new(),
        semantic_threshold: 0.0,
        prompt_similarity_threshold: 0.0,
        exact_ttl_seconds: cache.ttl_seconds,
        semantic_ttl_seconds: 0,
        streaming,
        cacheable,
        miss_reason: cache.miss_reason.unwrap_or_default(),
        guardrails_hash: cache.guardrails_hash,
        embedder_identity: String::new(),
        effective_content_type: if streaming { "text/event-stream" } else { "application/json" },
    }
}
