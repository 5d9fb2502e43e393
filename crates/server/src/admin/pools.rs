//! `/admin/api/v1/pools`: groups of interchangeable provider instances.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::Fault;
use domain::resources::Resource;
use domain::resources::pool::Pool;
use domain::strategy::Strategy;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::Stored;
use utoipa::ToSchema;

use super::crud::{self, Served};
use super::names::Names;
use super::providers::{self, ProviderHealth};
use super::record::{self, ResourceOrigin};
use crate::App;
use crate::authorized::{Authorized, Pools, Read, Write};
use crate::body::{Patch, Strict};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolBody {
    /// Optional in a PUT.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    /// Provider instances, 1 to 100.
    pub members: Vec<String>,
    /// Default: round_robin.
    #[serde(default)]
    pub strategy: Option<Strategy>,
    /// By member; the default is 1.
    #[serde(default)]
    pub weights: Option<BTreeMap<String, f64>>,
    /// Skips unhealthy members while others are healthy. Default: true.
    #[serde(default)]
    pub health_aware: Option<bool>,
}

#[derive(Serialize, ToSchema)]
pub struct PoolView {
    pub name: String,
    pub description: String,
    pub members: Vec<String>,
    pub strategy: Strategy,
    pub weights: BTreeMap<String, f64>,
    pub health_aware: bool,
    /// Calls to the pool in the last hour, of this process; null for a tenant that does not own the pool.
    pub calls_last_hour: Option<u64>,
    /// The current state of the members.
    pub members_status: Vec<MemberStatus>,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
}

#[derive(Serialize, ToSchema)]
pub struct MemberStatus {
    pub name: String,
    /// Whether an instance of that name exists.
    pub known: bool,
    pub enabled: bool,
    /// Null when the instance does not exist.
    pub health: Option<ProviderHealth>,
    /// Calls to the pool that the member served in the last hour, of this process; null for a tenant that does not own
    /// the pool.
    pub calls_last_hour: Option<u64>,
    /// The share of these in the calls to the pool, 0 to 1; null without them.
    pub share: Option<f64>,
}

impl PoolBody {
    fn pool(self, name: String) -> Pool {
        Pool {
            name,
            description: self.description.unwrap_or_default(),
            members: self.members,
            strategy: self.strategy.unwrap_or(Strategy::RoundRobin),
            weights: self.weights.unwrap_or_default(),
            health_aware: self.health_aware.unwrap_or(true),
        }
    }
}

impl Served for Pool {
    type View = PoolView;
    const TITLE: &'static str = "pool";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> PoolView {
        let origin = ResourceOrigin::of(access.app, &stored);
        let pool = stored.value;
        // The calls of an inherited pool are those of all tenants.
        let is_counted = access.tenant().is_none_or(|tenant| origin.tenant_id.as_deref() == Some(tenant));
        let counts: Vec<Option<u64>> =
            calls(access, &pool).into_iter().map(|calls| Some(calls).filter(|_| is_counted)).collect();
        let total: Option<u64> = counts.iter().copied().sum();
        let members = pool.members.iter().zip(counts);
        PoolView {
            calls_last_hour: total,
            members_status: members.map(|(member, calls)| status(access, member, calls, total)).collect(),
            name: pool.name,
            description: pool.description,
            members: pool.members,
            strategy: pool.strategy,
            weights: pool.weights,
            health_aware: pool.health_aware,
            origin,
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let mut body: PoolBody = patch.over(
            known,
            &[
                "members_status",
                "calls_last_hour",
                "source",
                "tenant_id",
                "overrides",
                "created_at",
                "updated_at",
            ],
        )?;
        let name = record::name("name", body.name.take(), name.to_owned())?;
        let mut pool = body.pool(name);
        // Unless weights were sent, drops those of removed members.
        if patch.sent("weights").is_none() {
            pool.weights.retain(|member, _| pool.members.contains(member));
        }
        Ok(pool)
    }

    fn check(&self, names: &Names) -> Result<(), Fault> {
        names.free(Self::KIND, &self.name)?;
        let mut members = self.members.iter().enumerate();
        members.try_for_each(|(index, member)| names.instance(format!("members[{index}]"), member))
    }
}

/// The calls that each member served in the last hour.
fn calls(access: &TenantAccess<'_>, pool: &Pool) -> Vec<u64> {
    let (snapshot, now) = (access.snapshot(), access.app.gateway.clock.tick());
    let known = snapshot.routes.names.pools.get(&pool.name);
    let count = |member: &String| known.map_or(0, |known| known.calls.last_hour(member, now));
    pool.members.iter().map(count).collect()
}

/// The current state of a member, which served this many of all calls to the pool.
fn status(access: &TenantAccess<'_>, member: &str, calls: Option<u64>, total: Option<u64>) -> MemberStatus {
    let snapshot = access.snapshot();
    let instance = snapshot.routes.instances.get(member);
    MemberStatus {
        name: member.to_owned(),
        known: instance.is_some(),
        enabled: instance.is_some_and(|instance| instance.provider.enabled),
        health: instance.map(|instance| providers::health_of(access.app, instance, access.tenant()).0),
        calls_last_hour: calls,
        share: calls.zip(total.filter(|total| *total > 0)).map(share),
    }
}

fn share((calls, total): (u64, u64)) -> f64 {
    (calls as f64 / total as f64 * 1000.0).round() / 1000.0
}

/// List pools by name.
#[utoipa::path(get, path = "/admin/api/v1/pools", tag = "pools",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The pools; X-Total-Count has their number", body = Vec<PoolView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:pools:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Pools>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<Pool>(&authorized.documents(&app), &pairs).await
}

/// Create a pool.
#[utoipa::path(post, path = "/admin/api/v1/pools", tag = "pools", request_body = PoolBody,
    responses((status = 201, description = "The pool", body = PoolView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 409, description = "The name is taken")),
    security(("bearer" = ["admin:pools:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Pools>>,
    Strict(mut body): Strict<PoolBody>,
) -> Result<Response, Problem> {
    let name = body.name.take().unwrap_or_default();
    crud::create(&authorized.documents(&app), authorized.principal.actor(), body.pool(name)).await
}

/// Get a pool with the current state of its members.
#[utoipa::path(get, path = "/admin/api/v1/pools/{name}", tag = "pools", params(("name" = String, Path, description = "The pool")),
    responses((status = 200, description = "The pool", body = PoolView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such pool")),
    security(("bearer" = ["admin:pools:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Pools>>,
    Named(name): Named,
) -> Result<Response, Problem> {
    crud::read::<Pool>(&authorized.documents(&app), &name).await
}

/// Replace or create a pool.
#[utoipa::path(put, path = "/admin/api/v1/pools/{name}", tag = "pools", params(("name" = String, Path, description = "The pool")),
    request_body = PoolBody,
    responses((status = 200, description = "Replaced", body = PoolView), (status = 201, description = "Created", body = PoolView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 409, description = "The name is taken by another kind"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:pools:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Pools>>,
    Named(name): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<Pool>(&authorized.documents(&app), authorized.principal.actor(), &name, &headers, &patch)
        .await
}

/// Delete a pool.
#[utoipa::path(delete, path = "/admin/api/v1/pools/{name}", tag = "pools", params(("name" = String, Path, description = "The pool")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such pool"),
        (status = 409, description = "Still in use"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:pools:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Pools>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<Pool>(&authorized.documents(&app), authorized.principal.actor(), &name, &headers).await
}
