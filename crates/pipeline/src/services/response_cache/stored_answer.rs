//! Facts about a cached answer, in the form in which they are stored.

use std::time::Duration;

use domain::money::Nanos;
use domain::usage::{Untold, Usage};
use serde::{Deserialize, Serialize};

use super::CachedAnswer;
use crate::services::recorded_answer::RecordedAnswer;

/// Facts about an answer besides its bytes and its owner.
#[derive(Serialize, Deserialize)]
pub struct StoredFacts {
    is_stream: bool,
    includes_usage: bool,
    response_id: Option<String>,
    usage: Option<Usage>,
    cost: Option<Nanos>,
}

impl StoredFacts {
    pub fn of(cached: &CachedAnswer) -> Self {
        // Which sides were not reported is not stored, only that the usage is an estimate.
        let usage = cached.usage.clone().map(|usage| {
            let estimated = usage.estimated || usage.untold != Untold::default();
            Usage { estimated, ..usage }
        });
        Self {
            is_stream: cached.is_stream,
            includes_usage: cached.includes_usage,
            response_id: cached.response_id.clone(),
            usage,
            cost: cached.cost,
        }
    }

    /// The answer with these facts.
    pub fn cached(
        self,
        answer: RecordedAnswer,
        tenant: Option<String>,
        user_path: String,
        expires_at: Duration,
    ) -> CachedAnswer {
        let Self { is_stream, includes_usage, response_id, usage, cost } = self;
        CachedAnswer {
            answer,
            is_stream,
            includes_usage,
            response_id,
            usage,
            cost,
            tenant,
            user_path,
            expires_at,
        }
    }
}
