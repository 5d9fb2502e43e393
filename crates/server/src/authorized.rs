//! The authenticated and authorized principal as an extractor: a handler declares the required access in its signature.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::capability::{Capabilities, Capability};
use domain::fault::{self as faults, Fault};
use domain::principal::Principal;
use domain::scope::{Action, Area, Scope};
use http::request::Parts;
use pipeline::call::authenticate::{self, Presented};
use pipeline::snapshot::Snapshot;

use crate::App;
use crate::fault::Problem;
use crate::known_query;

/// The access that a route requires.
pub trait Needs: Send + Sync + 'static {
    /// `None` if every authenticated caller may use the route.
    const SCOPE: Option<Scope>;
    const CAPABILITY: Option<Capability> = None;
    /// Whether the route concerns the whole installation and is refused to callers confined to a user path or a tenant.
    const GLOBAL: bool = false;
}

/// A principal with the access that `N` requires, and the snapshot it was checked against.
pub struct Authorized<N: Needs> {
    pub principal: Principal,
    pub snapshot: Arc<Snapshot>,
    needs: PhantomData<N>,
}

impl<N: Needs> FromRequestParts<Arc<App>> for Authorized<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (principal, snapshot) = authenticate(parts, app).await?;
        if let Some(scope) = N::SCOPE {
            principal.require(scope)?;
        }
        // Checked after authentication, so that unauthenticated callers learn nothing about the edition.
        gate(N::CAPABILITY, &app.gateway.capabilities)?;
        if N::GLOBAL {
            principal.require_no_subtree()?;
        }
        known_query::check(parts)?;
        Ok(Self { principal, snapshot, needs: PhantomData })
    }
}

/// Authenticates a request against the current snapshot.
pub async fn authenticate(parts: &Parts, app: &App) -> Result<(Principal, Arc<Snapshot>), Fault> {
    let (snapshot, at) = (app.gateway.snapshot(), app.gateway.clock.now());
    let presented = Presented {
        method: parts.method.as_str(),
        headers: &parts.headers,
        query: parts.uri.query(),
        at,
        request_id: None,
    };
    let principal = match authenticate::authenticate(&snapshot, presented) {
        Err(fault) if authenticate::learn_token_key(&app.gateway, presented, &fault).await => {
            authenticate::authenticate(&snapshot, presented)
        }
        authenticated => authenticated,
    }?;
    app.gateway.key_uses.note(&principal, at);
    Ok((principal, snapshot))
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
    const SCOPE: Option<Scope> = Some(Scope::Inference);
}

/// Any valid credential, for routes that concern the caller itself.
pub struct AnyCaller;

impl Needs for AnyCaller {
    const SCOPE: Option<Scope> = None;
}

/// Read access to all areas of the admin API, for routes that show the whole installation.
pub struct AllAreas;

impl Needs for AllAreas {
    const SCOPE: Option<Scope> = Some(Scope::Admin(None, Action::Read));
}

/// An area of the admin API, as a type.
pub trait InArea: Send + Sync + 'static {
    const AREA: Area;
    const CAPABILITY: Option<Capability> = None;
    /// The actions refused to callers confined to a user path or a tenant. Has no default, so that a new area has to decide.
    const GLOBAL: Global;
}

/// The actions of an area that concern the whole installation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Global {
    /// None: objects have a user path and a tenant, and handlers show and change those of the caller only.
    NoActions,
    /// Writes: every caller may read the documents (secrets are never shown) and the reports of its subtree, only
    /// callers with the whole tree change them.
    Writes,
    /// All actions: nothing in the area belongs to a subtree.
    AllActions,
}

pub struct Read<A>(PhantomData<A>);
pub struct Write<A>(PhantomData<A>);

impl<A: InArea> Needs for Read<A> {
    const SCOPE: Option<Scope> = Some(Scope::Admin(Some(A::AREA), Action::Read));
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const GLOBAL: bool = matches!(A::GLOBAL, Global::AllActions);
}

impl<A: InArea> Needs for Write<A> {
    const SCOPE: Option<Scope> = Some(Scope::Admin(Some(A::AREA), Action::Write));
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const GLOBAL: bool = !matches!(A::GLOBAL, Global::NoActions);
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
    NoActions: Audit, AuthKeys, Cache, Console, Dashboard, Explain, Usage;
    Writes: Aliases, CliTools, Combos, Guardrails, ModelOverrides, ModelPricing, Models, Pools, Providers,
        Settings, Workflows;
    AllActions: Changes, Config, Metrics, Runtime, Tokens, Webhooks;
);

/// The budgets area, which needs a capability of the edition.
pub struct Budgets;

impl InArea for Budgets {
    const AREA: Area = Area::Budgets;
    const CAPABILITY: Option<Capability> = Some(Capability::AdvancedBudgets);
    const GLOBAL: Global = Global::NoActions;
}

/// The identity area: users and roles of the whole installation.
pub struct Identity;

impl InArea for Identity {
    const AREA: Area = Area::Identity;
    const CAPABILITY: Option<Capability> = Some(Capability::Identity);
    const GLOBAL: Global = Global::AllActions;
}

/// The tenants area: tenants of the whole installation.
pub struct Tenants;

impl InArea for Tenants {
    const AREA: Area = Area::Tenants;
    const CAPABILITY: Option<Capability> = Some(Capability::Identity);
    const GLOBAL: Global = Global::AllActions;
}

/// The caller of a route that is open to everybody. A credential that a client sent must be valid; a session cookie that is
/// not, e.g. because the session has ended, counts as none: a browser sends it until somebody signs in again.
pub struct OptionalCaller(pub Option<Principal>);

impl FromRequestParts<Arc<App>> for OptionalCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        known_query::check(parts)?;
        let is_sent = parts.headers.contains_key(http::header::AUTHORIZATION)
            || authenticate::credential(&parts.headers, parts.uri.query()).is_some();
        match authenticate(parts, app).await {
            Ok((principal, _)) => Ok(Self(Some(principal))),
            Err(fault) if is_sent => Err(fault.into()),
            Err(_) => Ok(Self(None)),
        }
    }
}

/// Admits everybody to login routes if the edition has the capability identity. Without it, only an authenticated caller
/// learns that it is missing.
pub struct LoginAllowed;

impl FromRequestParts<Arc<App>> for LoginAllowed {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        admit_login(parts, app).await?;
        known_query::check(parts)?;
        Ok(Self)
    }
}

/// Like `LoginAllowed`, with any query: providers add parameters of their own.
pub struct CallbackAllowed;

impl FromRequestParts<Arc<App>> for CallbackAllowed {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        admit_login(parts, app).await?;
        Ok(Self)
    }
}

async fn admit_login(parts: &Parts, app: &App) -> Result<(), Fault> {
    if !app.gateway.capabilities.has(Capability::Identity) {
        authenticate(parts, app).await?;
        gate(Some(Capability::Identity), &app.gateway.capabilities)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::capability::Edition;

    use super::*;

    struct Gated;
    impl InArea for Gated {
        const AREA: Area = Area::Usage;
        const CAPABILITY: Option<Capability> = Some(Capability::AdvancedBudgets);
        const GLOBAL: Global = Global::NoActions;
    }

    #[test]
    fn a_gated_area_opens_by_edition_or_by_name() {
        let needed = <Read<Gated> as Needs>::CAPABILITY;
        let fault = gate(needed, &Capabilities::default()).unwrap_err();
        assert_eq!((fault.status, fault.code.as_str()), (403, "edition_restricted"));
        assert_eq!(fault.detail.as_deref(), Some(&("capability", "advancedBudgets".to_owned())));
        let enterprise = Capabilities { edition: Edition::Enterprise, single: vec![] };
        assert!(gate(needed, &enterprise).is_ok());
        let named = Capabilities { edition: Edition::Oss, single: vec![Capability::AdvancedBudgets] };
        assert!(gate(needed, &named).is_ok());
        assert!(gate(<Write<Usage> as Needs>::CAPABILITY, &Capabilities::default()).is_ok());
    }
}
