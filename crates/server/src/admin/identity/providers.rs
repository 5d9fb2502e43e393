//! `GET /admin/api/v1/identity/providers`: the OpenID Connect providers of the configuration.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::authorized::{Authorized, Identity, Read};

#[derive(Serialize, ToSchema)]
pub struct OidcProviderView {
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    pub client_secret_set: bool,
    pub scopes: Vec<String>,
    /// The claim that roles are taken from
    pub role_claim: Option<String>,
    pub login_path: String,
}

/// List the OpenID Connect providers.
#[utoipa::path(get, path = "/admin/api/v1/identity/providers", operation_id = "list_oidc_providers", tag = "identity",
    responses((status = 200, description = "The providers", body = Vec<OidcProviderView>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn list(State(app): State<Arc<App>>, _: Authorized<Read<Identity>>) -> Json<Vec<OidcProviderView>> {
    let base = app.config.base_path.trim_end_matches('/');
    let providers = app.config.identity.oidc_providers.iter().map(|provider| OidcProviderView {
        name: provider.name.clone(),
        issuer: provider.issuer.clone(),
        client_id: provider.client_id.clone(),
        client_secret_set: provider.client_secret.is_some(),
        scopes: provider.scopes.clone(),
        role_claim: provider.roles.claim.clone(),
        login_path: format!("{base}/admin/api/v1/auth/oidc/{}", provider.name),
    });
    Json(providers.collect())
}
