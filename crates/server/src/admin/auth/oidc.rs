//! `/admin/api/v1/auth/oidc`: login at an OpenID Connect provider.

pub mod callback;
mod exchange;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault, FaultCode};
use http::header::{CACHE_CONTROL, HOST, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use identity::oidc::OidcProvider;
use identity::oidc::flow::{self, LoginFlow};

use super::cookies::{self, SameSite};
use crate::App;
use crate::authorized::LoginAllowed;
use crate::fault::Problem;
use crate::path::Named;
use crate::request_context::RequestContext;

/// The cookie that keeps a login between its start and the callback.
const FLOW_COOKIE: &str = "gatehouse_oidc";
const CALLBACK_PATH: &str = "/admin/api/v1/auth/oidc/callback";

/// Log in at a provider: leads the browser there.
#[utoipa::path(get, path = "/admin/api/v1/auth/oidc/{provider}", operation_id = "start_oidc_login", tag = "auth",
    params(("provider" = String, Path, description = "The name of the provider in OIDC_PROVIDERS")),
    responses((status = 302, description = "To the provider"), (status = 403, description = "The edition has no identity"),
        (status = 404, description = "No such provider"), (status = 503, description = "The provider cannot be reached")))]
pub async fn start(
    State(app): State<Arc<App>>,
    _: LoginAllowed,
    Named(name): Named,
    Extension(context): Extension<RequestContext>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let provider = find(&app, &name)?;
    let secure = cookies::is_secure(&context, &headers);
    // With HTTP/2, the host is in the address of the request.
    let named = headers.get(HOST).and_then(|value| value.to_str().ok());
    let host = named.or_else(|| uri.authority().map(|authority| authority.as_str()));
    let redirect_uri = redirect_uri(&app, &provider, host, secure)?;
    let discovery = exchange::discover(&app, &provider).await?;
    let gateway = &app.gateway;
    let login = LoginFlow::start(&provider.name, redirect_uri, gateway.clock.now(), &*gateway.entropy);
    let sealed = login.seal(&exchange::flow_key(&app));
    let cookie = cookies::cookie(&app, FLOW_COOKIE, &sealed, flow::LIFETIME, (SameSite::CrossSite, secure));
    redirect(&login.authorization_url(&provider, &discovery), [cookie])
}

/// The provider of this name.
fn find(app: &App, name: &str) -> Result<Arc<OidcProvider>, Fault> {
    let providers = &app.config.identity.oidc_providers;
    let found = providers.iter().find(|provider| provider.name == name).cloned();
    found.ok_or_else(|| {
        let shown: String = name.chars().take(100).collect();
        fault::not_found(format!("There is no login provider '{shown}' in OIDC_PROVIDERS."))
    })
}

/// The address that the provider leads back to. It must be registered there, so a forged `Host` leads nowhere.
fn redirect_uri(
    app: &App,
    provider: &OidcProvider,
    host: Option<&str>,
    secure: bool,
) -> Result<String, Fault> {
    let base_path = app.config.base_path.trim_end_matches('/');
    if let Some(base) = &provider.redirect_base {
        return Ok(format!("{}{base_path}{CALLBACK_PATH}", base.trim_end_matches('/')));
    }
    let host = host.filter(|host| !host.is_empty()).ok_or_else(|| {
        let message = "The request names no host: set redirect_base of the provider in OIDC_PROVIDERS.";
        fault::invalid_parameter("Host", message)
    })?;
    let scheme = if secure { "https" } else { "http" };
    Ok(format!("{scheme}://{host}{base_path}{CALLBACK_PATH}"))
}

/// Leads the browser to an address and sets cookies.
fn redirect(address: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> Result<Response, Problem> {
    let location = HeaderValue::try_from(address).map_err(|_| fault::internal_error())?;
    let mut response = StatusCode::FOUND.into_response();
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The error for a login that failed at the provider.
fn refused(provider: &str, reason: &str) -> Fault {
    tracing::warn!(provider, reason, "login at a provider failed");
    failed(format!("The login at '{provider}' failed: {reason}."))
}

fn failed(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::InvalidApiKey, message)
}
