//! Combos: models defined by the operator, served by the first available one of several selectors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alias::Alias;
use super::{Resource, places_named, selectable_name, selector_fits, weights_fit};
use crate::fault::{self, Fault};
use crate::strategy::Strategy;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combo {
    /// The name that requests use; also the id.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// In order of preference.
    pub selectors: Vec<String>,
    #[serde(default = "primary_fallback")]
    pub strategy: Strategy,
    /// Weights by selector; 1 for selectors without one.
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
        self.selectors.iter().flat_map(|selector| places_named(selector)).chain(aliases).collect()
    }
}
