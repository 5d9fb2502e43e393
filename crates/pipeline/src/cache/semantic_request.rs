//! The eligibility of a call for the semantic cache.

use std::ops::Range;
use std::time::Duration;

use semantic_cache::eligibility::check_eligible;
use wire::last_user_text::{self, LastUserText};

use super::headers::SimilarityBounds;
use crate::call::cache_use::MissReason;
use crate::call::context::CallContext;
use crate::call::receive::Call;

/// Longer texts have more word pieces than are compared, whatever their words.
const LONGEST_TEXT: usize = 4096;

/// The part of a call that is compared with earlier ones.
#[derive(Clone, Debug)]
pub struct SemanticRequest {
    /// The text of the last turn.
    pub text: String,
    /// Its place in the body.
    pub value: Range<usize>,
    pub bounds: SimilarityBounds,
    /// The lifetime of the answer.
    pub ttl: Duration,
}

/// The part of a call that is compared. The error is the reason why there is none; `None` if calls of this kind are never
/// compared. The word pieces of the text are counted later, on another thread.
pub fn find(
    call: &Call,
    context: &CallContext,
    bounds: SimilarityBounds,
    asked_ttl: Option<Duration>,
) -> Result<SemanticRequest, Option<MissReason>> {
    let cache = context.gateway().semantic_cache.as_ref().ok_or(None)?;
    // A large body would have to be read on another thread, and is hardly ever asked again.
    if call.is_large() {
        return Err(None);
    }
    let LastUserText { text, value } = last_user_text::find(call.surface, &call.request).ok_or(None)?;
    if text.len() > LONGEST_TEXT {
        return Err(Some(MissReason::TooLong));
    }
    check_eligible(&text, 0, false).map_err(|_| None)?;
    if cache.embedder.requirement().is_some() {
        return Err(Some(MissReason::EmbedderFailed));
    }
    let ttl = asked_ttl.unwrap_or(context.policy().semantic_ttl);
    Ok(SemanticRequest { text, value, bounds, ttl })
}
