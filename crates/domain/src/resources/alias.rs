//! Aliases: alternative names for selectors.

use serde::{Deserialize, Serialize};

use super::combo::Combo;
use super::{Resource, places_named, selectable_name, selector_fits};
use crate::fault::{self, Fault};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alias {
    /// May contain slashes.
    pub name: String,
    pub target: String,
    #[serde(default)]
    pub description: String,
}

impl Resource for Alias {
    const KIND: &'static str = "alias";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        selectable_name(&self.name, "alias", true)?;
        selector_fits("target", &self.target)?;
        if self.target == self.name {
            return Err(fault::invalid_parameter("target", "An alias cannot lead to itself."));
        }
        Ok(())
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        let combo = (Combo::KIND, self.target.clone());
        places_named(&self.target).chain([combo]).collect()
    }
}
