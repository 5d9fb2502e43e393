//! Load balancing strategies for pools and combos.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// In the configured order.
    PrimaryFallback,
    /// In rotation.
    RoundRobin,
    /// At random, in proportion to the weights.
    Weighted,
    /// At random.
    Random,
    /// The target with the fewest calls in flight.
    LeastLoaded,
    /// The fastest target, with occasional probes of the others.
    Latency,
    /// The cheapest target by effective price; among those, the fastest.
    Cost,
    /// The best score, combined from errors, latency, load and weight.
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
