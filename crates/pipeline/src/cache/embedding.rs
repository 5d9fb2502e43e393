//! The vectors of texts, from the embedder of the semantic cache.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use domain::call::Surface;
use domain::fault::FaultKind;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use semantic_cache::eligibility::MAX_WORD_PIECES;
use serde::Deserialize;

use crate::call::arrival::Arrival;
use crate::call::authenticate;
use crate::call::cache_use::MissReason;
use crate::call::context::CallContext;
use crate::gateway::{EmbeddingsCall, Gateway};
use crate::services::embedder::{Embedder, TextEncoder, estimated_word_pieces};
use crate::services::semantic_cache::SemanticCache;

/// The time for vectors that no call waits for.
pub const BACKGROUND_LIMIT: Duration = Duration::from_secs(10);
const ENDPOINT: &str = "/v1/embeddings";
const USER_PATH: HeaderName = HeaderName::from_static("x-gateway-user-path");
const RUN_ID: HeaderName = HeaderName::from_static("x-run-id");

/// The vector of a text.
pub type Vector = Arc<[f32]>;

/// The caller on whose behalf a provider's embedder is called.
#[derive(Clone, Default)]
pub struct Caller {
    headers: HeaderMap,
    client_ip: Option<std::net::IpAddr>,
}

impl Caller {
    /// The caller of a call. A local embedder needs none.
    pub fn of(arrival: &Arrival, context: &CallContext, embedder: &Embedder) -> Self {
        if !matches!(embedder, Embedder::Provider(_)) {
            return Self::default();
        }
        let credential = authenticate::credential(&arrival.headers, arrival.query.as_deref());
        let bearer = credential.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
        let path = HeaderValue::from_bytes(context.owner().user_path.as_bytes()).ok();
        let run = arrival.headers.get(RUN_ID).cloned();
        let named = [(header::AUTHORIZATION, bearer), (USER_PATH, path), (RUN_ID, run)];
        let mut headers: HeaderMap =
            named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { headers, client_ip: arrival.client_ip }
    }
}

/// Texts to embed.
pub struct EmbeddedTexts {
    pub texts: Vec<String>,
    /// The most word pieces of a text; longer ones are refused.
    pub most: Option<usize>,
    /// The longest time for it.
    pub limit: Duration,
    /// The place for the first vector, also if a local embedder makes it after that time.
    pub first: Arc<OnceLock<Vector>>,
}

/// The vectors of texts.
pub async fn embed(
    gateway: &Arc<Gateway>,
    cache: &Arc<SemanticCache>,
    caller: &Caller,
    EmbeddedTexts { texts, most, limit, first }: EmbeddedTexts,
) -> Result<Vec<Vector>, MissReason> {
    let embedding = async {
        match &cache.embedder {
            Embedder::Local(encoder) => {
                let encoder = encoder.clone();
                let work = move || {
                    let vectors = embed_here(&*encoder, &texts, most);
                    if let Some(vector) = vectors.as_ref().ok().and_then(|vectors| vectors.first()) {
                        let _ = first.set(vector.clone());
                    }
                    vectors
                };
                blocking(gateway, cache, work).await?
            }
            Embedder::Provider(selector) => {
                let is_long = |text: &String| most.is_some_and(|most| estimated_word_pieces(text) > most);
                if texts.iter().any(is_long) {
                    return Err(EmbeddingError::TooLong);
                }
                ask(gateway, caller, selector, &texts, limit).await
            }
            Embedder::Missing(requirement) => Err(EmbeddingError::Failed(requirement.clone())),
        }
    };
    let embedded = match tokio::time::timeout(limit, embedding).await {
        Ok(embedded) => embedded,
        Err(_) => return Err(MissReason::EmbeddingTimeout),
    };
    match embedded {
        Ok(vectors) => {
            cache.record_embedding(None);
            Ok(vectors)
        }
        Err(EmbeddingError::TooLong) => Err(MissReason::TooLong),
        Err(EmbeddingError::CallerRefused) => Err(MissReason::EmbedderFailed),
        Err(EmbeddingError::Failed(reason)) => {
            if cache.failure().is_none() {
                tracing::warn!(reason, "embedder of the semantic cache failed");
            }
            cache.record_embedding(Some(reason));
            Err(MissReason::EmbedderFailed)
        }
    }
}

/// The vector of the last text of a call; it is kept in `kept`.
pub async fn embed_prompt(
    gateway: &Arc<Gateway>,
    cache: &Arc<SemanticCache>,
    caller: &Caller,
    text: &str,
    (kept, limit): (&Arc<OnceLock<Vector>>, Duration),
) -> Result<Vector, MissReason> {
    let texts = EmbeddedTexts {
        texts: vec![text.to_owned()],
        most: Some(MAX_WORD_PIECES),
        limit,
        first: kept.clone(),
    };
    let vectors = embed(gateway, cache, caller, texts).await?;
    let vector = vectors.into_iter().next().ok_or(MissReason::EmbedderFailed)?;
    Ok(kept.get_or_init(|| vector).clone())
}

enum EmbeddingError {
    TooLong,
    /// The caller may not use the embedder, or not now. That is no failure for others.
    CallerRefused,
    Failed(String),
}

fn embed_here(
    encoder: &dyn TextEncoder,
    texts: &[String],
    most: Option<usize>,
) -> Result<Vec<Vector>, EmbeddingError> {
    for text in texts {
        if let Some(most) = most
            && encoder.word_pieces(text).map_err(EmbeddingError::Failed)? > most
        {
            return Err(EmbeddingError::TooLong);
        }
    }
    texts.iter().map(|text| encoder.embed(text).map(Vector::from).map_err(EmbeddingError::Failed)).collect()
}

/// Runs work on a thread that serves no connection, once a slot for embeddings is free. The slots are apart from those for
/// large bodies: a request that is explained may hold one of these.
async fn blocking<T: Send + 'static>(
    gateway: &Gateway,
    cache: &SemanticCache,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EmbeddingError> {
    let failed = |error: String| EmbeddingError::Failed(error);
    let slot = cache.slots.clone().acquire_owned().await.map_err(|error| failed(error.to_string()))?;
    let job = gateway.tasks.spawn_blocking(move || {
        let _slot = slot;
        work()
    });
    job.await.map_err(|error| failed(error.to_string()))
}

/// Runs a search or a change of the index on a thread that serves no connection; `None` if the process stops.
pub async fn on_index<T: Send + 'static>(
    gateway: &Gateway,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    gateway.tasks.spawn_blocking(work).await.ok()
}

/// Asks a provider, with a call of the caller.
async fn ask(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    selector: &str,
    texts: &[String],
    timeout: Duration,
) -> Result<Vec<Vector>, EmbeddingError> {
    let body = serde_json::json!({"model": selector, "input": texts, "encoding_format": "float"});
    let call = EmbeddingsCall {
        headers: caller.headers.clone(),
        client_ip: caller.client_ip,
        endpoint: ENDPOINT,
        surface: Surface::Embeddings,
        body: Bytes::from(body.to_string()),
        timeout,
    };
    let answer = (gateway.send_embeddings)(gateway.clone(), call).await;
    let answer = answer.map_err(|fault| match fault.kind {
        FaultKind::Authentication | FaultKind::Authorization | FaultKind::RateLimit
            if fault.upstream_status.is_none() =>
        {
            EmbeddingError::CallerRefused
        }
        _ => EmbeddingError::Failed(fault.message),
    })?;
    let failed = |reason: &str| EmbeddingError::Failed(format!("the answer of '{selector}' {reason}"));
    let Embeddings { mut data } =
        serde_json::from_slice(&answer).map_err(|_| failed("is not a list of embeddings"))?;
    data.sort_by_key(|embedding| embedding.index);
    if data.len() != texts.len() {
        return Err(failed("has another number of embeddings"));
    }
    Ok(data.into_iter().map(|embedding| embedding.embedding.into()).collect())
}

/// The answer to an embeddings request.
#[derive(Deserialize)]
struct Embeddings {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}
