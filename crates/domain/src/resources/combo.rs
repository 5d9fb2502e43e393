//! A combo: a model of the operator's own making, served by the first of several selectors that can.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alias::Alias;
use super::{Resource, pools_named, selectable_name, selector_fits, weights_fit};
use crate::fault::{self, Fault};
use crate::strategy::Strategy;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combo {
    /// What requests name; also its id.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// In order.
    pub selectors: Vec<String>,
    #[serde(default = "primary_fallback")]
    pub strategy: Strategy,
    /// By selector; 1 where none is named.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
}

fn primary_fallback() -> Strategy {
    Strategy::PrimaryFallback
}

impl Resource for Combo {
    const KIND: &'static str = "combo";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        selectable_name(&self.name, "combo", true)?;
        if !(2..=20).contains(&self.selectors.len()) {
            return Err(fault::invalid_parameter("selectors", "A combo has 2 to 20 selectors."));
        }
        let mut seen = std::collections::HashSet::new();
        for (index, selector) in self.selectors.iter().enumerate() {
            selector_fits(&format!("selectors[{index}]"), selector)?;
            if !seen.insert(selector.as_str()) {
                return Err(fault::invalid_parameter(
                    format!("selectors[{index}]"),
                    format!("'{selector}' is named twice."),
                ));
            }
        }
        weights_fit(&self.weights, &self.selectors)
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        let aliases = self.selectors.iter().map(|selector| (Alias::KIND, selector.clone()));
        self.selectors.iter().flat_map(|selector| pools_named(selector)).chain(aliases).collect()
    }
}
