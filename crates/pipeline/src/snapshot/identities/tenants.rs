//! The tenants that exist, and those that are suspended.

use std::collections::BTreeMap;

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::tenant::{Tenant, TenantStatus};

/// `None` if the edition has no tenants: the tenant of a caller is then a mere label.
#[derive(Default)]
pub struct Tenants(Option<BTreeMap<String, TenantStatus>>);

impl Tenants {
    pub fn new(tenants: impl Iterator<Item = Tenant>) -> Self {
        Self(Some(tenants.map(|tenant| (tenant.id, tenant.status)).collect()))
    }

    pub fn has(&self, id: &str) -> bool {
        self.0.as_ref().is_some_and(|tenants| tenants.contains_key(id))
    }

    /// Refuses the callers of a tenant that is suspended or does not exist.
    pub fn admit(&self, principal: &Principal) -> Result<(), Fault> {
        let (Some(tenants), Some(tenant)) = (&self.0, principal.tenant()) else { return Ok(()) };
        match tenants.get(&**tenant) {
            Some(TenantStatus::Active) => Ok(()),
            Some(TenantStatus::Suspended) => Err(fault::tenant_suspended(tenant)),
            None => {
                let message = format!("There is no tenant '{tenant}'. Ask an administrator to create it.");
                Err(fault::tenant_suspended(tenant).with_message(message))
            }
        }
    }
}
