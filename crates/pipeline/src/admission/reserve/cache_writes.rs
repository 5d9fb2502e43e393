//! The effect of the gateway's own cache breakpoints on the rates that a call can incur.

use catalog::Incurs;
use domain::call::{Format, Surface};

use crate::call::receive::Call;
use crate::policy::PromptCacheMode;
use crate::routing::routes::Deployment;

/// The cache writes that a target can bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheWrites {
    /// Those that the request asks for.
    AsRequested,
    /// In addition, those at breakpoints that the gateway adds. A provider writes no prompt that has fewer tokens than
    /// this.
    Added { min_tokens: u64 },
    /// None: the breakpoints of the request are removed.
    Removed,
}

impl CacheWrites {
    pub fn at(deployment: &Deployment, call: &Call, prompt_cache: PromptCacheMode) -> Self {
        let (vendor, model) = (deployment.instance.vendor, &*deployment.target.model);
        let Surface::Converse(client) = call.surface else { return Self::AsRequested };
        if vendor.format_for(client, model) != Some(Format::Messages) {
            return Self::AsRequested;
        }
        match prompt_cache {
            PromptCacheMode::Manual => Self::AsRequested,
            PromptCacheMode::Off => Self::Removed,
            PromptCacheMode::Auto => match (vendor.rules)(model).min_cached_prefix {
                Some(min_tokens) => Self::Added { min_tokens },
                None => Self::AsRequested,
            },
        }
    }

    /// The rates that a call can incur, given those that its request can, and the most tokens of its input. Breakpoints
    /// that are added have the lifetime of five minutes.
    pub fn incurred(self, requested: Incurs, input: u64) -> Incurs {
        match self {
            Self::AsRequested => requested,
            Self::Added { min_tokens } => {
                Incurs { cache_write: requested.cache_write || input >= min_tokens, ..requested }
            }
            Self::Removed => Incurs { cache_write: false, cache_write_1h: false, ..requested },
        }
    }
}
