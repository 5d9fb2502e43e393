//! The search for the answer to a similar call, and the comparison of such answers with new ones.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::call::{Format, Surface};
use store::{NearestEntry, Owner};

use super::conversion;
use super::embedding::{self, BACKGROUND_LIMIT, Caller, EmbeddedTexts, Vector};
use super::key::{SemanticKeys, hex};
use super::request::CacheRequest;
use super::semantic_request::SemanticRequest;
use crate::call::arrival::Arrival;
use crate::call::cache_use::{MissReason, SemanticDetails};
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::services::embedder::Embedder;
use crate::services::response_cache::CachedAnswer;
use crate::services::semantic_cache::{
    SemanticCache, SemanticEntry, SemanticMatch, SemanticQuery, StoreFailure, cosine, decide_remote,
};

/// The lowest similarity of two answers that agree.
const AGREEMENT: f64 = 0.8;
/// Longer answers are compared by their beginning. Encoders read no more than that either.
const COMPARED_CHARS: usize = 2000;

/// A call that is compared with earlier ones.
pub struct SemanticCall {
    pub request: SemanticRequest,
    pub keys: SemanticKeys,
    pub cache: Arc<SemanticCache>,
    caller: Caller,
    owner: Owner,
    generation: u64,
    /// The vector of the text, once it is known: it is computed at most once.
    vector: Arc<OnceLock<Vector>>,
    /// The answer that was found and not served.
    withheld: OnceLock<Withheld>,
    /// Set if an answer was found in shadow mode.
    shadow_hit: OnceLock<()>,
}

/// An answer that is compared with a new one.
struct Withheld {
    entry: Arc<SemanticEntry>,
    score: f64,
}

impl SemanticCall {
    /// The part of a call that is compared with earlier ones; `None` if it is not.
    pub fn of(
        arrival: &Arrival,
        call: &Call,
        request: &CacheRequest,
        context: &CallContext,
    ) -> Option<Arc<Self>> {
        let cache = context.gateway().semantic_cache.clone()?;
        let compared = request.semantic.clone()?;
        Some(Arc::new(Self {
            keys: request.semantic_keys(call, &compared),
            caller: Caller::of(arrival, context, &cache.embedder),
            owner: context.owner().clone(),
            request: compared,
            generation: cache.generation(),
            cache,
            vector: Arc::default(),
            withheld: OnceLock::new(),
            shadow_hit: OnceLock::new(),
        }))
    }

    /// The details of the decision, before the search.
    pub fn details(&self) -> SemanticDetails {
        SemanticDetails {
            key: hex(&self.keys.partition),
            params_hash: hex(&self.keys.params_hash),
            ttl_seconds: self.request.ttl.as_secs(),
            threshold: self.request.bounds.threshold,
            prompt_similarity: self.request.bounds.prompt_similarity,
            ..SemanticDetails::default()
        }
    }

    /// Whether nothing is sent for the search.
    pub fn is_local(&self) -> bool {
        matches!(self.cache.embedder, Embedder::Local(_))
    }

    /// Searches the answer to a similar call.
    pub async fn search(self: &Arc<Self>, gateway: &Arc<Gateway>) -> Result<SemanticMatch, MissReason> {
        let vector = self.vector(gateway, gateway.policy.cache.semantic.embedding_timeout).await?;
        let times = (gateway.clock.tick(), gateway.clock.now());
        if self.cache.is_remote() {
            let (call, kept) = (self.clone(), vector.clone());
            let decide = |found: Vec<NearestEntry>| {
                embedding::on_index(gateway, move || decide_remote(&call.query(&kept), found))
            };
            let found = self.cache.search_remote(&self.query(&vector), times, decide).await;
            return found.map_err(|failure| match failure {
                StoreFailure::Failed => MissReason::StoreFailed,
                StoreFailure::Timeout => MissReason::StoreTimeout,
            });
        }
        let call = self.clone();
        let search = move || call.cache.search(&call.query(&vector), times.0);
        embedding::on_index(gateway, search).await.ok_or(MissReason::EmbedderFailed)
    }

    fn query<'a>(&'a self, vector: &'a [f32]) -> SemanticQuery<'a> {
        SemanticQuery {
            partition: &self.keys.partition,
            prompt: &self.request.text,
            vector,
            threshold: self.request.bounds.threshold,
            prompt_similarity: self.request.bounds.prompt_similarity,
        }
    }

    async fn vector(&self, gateway: &Arc<Gateway>, limit: Duration) -> Result<Vector, MissReason> {
        if let Some(vector) = self.vector.get() {
            return Ok(vector.clone());
        }
        let kept = (&self.vector, limit);
        embedding::embed_prompt(gateway, &self.cache, &self.caller, &self.request.text, kept).await
    }

    /// Records an answer that is found and not served, in the mode shadow. It is compared with the new answer to the call,
    /// unless that costs a call of the embedder and the call is not sampled.
    pub fn withhold(&self, entry: Arc<SemanticEntry>, score: f64, is_sampled: bool) {
        let _ = self.shadow_hit.set(());
        if is_sampled || self.is_local() {
            let _ = self.withheld.set(Withheld { entry, score });
        }
    }

    /// Adds the new answer to the call, in the background. If an answer was withheld, both are compared first: the new one
    /// is added only if they do not agree.
    pub fn answered(self: Arc<Self>, gateway: Arc<Gateway>, cached: CachedAnswer, surface: Surface) {
        // Counted here: a call that is refused or fails is no hit.
        if self.shadow_hit.get().is_some() {
            self.cache.checks().count_shadow_hit(gateway.clock.now(), &self.owner);
            gateway.metrics.shadow_hit();
        }
        // Outside a runtime, the process is stopping.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let Surface::Converse(format) = surface else { return };
        let tasks = gateway.tasks.clone();
        tasks.spawn_on(async move { self.settle(&gateway, cached, format).await }, &runtime);
    }

    async fn settle(self: Arc<Self>, gateway: &Arc<Gateway>, cached: CachedAnswer, format: Format) {
        if let Some(Withheld { entry, score }) = self.withheld.get()
            && self.compare(gateway, (&**entry, *score), &cached, format).await != Some(false)
        {
            return;
        }
        let Ok(vector) = self.vector(gateway, BACKGROUND_LIMIT).await else { return };
        let times = (gateway.clock.tick(), gateway.clock.now());
        let (partition, generation) = (self.keys.partition, self.generation);
        if self.cache.is_remote() {
            let text = &self.request.text;
            return self.cache.insert_remote(partition, text, &vector, cached, generation, times).await;
        }
        embedding::on_index(gateway, move || {
            self.cache.insert(partition, &self.request.text, &vector, cached, generation, times);
        })
        .await;
    }

    /// Compares the answer of an entry with a new one, and counts it. If they do not agree, the entry needs a higher score
    /// from then on. `None` if they cannot be compared.
    pub async fn compare(
        &self,
        gateway: &Arc<Gateway>,
        (entry, score): (&SemanticEntry, f64),
        new: &CachedAnswer,
        format: Format,
    ) -> Option<bool> {
        let agrees = self.agree(gateway, &entry.cached, new, format).await?;
        let times = (gateway.clock.tick(), gateway.clock.now());
        self.cache.checks().count_recheck(times.1, &self.owner, agrees);
        gateway.metrics.rechecked(agrees);
        if !agrees {
            tracing::info!(score, user_path = self.owner.user_path, "semantic cache hit was wrong");
            match self.cache.is_remote() {
                true => self.cache.raise_remote(entry, score, times.0).await,
                false => self.cache.raise_min_score(entry, score, times),
            }
        }
        Some(agrees)
    }

    /// Whether two answers agree; `None` if they cannot be compared.
    async fn agree(
        &self,
        gateway: &Arc<Gateway>,
        one: &CachedAnswer,
        other: &CachedAnswer,
        format: Format,
    ) -> Option<bool> {
        let text = move |answer: &CachedAnswer| -> Option<String> {
            Some(conversion::text(answer, format)?.chars().take(COMPARED_CHARS).collect())
        };
        let (one, other) = (one.clone(), other.clone());
        let size = one.answer.size() + other.answer.size();
        let read = move || Some((text(&one)?, text(&other)?));
        let (one, other) = gateway.with_bytes(size, read).await.ok()??;
        if one.trim() == other.trim() {
            return Some(true);
        }
        let texts = EmbeddedTexts {
            texts: vec![one, other],
            most: None,
            limit: BACKGROUND_LIMIT,
            first: Arc::default(),
        };
        let vectors = embedding::embed(gateway, &self.cache, &self.caller, texts).await.ok()?;
        let [one, other] = &vectors[..] else { return None };
        Some(cosine(one, other) >= AGREEMENT)
    }
}

/// Whether a hit of this call is compared with a new answer. `draw` is the number that random choices of the call are made
/// from.
pub fn is_sampled(draw: u64, share: f64) -> bool {
    // Mixed, because other choices are made from the same number.
    let mixed = (draw ^ 0x5e3a_171c).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 11) as f64) < share * (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_share_is_sampled() {
        let sampled = |share| (0..10_000).filter(|draw| is_sampled(*draw, share)).count();
        assert_eq!((sampled(0.0), sampled(1.0)), (0, 10_000));
        assert!((50..200).contains(&sampled(0.01)), "{}", sampled(0.01));
    }
}
