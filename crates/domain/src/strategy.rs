//! How one of several targets is chosen: what pools and combos can be set to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// In the order they are named.
    PrimaryFallback,
    /// Each in its turn.
    RoundRobin,
    /// By lot, in proportion to the weights.
    Weighted,
    /// By lot.
    Random,
    /// Who has the fewest calls under way.
    LeastLoaded,
    /// Who answers fastest, with a try at the others now and then.
    Latency,
    /// Who is cheapest by effective price; of those, who answers fastest.
    Cost,
    /// Errors, latency, load and weight in one score.
    Adaptive,
}

impl Strategy {
    pub const ALL: [Self; 8] = [
        Self::PrimaryFallback,
        Self::RoundRobin,
        Self::Weighted,
        Self::Random,
        Self::LeastLoaded,
        Self::Latency,
        Self::Cost,
        Self::Adaptive,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrimaryFallback => "primary_fallback",
            Self::RoundRobin => "round_robin",
            Self::Weighted => "weighted",
            Self::Random => "random",
            Self::LeastLoaded => "least_loaded",
            Self::Latency => "latency",
            Self::Cost => "cost",
            Self::Adaptive => "adaptive",
        }
    }
}
