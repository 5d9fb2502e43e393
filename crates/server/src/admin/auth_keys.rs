//! `/admin/api/v1/auth-keys`: managed keys. The raw key is returned only by creation and rotation.

mod amend;
mod draft;
pub mod end;
mod grant;
pub mod list;
pub mod replace;
pub mod rotate;
pub mod stats;
mod use_figures;
mod view;
mod warnings;

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::fault;
use domain::ids;
use domain::principal::Principal;
use domain::resources::auth_key::{self, AuthKey};
use domain::user_path::UserPath;
use http::StatusCode;
use store::{DEFAULT_TENANT, StoreError, Stored, Write as Writing};

use self::draft::CreateKey;
pub(super) use self::draft::scopes;
pub(super) use self::grant::{normal_path, within as check_rights, within_grant as check_grant};
use self::view::{CreatedKey, KeyView};
use super::names::Names;
use super::{record, tenants};
use crate::App;
use crate::authorized::{AuthKeys, Authorized, Read, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;
use crate::tenant_access::TenantAccess;

/// Create a managed key.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys", tag = "auth-keys", request_body = CreateKey,
    responses((status = 201, description = "The key, with its raw value", body = CreatedKey),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The new key would have more rights than its creator")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<AuthKeys>>,
    Strict(request): Strict<CreateKey>,
) -> Result<Response, Problem> {
    let gateway = &app.gateway;
    let raw = auth_key::mint(&*gateway.entropy);
    let id = ids::prefixed("key", gateway.clock.now(), &*gateway.entropy);
    let key = draft::draft(request, id, &raw, &authorized.principal, &authorized.snapshot.routes.names)?;
    let _turn = app.naming.lock().await;
    tenants::require_known(&app, key.tenant_id.as_deref())?;
    if let Some(pool) = &key.provider_pool_id {
        Names::load(&TenantAccess::new(&app, key.tenant_id.as_deref()))
            .await?
            .pool("provider_pool_id", pool)?;
    }
    let stored = app
        .refresher
        .store()
        .collection::<AuthKey>()
        .put(&key, Writing::Create, authorized.principal.actor(), None)
        .await?;
    app.refresher.refresh().await?;
    let etag = stored.etag();
    let seen = gateway.snapshot().seen_by(stored.value.tenant_id.as_deref());
    let warnings = warnings::of(&seen.routes, &stored.value);
    let view = KeyView { warnings: Some(warnings), ..view::view(&app, stored, None, gateway.clock.now()) };
    let created = CreatedKey::new(&raw, view);
    Ok(record::answer(StatusCode::CREATED, &etag, created))
}

/// Get a key.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys/{id}", tag = "auth-keys", params(("id" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such key")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<AuthKeys>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    let stored = find(&app, &authorized.principal, &id).await?;
    view::answer(&app, stored).await
}

async fn find(app: &App, principal: &Principal, id: &str) -> Result<Stored<AuthKey>, Problem> {
    let stored = match app.refresher.find_effective::<AuthKey>(DEFAULT_TENANT, id).await {
        // The user path of a corrupt document is unknown, so only callers with the whole tree see it.
        Err(StoreError::Corrupt(_)) if !principal.is_confined() => {
            return Err(record::unreadable("key", id).into());
        }
        Err(StoreError::Corrupt(_)) => None,
        stored => stored?,
    };
    let stored = stored.filter(|stored| visible(principal, &stored.value));
    Ok(stored.ok_or_else(|| missing(id))?)
}

fn missing(id: &str) -> fault::Fault {
    fault::not_found(format!("There is no key '{id}'."))
}

/// Whether the caller may see a key: an admin bound to a user path sees the keys of that subtree, one of a
/// tenant those of that tenant.
fn visible(principal: &Principal, key: &AuthKey) -> bool {
    if !principal.sees_tenant(key.tenant_id.as_deref()) {
        return false;
    }
    let Some(own) = principal.own_path() else { return true };
    let path = key.user_path.as_deref().and_then(|path| UserPath::parse(path).ok()).unwrap_or_default();
    own.covers(&path)
}
