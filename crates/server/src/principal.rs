//! Who is calling, as part of a handler's signature: a route that names no principal does not reach its handler's data.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::caller::Caller;
use domain::capability::{Capabilities, Capability};
use domain::fault::{self as faults, Fault};
use domain::scope::{Action, Area, Scope};
use http::request::Parts;
use pipeline::authenticate;
use pipeline::snapshot::Snapshot;

use crate::App;
use crate::fault::Problem;
use crate::known_query;

/// What a route needs of its caller.
pub trait Needs: Send + Sync + 'static {
    const SCOPE: Scope;
    const CAPABILITY: Option<Capability> = None;
    /// Refused to callers that are confined to a user path: it concerns the whole installation.
    const GLOBAL: bool = false;
}

/// An authenticated caller that holds what `N` asks for, and the snapshot it was judged by.
pub struct Principal<N: Needs> {
    pub caller: Caller,
    pub snapshot: Arc<Snapshot>,
    needs: PhantomData<N>,
}

impl<N: Needs> FromRequestParts<Arc<App>> for Principal<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let snapshot = app.gateway.snapshot();
        let token = authenticate::credential(&parts.headers, parts.uri.query())
            .ok_or_else(|| authenticate::missing_credential(&parts.headers))?;
        let now = app.gateway.clock.now();
        let caller = authenticate::identify(&snapshot, token, now).map_err(|reason| {
            tracing::debug!(reason, "credential refused");
            faults::invalid_api_key()
        })?;
        app.gateway.key_uses.note(&caller, now);
        caller.require(N::SCOPE)?;
        // The gate answers after authentication: who may not come in learns nothing about the edition.
        gate(N::CAPABILITY, &app.gateway.capabilities)?;
        if N::GLOBAL {
            caller.require_no_subtree()?;
        }
        known_query::check(parts)?;
        Ok(Self { caller, snapshot, needs: PhantomData })
    }
}

fn gate(needed: Option<Capability>, capabilities: &Capabilities) -> Result<(), Fault> {
    match needed {
        Some(capability) if !capabilities.has(capability) => {
            Err(faults::edition_restricted(capability.as_str()))
        }
        _ => Ok(()),
    }
}

pub struct Inference;

impl Needs for Inference {
    const SCOPE: Scope = Scope::Inference;
}

/// Any area: for what shows the whole installation.
pub struct Everything;

impl Needs for Everything {
    const SCOPE: Scope = Scope::Admin(None, Action::Read);
}

/// An area of the admin API, as a type.
pub trait InArea: Send + Sync + 'static {
    const AREA: Area;
    const CAPABILITY: Option<Capability> = None;
    /// Actions refused to callers confined to a user path. An area without a default, so that a new one has to decide.
    const GLOBAL: Global;
}

/// Which actions of an area concern the whole installation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Global {
    /// Objects have a user path; handlers show and change those of the caller's subtree only.
    Nothing,
    /// Everybody may read the documents (secrets are never shown); only callers of the whole tree change them.
    Writes,
    /// No part of it belongs to a subtree.
    Everything,
}

pub struct Read<A>(PhantomData<A>);
pub struct Write<A>(PhantomData<A>);

impl<A: InArea> Needs for Read<A> {
    const SCOPE: Scope = Scope::Admin(Some(A::AREA), Action::Read);
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const GLOBAL: bool = matches!(A::GLOBAL, Global::Everything);
}

impl<A: InArea> Needs for Write<A> {
    const SCOPE: Scope = Scope::Admin(Some(A::AREA), Action::Write);
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const GLOBAL: bool = !matches!(A::GLOBAL, Global::Nothing);
}

macro_rules! areas {
    ($($global:ident: $($name:ident),*;)*) => {
        $($(pub struct $name;
        impl InArea for $name {
            const AREA: Area = Area::$name;
            const GLOBAL: Global = Global::$global;
        })*)*
    };
}

areas!(
    Nothing: Audit, AuthKeys, Console, Explain, Usage;
    Writes: Aliases, Combos, ModelOverrides, ModelPricing, Models, Pools, Providers;
    Everything: Changes, Metrics;
);

/// Behind a capability.
pub struct Budgets;

impl InArea for Budgets {
    const AREA: Area = Area::Budgets;
    const CAPABILITY: Option<Capability> = Some(Capability::AdvancedBudgets);
    const GLOBAL: Global = Global::Nothing;
}

#[cfg(test)]
mod tests {
    use domain::capability::Edition;

    use super::*;

    struct Gated;
    impl InArea for Gated {
        const AREA: Area = Area::Usage;
        const CAPABILITY: Option<Capability> = Some(Capability::AdvancedBudgets);
        const GLOBAL: Global = Global::Nothing;
    }

    #[test]
    fn a_gated_area_opens_by_edition_or_by_name() {
        let needed = <Read<Gated> as Needs>::CAPABILITY;
        let fault = gate(needed, &Capabilities::default()).unwrap_err();
        assert_eq!((fault.status, &*fault.code), (403, "edition_restricted"));
        assert_eq!(fault.details, [("capability", "advancedBudgets".to_owned())]);
        let enterprise = Capabilities { edition: Edition::Enterprise, single: vec![] };
        assert!(gate(needed, &enterprise).is_ok());
        let named = Capabilities { edition: Edition::Oss, single: vec![Capability::AdvancedBudgets] };
        assert!(gate(needed, &named).is_ok());
        assert!(gate(<Write<Usage> as Needs>::CAPABILITY, &Capabilities::default()).is_ok());
    }
}
