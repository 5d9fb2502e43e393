//! Roles: named lists of permissions that users have.

use serde::{Deserialize, Serialize};

use super::Resource;
use crate::fault::{self, Fault};
use crate::permission::{self, Permission};

const MOST_PERMISSIONS: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub permissions: Vec<Permission>,
}

impl Resource for Role {
    const KIND: &'static str = "role";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        if permission::system_role(&self.name).is_some() {
            return Err(fault::conflict(format!(
                "The role '{}' is built in and cannot be changed.",
                self.name
            )));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.len() > 100 || !self.name.chars().all(fits) {
            let message = "The name of a role has 1 to 100 letters, digits, '-', '_' or '.'.";
            return Err(fault::invalid_parameter("name", message));
        }
        if self.permissions.len() > MOST_PERMISSIONS {
            let message = format!("A role has at most {MOST_PERMISSIONS} permissions.");
            return Err(fault::invalid_parameter("permissions", message));
        }
        Ok(())
    }
}
