//! The reservation of a call: its charge if the outcome never becomes known.

use domain::money::Cost;
use domain::usage::Usage;

use crate::rate_limit::TokenDemand;
use crate::routing::routes::Deployment;

/// The charge for a call whose outcome never becomes known.
#[derive(Clone, Debug, Default)]
pub struct Reservation {
    pub usage: Usage,
    pub cost: Option<Cost>,
    /// The most output tokens that the call allows at any target; none if the request does not limit them.
    pub bound: Option<u64>,
}

impl Reservation {
    /// The tokens that the call reserves against the rate limits of its key.
    pub fn token_demand(&self, deployment: &Deployment) -> TokenDemand {
        let (model, prompt) = (deployment.target.model.clone(), self.usage.tokens.input);
        TokenDemand { model, prompt, max_output: self.bound }
    }
}
