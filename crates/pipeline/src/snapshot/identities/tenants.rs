//! The tenants that exist, and those that are suspended.

use std::collections::BTreeMap;

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::tenant::{Tenant, TenantStatus};

#[derive(Default)]
pub struct Tenants(BTreeMap<String, TenantStatus>);

impl Tenants {
    pub fn new(tenants: impl Iterator<Item = Tenant>) -> Self {
        Self(tenants.map(|tenant| (tenant.id, tenant.status)).collect())
    }

    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Refuses the callers of a suspended tenant.
    pub fn admit(&self, principal: &Principal) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Ok(());
        }
        let Some(tenant) = principal.tenant() else { return Ok(()) };
        match self.0.get(&**tenant) {
            Some(TenantStatus::Suspended) => Err(fault::tenant_suspended(tenant)),
            _ => Ok(()),
        }
    }
}
