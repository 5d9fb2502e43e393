//! Provider pools: interchangeable provider instances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Resource, provider::Provider, selectable_name, weights_fit};
use crate::fault::{self, Fault};
use crate::strategy::Strategy;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Names of provider instances.
    pub members: Vec<String>,
    #[serde(default = "round_robin")]
    pub strategy: Strategy,
    /// Weights by member; 1 for members without one.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
    /// Skips unhealthy members while healthy ones are available.
    #[serde(default = "yes")]
    pub health_aware: bool,
}

fn round_robin() -> Strategy {
    Strategy::RoundRobin
}

fn yes() -> bool {
    true
}

impl Resource for Pool {
    const KIND: &'static str = "pool";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        selectable_name(&self.name, "pool", false)?;
        if self.members.is_empty() || self.members.len() > 100 {
            return Err(fault::invalid_parameter("members", "A pool has 1 to 100 members."));
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = self.members.iter().find(|member| !seen.insert(member.as_str())) {
            return Err(fault::invalid_parameter("members", format!("'{twice}' is named twice.")));
        }
        weights_fit(&self.weights, &self.members)
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        self.members.iter().map(|member| (Provider::KIND, member.clone())).collect()
    }
}
