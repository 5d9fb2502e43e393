//! The layers of the response cache: answers to identical calls, and answers to similar ones.

use crate::gateway::Gateway;

/// The layers of the cache that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    pub exact: bool,
    pub semantic: bool,
}

impl Layers {
    pub fn as_str(self) -> &'static str {
        match (self.exact, self.semantic) {
            (true, true) => "both",
            (true, false) => "exact",
            (false, true) => "semantic",
            (false, false) => "none",
        }
    }

    /// The layers that are on for the gateway.
    pub fn of(gateway: &Gateway) -> Self {
        let policy = &gateway.policy.cache;
        Self { exact: policy.enabled, semantic: policy.semantic.enabled }
    }

    pub fn and(self, other: Self) -> Self {
        Self { exact: self.exact && other.exact, semantic: self.semantic && other.semantic }
    }
}
