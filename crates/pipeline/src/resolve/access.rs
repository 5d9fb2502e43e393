//! Who may use a target: the key's lists, its pool, and the overrides of a model. Judged on what was resolved.

use domain::access::Verdict;
use domain::caller::Caller;
use domain::fault::{self, Fault};
use domain::user_path::UserPath;

use crate::gateway::Policy;
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
    /// Models without a price are not for use.
    pub unpriced_denied: bool,
    /// The call was made by the name of an alias, combo or pool that the key's `allowed_models` has.
    pub by_name: bool,
}

/// Why a target may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Override,
    Provider,
    Model,
    /// It has no price, and the operator wants one.
    Unpriced,
}

impl Refusal {
    pub fn code(self) -> &'static str {
        match self {
            Self::Override | Self::Unpriced => "model_access_denied",
            Self::Provider => "key_provider_access_denied",
            Self::Model => "key_model_access_denied",
        }
    }

    /// Told about the name the caller sent.
    pub fn of(self, name: &str) -> Fault {
        match self {
            Self::Override => fault::model_access_denied(name),
            Self::Provider => fault::key_provider_access_denied(name),
            Self::Model => fault::key_model_access_denied(name),
            Self::Unpriced => fault::model_unpriced(name),
        }
    }
}

impl<'a> Access<'a> {
    pub fn new(policy: &Policy, snapshot: &'a Snapshot, caller: &'a Caller, user_path: &'a UserPath) -> Self {
        Self {
            snapshot,
            caller,
            user_path,
            enabled_by_default: policy.models_enabled_by_default,
            unpriced_denied: policy.unpriced_denied,
            by_name: false,
        }
    }

    /// The same for a call of this model: a name that stands for others may be allowed by itself.
    pub fn called(self, model: &str) -> Self {
        let key = self.caller.key();
        let allowed = key.and_then(|key| key.lists.allowed_models.as_deref()).unwrap_or_default();
        let by_name = !allowed.is_empty() && self.snapshot.routes.names.is_listed(model, allowed);
        Self { by_name, ..self }
    }

    /// What a caller may not use anyway is not said to lack a price.
    pub fn judge(&self, lane: &Lane) -> Result<(), Refusal> {
        self.admits(lane)?;
        if self.unpriced_denied && lane.price().is_none() { Err(Refusal::Unpriced) } else { Ok(()) }
    }

    fn admits(&self, lane: &Lane) -> Result<(), Refusal> {
        if !lane.permits(self.user_path, self.enabled_by_default) {
            return Err(Refusal::Override);
        }
        let Some(key) = self.caller.key() else { return Ok(()) };
        if let Some(name) = &key.provider_pool {
            let pool = self.snapshot.routes.names.pools.get(&**name);
            let member = |name: &String| **name == *lane.target.instance;
            if !pool.is_some_and(|pool| pool.document.members.iter().any(member)) {
                return Err(Refusal::Provider);
            }
        }
        match lane.judge(&key.lists, self.by_name) {
            Verdict::Allowed => Ok(()),
            Verdict::ProviderDenied => Err(Refusal::Provider),
            Verdict::ModelDenied => Err(Refusal::Model),
        }
    }

    pub fn permits(&self, lane: &Lane) -> bool {
        self.judge(lane).is_ok()
    }
}
