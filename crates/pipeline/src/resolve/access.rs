//! Who may use a target: the key's lists, its pool, and the overrides of a model. Judged on what was resolved.

use domain::access::Verdict;
use domain::caller::Caller;
use domain::fault::{self, Fault};
use domain::user_path::UserPath;

use crate::snapshot::Snapshot;
use crate::snapshot::routes::Lane;

/// Everything that says whether a caller may use a target.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub snapshot: &'a Snapshot,
    pub caller: &'a Caller,
    pub user_path: &'a UserPath,
    /// Models without an override of their own.
    pub enabled_by_default: bool,
}

impl Access<'_> {
    pub fn judge(&self, lane: &Lane) -> Result<(), Fault> {
        let target = &lane.target;
        if !lane.permits(self.user_path, self.enabled_by_default) {
            return Err(fault::model_access_denied(&target.selector()));
        }
        let Some(key) = self.caller.key() else { return Ok(()) };
        if let Some(name) = &key.provider_pool {
            let pool = self.snapshot.routes.names.pools.get(&**name);
            let member = |name: &String| **name == *target.instance;
            if !pool.is_some_and(|pool| pool.document.members.iter().any(member)) {
                return Err(fault::key_provider_access_denied(&target.instance));
            }
        }
        match lane.judge(&key.lists) {
            Verdict::Allowed => Ok(()),
            Verdict::ProviderDenied => Err(fault::key_provider_access_denied(&target.instance)),
            Verdict::ModelDenied => Err(fault::key_model_access_denied(&target.selector())),
        }
    }

    pub fn permits(&self, lane: &Lane) -> bool {
        self.judge(lane).is_ok()
    }
}
