//! `POST /admin/api/v1/auth/session`: exchanges a key for a dashboard session.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use domain::fault;
use domain::principal::Principal;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, SET_COOKIE};
use serde::Serialize;
use utoipa::ToSchema;

use super::{cookies, opening};
use crate::App;
use crate::admin::record;
use crate::authorized::{AnyCaller, Authorized};
use crate::body::{EmptyBody, OptionalBody};
use crate::fault::Problem;
use crate::request_context::RequestContext;

/// An open session. Its value is only in the cookie.
#[derive(Serialize, ToSchema)]
pub struct SessionView {
    pub expires_at: String,
    pub scopes: Vec<String>,
    pub user_path: String,
    pub tenant_id: Option<String>,
}

/// Open a dashboard session with a key. The session has the rights of the key, and ends with it.
#[utoipa::path(post, path = "/admin/api/v1/auth/session", operation_id = "open_session", tag = "auth",
    responses((status = 200, description = "The session; the cookie is HttpOnly and SameSite=Strict", body = SessionView),
        (status = 400, description = "The caller sent no key"), (status = 401, description = "Unauthorized")),
    security(("bearer" = [])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<AnyCaller>,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Response, Problem> {
    let principal = &authorized.principal;
    let digest = match principal {
        Principal::Master => authorized.snapshot.master,
        Principal::Key(key) => key.digest,
        Principal::Session(_) | Principal::Token(_) => {
            let message = "Send the master key or a managed key: only these can be exchanged for a session.";
            return Err(fault::invalid_parameter("Authorization", message).into());
        }
    };
    let opened = opening::for_key(&app, digest, principal.expires_at()).await?;
    let expires_at = opened.record.expires_at;
    let cookie = cookies::session(&app, &opened.value, expires_at, cookies::is_secure(&context, &headers));
    let view = SessionView {
        expires_at: record::time(expires_at),
        scopes: principal.scopes().iter().map(ToString::to_string).collect(),
        user_path: principal.own_path().map_or("/", |path| path.as_str()).to_owned(),
        tenant_id: principal.tenant().map(|tenant| tenant.to_string()),
    };
    let mut response = Json(view).into_response();
    response.headers_mut().append(SET_COOKIE, cookie);
    response.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    Ok(response)
}
