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
use crate::openapi::tenant_parameter;
use crate::tenant_access::TenantAccess;

/// The access that a route requires.
pub trait Needs: Send + Sync + 'static {
    /// `None` if every authenticated caller may use the route.
    const SCOPE: Option<Scope>;
    const CAPABILITY: Option<Capability> = None;
    const REACH: Reach = Reach::Any;
}

/// The part of the installation that a caller must not be confined to less than.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Any part: handlers show and change what belongs to the caller.
    Any,
    /// A whole tenant: callers confined to a user path are refused.
    Tenant,
    /// The whole installation: callers confined to a user path or a tenant are refused.
    Installation,
}

/// A principal with the access that `N` requires, the snapshot it was checked against, and the tenant that the request is
/// about.
pub struct Authorized<N: Needs> {
    pub principal: Principal,
    /// The configuration as that tenant sees it.
    pub snapshot: Arc<Snapshot>,
    /// `None` for the documents of the default tenant, and for the calls and other objects of all tenants.
    pub tenant: Option<Arc<str>>,
    needs: PhantomData<N>,
}

impl<N: Needs> Authorized<N> {
    /// The documents that the request reads and writes.
    pub fn documents<'a>(&'a self, app: &'a App) -> TenantAccess<'a> {
        TenantAccess::new(app, self.tenant.as_deref())
    }

    /// The tenant whose calls and other objects the request is about; `None` for those of all tenants. In editions without
    /// tenants, callers with a `tenant_id` are still confined to it in reports.
    pub fn reported_tenant(&self) -> Option<&Arc<str>> {
        self.tenant.as_ref().or_else(|| self.principal.tenant())
    }

    /// Whether an object of this tenant, or of none, is among those that the request is about.
    pub fn reports(&self, tenant: Option<&str>) -> bool {
        self.reported_tenant().is_none_or(|reported| tenant == Some(&**reported))
    }
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
        let has_tenants = app.gateway.capabilities.has(Capability::Identity);
        match N::REACH {
            Reach::Any => {}
            Reach::Tenant if has_tenants => principal.require_no_user_path()?,
            Reach::Tenant | Reach::Installation => principal.require_no_subtree()?,
        }
        known_query::check(parts)?;
        let tenant = match has_tenants {
            true => chosen_tenant(known_query::value(parts, tenant_parameter::NAME), &principal, &snapshot)?,
            false => None,
        };
        let snapshot = snapshot.seen_by(tenant.as_deref());
        Ok(Self { principal, snapshot, tenant, needs: PhantomData })
    }
}

/// The tenant that a request is about: the one it names, else the caller's. Callers of a tenant name no other.
fn chosen_tenant(
    asked: Option<String>,
    principal: &Principal,
    snapshot: &Snapshot,
) -> Result<Option<Arc<str>>, Fault> {
    let own = principal.tenant();
    let Some(asked) = asked else { return Ok(own.cloned()) };
    match own {
        Some(own) if **own != *asked => Err(faults::other_tenant_denied(own)),
        _ if !snapshot.identities.tenants.has(&asked) => Err(faults::unknown_tenant(&asked)),
        _ => Ok(Some(asked.into())),
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
        credential_digest: None,
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
    /// The reach that reading and writing need. Has no default, so that a new area has to decide.
    const REACH: AreaReach;
}

/// The reach that the actions of an area need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AreaReach {
    /// Objects have a user path and a tenant, and handlers show and change those of the caller only.
    Objects,
    /// Documents of a tenant: every caller may read those that its tenant sees (secrets are never shown), only callers
    /// with the whole tree of the tenant change them.
    TenantDocuments,
    /// Objects of a tenant that have no user path: only callers with the whole tree of the tenant read and change them.
    TenantObjects,
    /// Documents of the installation: every caller may read them and the reports of its subtree, only callers with the
    /// whole installation change them.
    Documents,
    /// Nothing in the area belongs to a subtree or a tenant.
    Installation,
}

impl AreaReach {
    const fn of_reads(self) -> Reach {
        match self {
            Self::Objects | Self::TenantDocuments | Self::Documents => Reach::Any,
            Self::TenantObjects => Reach::Tenant,
            Self::Installation => Reach::Installation,
        }
    }

    const fn of_writes(self) -> Reach {
        match self {
            Self::Objects => Reach::Any,
            Self::TenantDocuments | Self::TenantObjects => Reach::Tenant,
            Self::Documents | Self::Installation => Reach::Installation,
        }
    }
}

pub struct Read<A>(PhantomData<A>);
pub struct Write<A>(PhantomData<A>);

impl<A: InArea> Needs for Read<A> {
    const SCOPE: Option<Scope> = Some(Scope::Admin(Some(A::AREA), Action::Read));
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const REACH: Reach = A::REACH.of_reads();
}

impl<A: InArea> Needs for Write<A> {
    const SCOPE: Option<Scope> = Some(Scope::Admin(Some(A::AREA), Action::Write));
    const CAPABILITY: Option<Capability> = A::CAPABILITY;
    const REACH: Reach = A::REACH.of_writes();
}

macro_rules! areas {
    ($($reach:ident: $($name:ident),*;)*) => {
        $($(pub struct $name;
        impl InArea for $name {
            const AREA: Area = Area::$name;
            const REACH: AreaReach = AreaReach::$reach;
        })*)*
    };
}

areas!(
    Objects: Audit, AuthKeys, Cache, Console, Dashboard, Explain, Usage;
    TenantDocuments: Aliases, Combos, Guardrails, ModelOverrides, ModelPricing, Pools, Providers, Workflows;
    Documents: CliTools, Models, Settings;
    TenantObjects: Changes;
    Installation: Config, Metrics, Runtime, Tokens, Webhooks;
);

/// The budgets area, which needs a capability of the edition.
pub struct Budgets;

impl InArea for Budgets {
    const AREA: Area = Area::Budgets;
    const CAPABILITY: Option<Capability> = Some(Capability::AdvancedBudgets);
    const REACH: AreaReach = AreaReach::Objects;
}

/// The identity area: users and roles of the whole installation.
pub struct Identity;

impl InArea for Identity {
    const AREA: Area = Area::Identity;
    const CAPABILITY: Option<Capability> = Some(Capability::Identity);
    const REACH: AreaReach = AreaReach::Installation;
}

/// The tenants area: tenants of the whole installation.
pub struct Tenants;

impl InArea for Tenants {
    const AREA: Area = Area::Tenants;
    const CAPABILITY: Option<Capability> = Some(Capability::Identity);
    const REACH: AreaReach = AreaReach::Installation;
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
        const REACH: AreaReach = AreaReach::Objects;
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
