//! Access to targets: the key's lists, its pool, and model overrides, checked against resolved targets.

use domain::access::Verdict;
use domain::fault::{self, Fault, FaultCode};
use domain::principal::Principal;
use domain::user_path::UserPath;

use crate::policy::Policy;
use crate::routing::routes::{Deployment, Routes};

/// The inputs that decide whether a caller may use a target.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub routes: &'a Routes,
    pub principal: &'a Principal,
    pub user_path: &'a UserPath,
    /// Whether models without an override are enabled.
    pub enabled_by_default: bool,
    /// Models without a price may not be used.
    pub unpriced_denied: bool,
    /// The call uses the name of an alias, combo or pool that the key's `allowed_models` contains.
    pub by_name: bool,
}

/// The reason a target may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Override,
    Provider,
    Model,
    /// The model has no price, and `unpriced_denied` is set.
    Unpriced,
}

impl Refusal {
    pub fn code(self) -> FaultCode {
        match self {
            Self::Override | Self::Unpriced => FaultCode::ModelAccessDenied,
            Self::Provider => FaultCode::KeyProviderAccessDenied,
            Self::Model => FaultCode::KeyModelAccessDenied,
        }
    }

    /// The fault of this refusal, about the name that the caller sent.
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
    pub fn new(
        policy: &Policy,
        routes: &'a Routes,
        principal: &'a Principal,
        user_path: &'a UserPath,
    ) -> Self {
        Self {
            routes,
            principal,
            user_path,
            enabled_by_default: policy.models_enabled_by_default,
            unpriced_denied: policy.unpriced_denied,
            by_name: false,
        }
    }

    /// The access for a call of this model. An alias, combo or pool may be allowed by its own name.
    pub fn called(self, model: &str) -> Self {
        let key = self.principal.key();
        let allowed = key.and_then(|key| key.lists.allowed_models.as_deref()).unwrap_or_default();
        let by_name = !allowed.is_empty() && self.routes.names.is_listed(model, allowed);
        Self { by_name, ..self }
    }

    /// Checks whether the caller may use a target. The price is checked last, so that callers learn about missing
    /// prices only for models they may use.
    pub fn judge(&self, deployment: &Deployment) -> Result<(), Refusal> {
        self.admits(deployment)?;
        if self.unpriced_denied && deployment.price().is_none() { Err(Refusal::Unpriced) } else { Ok(()) }
    }

    fn admits(&self, deployment: &Deployment) -> Result<(), Refusal> {
        if !deployment.permits(self.user_path, self.enabled_by_default) {
            return Err(Refusal::Override);
        }
        let Some(key) = self.principal.key() else { return Ok(()) };
        if let Some(name) = &key.provider_pool {
            let pool = self.routes.names.pools.get(&**name);
            let member = |name: &String| **name == *deployment.target.instance;
            if !pool.is_some_and(|pool| pool.document.members.iter().any(member)) {
                return Err(Refusal::Provider);
            }
        }
        match deployment.judge(&key.lists, self.by_name) {
            Verdict::Allowed => Ok(()),
            Verdict::ProviderDenied => Err(Refusal::Provider),
            Verdict::ModelDenied => Err(Refusal::Model),
        }
    }

    pub fn permits(&self, deployment: &Deployment) -> bool {
        self.judge(deployment).is_ok()
    }
}
