//! `GET /admin/api/v1/auth/me`: the caller's own identity.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use domain::fault;
use domain::principal::Principal;
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::identity::roles::PermissionView;
use crate::App;
use crate::authorized;
use crate::fault::Problem;
use crate::known_query;

#[derive(Serialize, ToSchema)]
pub struct Me {
    pub principal: PrincipalSummary,
    /// The user that logged in; null for keys and tokens
    pub user: Option<UserSummary>,
    pub roles: Vec<String>,
    pub permissions: Vec<PermissionView>,
    pub scopes: Vec<String>,
    pub user_path: String,
    pub tenant_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct PrincipalSummary {
    /// master_key, api_key, session or token
    pub auth_method: &'static str,
    /// `master`, or the id of the key, of the user or of the subject of a token
    pub id: String,
    pub name: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct UserSummary {
    pub id: String,
    pub email: String,
    pub name: String,
}

/// The caller of a gateway with an identity system.
pub struct Identified(Principal);

impl FromRequestParts<Arc<App>> for Identified {
    type Rejection = Problem;

    /// Without an identity system the answer is the same for everybody.
    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        if !app.has_identity() {
            let message = "Identity is not configured: it needs the capability 'identity' (GATEWAY_EDITION or \
                 GATEWAY_CAPABILITIES), and IDENTITY_ADMIN_EMAIL or OIDC_PROVIDERS.";
            return Err(fault::feature_unavailable(message).into());
        }
        let (principal, _) = authorized::authenticate(parts, app).await?;
        known_query::check(parts)?;
        Ok(Self(principal))
    }
}

/// Get the caller's identity, roles, permissions and scopes.
#[utoipa::path(get, path = "/admin/api/v1/auth/me", operation_id = "me", tag = "auth",
    responses((status = 200, description = "The caller", body = Me), (status = 401, description = "Unauthorized"),
        (status = 503, description = "Identity is not configured")))]
pub async fn me(State(_): State<Arc<App>>, Identified(principal): Identified) -> Json<Me> {
    Json(view(&principal))
}

pub fn view(principal: &Principal) -> Me {
    let user = principal.user();
    let permissions = user.map(|user| user.permissions.as_slice()).unwrap_or_default();
    Me {
        principal: PrincipalSummary {
            auth_method: principal.auth_method(),
            id: principal.actor().to_owned(),
            name: principal.key().map(|key| key.name.to_string()),
        },
        user: user.map(|user| UserSummary {
            id: user.grant.id.to_string(),
            email: user.email.to_string(),
            name: user.display_name.to_string(),
        }),
        roles: user.map(|user| user.roles.clone()).unwrap_or_default(),
        permissions: permissions.iter().map(PermissionView::from).collect(),
        scopes: principal.scopes().iter().map(ToString::to_string).collect(),
        user_path: principal.own_path().map_or("/", |path| path.as_str()).to_owned(),
        tenant_id: principal.tenant().map(|tenant| tenant.to_string()),
    }
}
