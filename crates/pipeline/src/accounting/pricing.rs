//! The price of the usage of a call.

use domain::money::{Cost, Nanos};
use domain::receipt::CostSource;
use domain::usage::Usage;

use crate::routing::routes::Deployment;

/// The cost of this usage at a deployment, and its origin. A cost that the provider reported takes precedence;
/// a call with the client's own credential costs nothing.
pub fn price_usage(deployment: Option<&Deployment>, usage: &Usage) -> (Option<Cost>, CostSource) {
    if deployment.is_some_and(|deployment| deployment.client_credential.is_some()) {
        return (Some(Cost::default()), CostSource::Client);
    }
    let priced = deployment.and_then(|deployment| deployment.charge(usage));
    match (usage.reported_cost, priced) {
        (Some(total), _) => (Some(Cost { input: Nanos::ZERO, output: total }), CostSource::ProviderReported),
        (None, Some(cost)) => (Some(cost), CostSource::ModelPricing),
        (None, None) => (None, CostSource::None),
    }
}
