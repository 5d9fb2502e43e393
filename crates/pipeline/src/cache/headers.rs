//! The request headers that control the response cache.

use std::time::Duration;

use domain::fault::{self, Fault};

use super::layers::Layers;
use crate::call::arrival::Arrival;
use crate::call::context::CallContext;

const TTL: &str = "X-Cache-TTL";
const TYPE: &str = "X-Cache-Type";
const THRESHOLD: &str = "X-Cache-Semantic-Threshold";
const PROMPT_SIMILARITY: &str = "X-Cache-Prompt-Similarity";
/// The longest lifetime that a client can ask for.
const MAX_TTL: u64 = 30 * 24 * 3600;

/// The `Cache-Control` header of a request.
pub struct CacheControl {
    pub no_cache: bool,
    pub no_store: bool,
}

impl CacheControl {
    pub fn of(arrival: &Arrival) -> Self {
        let values = arrival.headers.get_all(http::header::CACHE_CONTROL).iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let has = |name: &str| {
            let mut directives = texts.iter().flat_map(|text| text.split(','));
            directives.any(|directive| directive.trim().eq_ignore_ascii_case(name))
        };
        Self { no_cache: has("no-cache"), no_store: has("no-store") }
    }
}

/// The lifetime that the client asked for.
pub fn ttl(arrival: &Arrival) -> Result<Option<Duration>, Fault> {
    let Some(value) = arrival.headers.get(TTL) else { return Ok(None) };
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    match seconds.filter(|seconds| (1..=MAX_TTL).contains(seconds)) {
        Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
        None => {
            Err(fault::invalid_parameter(TTL, format!("'{TTL}' is a number of seconds from 1 to {MAX_TTL}.")))
        }
    }
}

/// The layers that the client accepts answers from.
pub fn layers(arrival: &Arrival) -> Result<Layers, Fault> {
    let (exact, semantic) =
        match arrival.headers.get(TYPE).map(|value| value.as_bytes().to_ascii_lowercase()).as_deref() {
            None | Some(b"both") => (true, true),
            Some(b"exact") => (true, false),
            Some(b"semantic") => (false, true),
            Some(_) => {
                return Err(fault::invalid_parameter(TYPE, format!("'{TYPE}' is exact, semantic or both.")));
            }
        };
    Ok(Layers { exact, semantic })
}

/// The lowest similarities of a call whose answer may be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarityBounds {
    pub threshold: f64,
    /// The lowest share of common words; 0 demands none.
    pub prompt_similarity: f64,
}

/// The bounds of the call: those that the client asked for, or those of its policy.
pub fn bounds(arrival: &Arrival, context: &CallContext) -> Result<SimilarityBounds, Fault> {
    let threshold =
        number(arrival, THRESHOLD, |number| number > 0.0 && number <= 1.0, "above 0 and up to 1")?;
    let similarity =
        number(arrival, PROMPT_SIMILARITY, |number| (0.0..=1.0).contains(&number), "from 0 to 1")?;
    Ok(SimilarityBounds {
        threshold: threshold.unwrap_or(context.policy().semantic_threshold),
        prompt_similarity: similarity.unwrap_or(context.gateway().policy.cache.semantic.prompt_similarity),
    })
}

fn number(
    arrival: &Arrival,
    name: &'static str,
    fits: impl Fn(f64) -> bool,
    range: &str,
) -> Result<Option<f64>, Fault> {
    let Some(value) = arrival.headers.get(name) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<f64>().ok());
    match number.filter(|number| fits(*number)) {
        Some(number) => Ok(Some(number)),
        None => Err(fault::invalid_parameter(name, format!("'{name}' is a number {range}."))),
    }
}
