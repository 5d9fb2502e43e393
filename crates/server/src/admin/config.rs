//! `/admin/api/v1/config`: the whole configuration as documents, for files in version control: export, plan, apply.

pub mod apply;
mod current;
mod document;
pub mod export;
mod file_resources;
mod key_document;
mod kind;
pub mod plan;
mod planned_change;
mod schema;
mod secret_references;

use domain::capability::Capability;
use domain::fault::{self, Fault};
use domain::principal::Principal;

use crate::App;
pub use file_resources::FileResources;
pub use schema::schema;

/// Rejects callers of a tenant, if the edition supports tenants: the configuration is that of all of them.
fn require_no_tenant(app: &App, principal: &Principal) -> Result<(), Fault> {
    match principal.tenant().filter(|_| app.gateway.capabilities.has(Capability::Identity)) {
        Some(tenant) => {
            let message = format!(
                "This key is of the tenant '{tenant}', and the configuration is that of all tenants: use a key without a tenant."
            );
            Err(Fault { param: None, ..fault::key_limit_denied("", message) })
        }
        None => Ok(()),
    }
}
