//! The reason for the position of a target.

use std::borrow::Cow;
use std::fmt;

use crate::routing::health::Availability;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    Only,
    Named(usize),
    ItsTurn,
    NextInRound,
    DrawnByWeight(f64),
    NoWeight,
    DrawnByLot,
    UnderWay(u32),
    Untried,
    Unmeasured,
    Latency(f64),
    Explored,
    WarmCache,
    Cost(f64),
    Unpriced,
    Score { score: f64, errors: f64, latency: Option<f64>, under_way: u32 },
    Cooling,
    Open,
}

impl Reason {
    pub fn of_absence(availability: Availability) -> Option<Self> {
        match availability {
            Availability::Ready | Availability::Probe => None,
            Availability::Cooling { .. } => Some(Self::Cooling),
            Availability::Open { .. } => Some(Self::Open),
        }
    }

    /// The reason without figures, and without an allocation.
    pub fn in_short(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Only => "the only target",
            Self::Named(0) => "named first",
            Self::Named(_) => "in the order named",
            Self::ItsTurn => "its turn",
            Self::NextInRound => "next in the round",
            Self::DrawnByWeight(_) => "drawn by weight",
            Self::NoWeight => "weight 0, a last resort",
            Self::DrawnByLot => "drawn by random",
            Self::UnderWay(_) => "by calls under way",
            Self::Untried => "tried, for little is known of it",
            Self::Unmeasured => "no answer yet to measure",
            Self::Latency(_) => "by time to the first byte",
            Self::Explored => "tried by random, to see how it does now",
            Self::WarmCache => "its prompt cache has the conversation",
            Self::Cost(_) => "by cost at most",
            Self::Unpriced => "no price is known, so after the priced",
            Self::Score { .. } => "by score",
            Self::Cooling => "cooling down, tried last",
            Self::Open => "circuit breaker open, tried last",
        })
    }
}

/// The reason with figures.
impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Named(place) => write!(out, "named at place {}", place + 1),
            Self::DrawnByWeight(weight) => write!(out, "drawn by weight {weight}"),
            Self::UnderWay(1) => write!(out, "1 call under way"),
            Self::UnderWay(calls) => write!(out, "{calls} calls under way"),
            Self::Latency(millis) => write!(out, "{millis:.0} ms to the first byte"),
            Self::Cost(dollars) => write!(out, "at most ${dollars:.6}"),
            Self::Score { score, errors, latency, under_way } => {
                write!(out, "score {score:.2}: {:.0} % errors, ", errors * 100.0)?;
                match latency {
                    Some(millis) => write!(out, "{millis:.0} ms to the first byte, ")?,
                    None => write!(out, "latency unknown, ")?,
                }
                write!(out, "{under_way} under way")
            }
            _ => out.write_str(&self.in_short()),
        }
    }
}
