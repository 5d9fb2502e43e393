//! `POST /auth-keys/{id}/rotate`: replaces the value of a key; the old value may stay valid for a while.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::Resource as _;
use domain::resources::auth_key::{self, AuthKey};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::record;
use super::view::{self, CreatedKey, KeyView};
use super::{amend, grant, warnings};
use crate::App;
use crate::authorized::{AnyCaller, AuthKeys, Authorized, Write};
use crate::body::OptionalBody;
use crate::fault::Problem;
use crate::path::Named;

/// A day, so that clients can be updated one after the other.
const DEFAULT_OVERLAP: i64 = 86_400;
/// A week.
const LONGEST_OVERLAP: i64 = 604_800;

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateKey {
    /// Seconds for which the old value stays valid: 0 to 604800, default 86400. 0 invalidates it at once.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 604_800)]
    pub overlap_seconds: Option<i64>,
}

/// Rotate a key. Id, settings and usage are kept; values of earlier rotations keep their own expiry.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys/{id}/rotate", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id")), request_body = RotateKey,
    responses((status = 200, description = "The key, with its new raw value", body = CreatedKey),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The key has more rights than the caller"), (status = 404, description = "No such key"),
        (status = 409, description = "Not active, or too many values are valid at once"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn rotate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<AuthKeys>>,
    Named(id): Named,
    headers: HeaderMap,
    OptionalBody(request): OptionalBody<RotateKey>,
) -> Result<Response, Problem> {
    let (principal, snapshot) = (&authorized.principal, &authorized.snapshot);
    let within = |key: &AuthKey| grant::within(key, principal, &snapshot.routes.names);
    rotated(&app, principal, &id, &headers, &request, within).await
}

/// Rotate the calling key. Needs no scope: the current value of a key can always replace itself. A previous value cannot,
/// because it may be the leaked one that the rotation replaced.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys/me/rotate", tag = "auth-keys", operation_id = "rotate_own_key",
    request_body = RotateKey,
    responses((status = 200, description = "The key, with its new raw value", body = CreatedKey),
        (status = 400, description = "Invalid request, or the caller is not a managed key"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The caller uses a previous value of the key"),
        (status = 409, description = "Too many values are valid at once, or a key of gatehouse.yaml"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = [])))]
pub async fn rotate_own(
    State(app): State<Arc<App>>,
    authorized: Authorized<AnyCaller>,
    headers: HeaderMap,
    OptionalBody(request): OptionalBody<RotateKey>,
) -> Result<Response, Problem> {
    // A session would otherwise turn into a key, which outlives it.
    let Principal::Key(key) = &authorized.principal else {
        let message = "The caller did not send a managed key: rotate a key with its own value. The master key is set by \
                       GATEWAY_MASTER_KEY.";
        return Err(Fault { param: None, ..fault::invalid_parameter("", message) }.into());
    };
    if app.refresher.is_configured(AuthKey::KIND, &key.id) {
        let message = format!("The key '{}' is set in gatehouse.yaml: change its value there.", key.id);
        return Err(fault::conflict(message).into());
    }
    let sent = auth_key::digest_hex(&key.digest);
    let allowed = |stored: &AuthKey| if stored.digest == sent { Ok(()) } else { Err(not_current()) };
    rotated(&app, &authorized.principal, &key.id, &headers, &request, allowed).await
}

fn not_current() -> Fault {
    let message = "This value of the key was replaced by a rotation and only stays valid for its overlap: rotate the key \
                   with its current value, or with a key that has the scope 'admin:auth-keys:write'.";
    fault::insufficient_scope("admin:auth-keys:write").with_message(message)
}

/// Replaces the value of a key that the caller may change.
async fn rotated(
    app: &App,
    principal: &Principal,
    id: &str,
    headers: &HeaderMap,
    request: &RotateKey,
    allowed: impl Fn(&AuthKey) -> Result<(), Fault>,
) -> Result<Response, Problem> {
    let overlap = request.overlap_seconds.unwrap_or(DEFAULT_OVERLAP);
    if !(0..=LONGEST_OVERLAP).contains(&overlap) {
        let message = format!("'overlap_seconds' is a whole number, 0 to {LONGEST_OVERLAP}.");
        return Err(fault::invalid_parameter("overlap_seconds", message).into());
    }
    let gateway = &app.gateway;
    let (raw, now) = (auth_key::mint(&*gateway.entropy), gateway.clock.now());
    let until = Timestamp(now.micros() + overlap * 1_000_000);
    let stored = amend::amend(app, principal, id, headers, |stored| {
        allowed(&stored.value)?;
        if !stored.value.active(now) {
            return Err(fault::conflict("The key is not active: its new value would be refused."));
        }
        let mut key = stored.value.clone();
        key.rotate(&raw, until, now)?;
        Ok(key)
    });
    let stored = stored.await?;
    let last_used_at = view::last_use(app, id).await?;
    let etag = stored.etag();
    let seen = app.gateway.snapshot().seen_by(stored.value.tenant_id.as_deref());
    let warnings = warnings::of(&seen.routes, &stored.value);
    let view = KeyView { warnings: Some(warnings), ..view::view(app, stored, last_used_at, now) };
    let rotated = CreatedKey::new(&raw, view);
    Ok(record::answer(StatusCode::OK, &etag, rotated))
}
