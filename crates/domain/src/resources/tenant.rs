//! Tenants: customers or departments that share one gateway.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Resource;
use crate::fault::{self, Fault};

/// The most bytes of metadata.
const MOST_METADATA: usize = 16 << 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// The slug; keys and users name it in `tenant_id`.
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub status: TenantStatus,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TenantStatus {
    #[default]
    Active,
    /// Its callers are refused.
    Suspended,
}

impl TenantStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
        }
    }
}

impl Resource for Tenant {
    const KIND: &'static str = "tenant";

    #[expect(clippy::misnamed_getters, reason = "documents are stored by id; the member `name` is a title")]
    fn name(&self) -> &str {
        &self.id
    }

    fn validate(&self) -> Result<(), Fault> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=63).contains(&self.id.len()) || !self.id.chars().all(fits) {
            let message = "The slug of a tenant has 1 to 63 lower-case letters, digits or '-'.";
            return Err(fault::invalid_parameter("slug", message));
        }
        if self.name.chars().count() > 200 {
            return Err(fault::invalid_parameter("name", "'name' has at most 200 characters."));
        }
        let size = serde_json::to_string(&self.metadata).map_or(usize::MAX, |text| text.len());
        if size > MOST_METADATA {
            let message = format!("'metadata' has at most {MOST_METADATA} bytes.");
            return Err(fault::invalid_parameter("metadata", message));
        }
        Ok(())
    }
}
