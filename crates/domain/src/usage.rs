//! Usage of a call in disjoint token buckets; each API format derives its own totals from them.

use serde::{Deserialize, Serialize};

use crate::money::Nanos;

/// Token counts in disjoint buckets: each token is counted in exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Text input that was neither read from nor written to a prompt cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub audio_input: u64,
    /// Output that is neither reasoning nor audio.
    pub output: u64,
    pub reasoning: u64,
    pub audio_output: u64,
}

impl Tokens {
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    pub fn total_input(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write())
            .saturating_add(self.audio_input)
    }

    pub fn total_output(&self) -> u64 {
        self.output.saturating_add(self.reasoning).saturating_add(self.audio_output)
    }

    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.total_output())
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        let pairs = [
            (&mut self.input, other.input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write_5m, other.cache_write_5m),
            (&mut self.cache_write_1h, other.cache_write_1h),
            (&mut self.audio_input, other.audio_input),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
            (&mut self.audio_output, other.audio_output),
        ];
        for (bucket, more) in pairs {
            *bucket = bucket.saturating_add(more);
        }
    }
}

/// The sides of a call whose usage the provider did not report, or not plausibly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    pub input: bool,
    pub output: bool,
}

/// The usage of one call, and its reliability.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub tokens: Tokens,
    /// Generated images.
    #[serde(skip_serializing_if = "is_zero")]
    pub images: u64,
    /// True if the provider reported no final usage and the gateway estimated it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The sides that the provider did not report and the gateway has to count.
    #[serde(skip)]
    pub untold: Untold,
    /// The cost reported by the provider; takes precedence over the price list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_cost: Option<Nanos>,
    /// The reason why the figures may be unreliable, e.g. a negative count that was clamped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Fills in the sides that the provider did not report. `input` is called only if the input side is missing.
    pub fn fill(&mut self, input: impl FnOnce() -> u64, output: u64) {
        let untold = std::mem::take(&mut self.untold);
        if untold.output && output > 0 {
            self.tokens.output = self.tokens.output.saturating_add(output);
            self.estimated = true;
        }
        if untold.input {
            self.tokens.input = self.tokens.input.saturating_add(input());
            self.estimated = true;
        }
    }
}
