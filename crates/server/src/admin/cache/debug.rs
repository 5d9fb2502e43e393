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

/// The verdict of the cache on a request. Members about a layer that is not searched are empty or 0.
#[derive(Serialize, ToSchema)]
pub struct CacheDebugResult {
    pub path: String,
    /// The layers that are searched: exact, semantic, both or none.
    pub cache_type: &'static str,
    pub exact_cache_key: String,
    /// The hash of the request without its last text.
    pub semantic_params_hash: String,
    /// The hash of everything that similar calls have in common.
    pub semantic_cache_key: String,
    pub semantic_threshold: f64,
    /// The similarity of the call that decided; null if there is none.
    pub semantic_score: Option<f64>,
    pub prompt_similarity_threshold: f64,
    /// The share of words that it has in common; null if they were not compared.
    pub prompt_similarity: Option<f64>,
    pub exact_ttl_seconds: u64,
    pub semantic_ttl_seconds: u64,
    pub streaming: bool,
    pub cacheable: bool,
    /// Empty if the answer is in the cache; else disabled, not_cacheable, bypass, not_found, expired, below_threshold,
    /// prompt_changed, too_long or embedder_failed.
    pub miss_reason: &'static str,
    /// hit if an answer was found and is not served in the mode shadow, recheck if it is compared with a new one; else
    /// empty.
    pub semantic_shadow: &'static str,
    pub guardrails_hash: String,
    /// Model, quantisation and version of the embedder, or the selector of a provider's; empty without one.
    pub embedder_identity: String,
    /// application/json or text/event-stream
    pub effective_content_type: &'static str,
}

/// Tell whether a request would be answered from the response cache, and by which key. Nothing is sent.
#[utoipa::path(post, path = "/admin/api/v1/cache/debug", operation_id = "debugCache", tag = "cache", request_body = ExplainRequest,
    responses((status = 200, description = "The verdict of the cache", body = CacheDebugResult),
        (status = 400, description = "Invalid request, or a request that would be refused"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model"), (status = 503, description = "The response cache is off")),
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
    let embedder_identity = embedder_identity(&app).await;
    let streaming = request.is_some_and(|request| request.stream);
    Ok(Json(result(path, streaming, cache, embedder_identity)))
}

/// The identity of the embedder. A local one may have to be loaded, which takes long.
async fn embedder_identity(app: &App) -> String {
    let Some(semantic) = app.gateway.semantic_cache.clone() else { return String::new() };
    let identity = app.gateway.tasks.spawn_blocking(move || semantic.embedder.identity()).await;
    identity.ok().and_then(Result::ok).unwrap_or_default()
}

fn result(
    path: String,
    streaming: bool,
    cache: ExplainedCache,
    embedder_identity: String,
) -> CacheDebugResult {
    let semantic = cache.semantic.as_ref();
    CacheDebugResult {
        path,
        cache_type: cache.layers,
        semantic_params_hash: semantic.map(|semantic| semantic.params_hash.clone()).unwrap_or_default(),
        semantic_cache_key: semantic.map(|semantic| semantic.key.clone()).unwrap_or_default(),
        semantic_threshold: semantic.map_or(0.0, |semantic| semantic.threshold),
        semantic_score: semantic.and_then(|semantic| semantic.score),
        prompt_similarity_threshold: semantic.map_or(0.0, |semantic| semantic.prompt_similarity),
        prompt_similarity: semantic.and_then(|semantic| semantic.word_overlap),
        exact_ttl_seconds: if semantic.is_some() && cache.key.is_none() { 0 } else { cache.ttl_seconds },
        semantic_ttl_seconds: semantic.map_or(0, |semantic| semantic.ttl_seconds),
        streaming,
        cacheable: cache.layers != "none",
        miss_reason: cache.miss_reason.unwrap_or_default(),
        semantic_shadow: semantic.and_then(|semantic| semantic.shadow).unwrap_or_default(),
        exact_cache_key: cache.key.unwrap_or_default(),
        guardrails_hash: cache.guardrails_hash,
        embedder_identity,
        effective_content_type: if streaming { "text/event-stream" } else { "application/json" },
    }
}
