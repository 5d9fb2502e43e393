//! The tokens and the cookie of a user that logged in.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::secret::Secret;
use domain::session::{SessionKind, SessionOwner, SessionRecord};
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::identity::roles::PermissionView;
use super::me::UserSummary;
use super::{cookies, opening};
use crate::App;
use crate::fault::Problem;
use crate::request_context::RequestContext;

const ACCESS: Duration = Duration::from_secs(15 * 60);
/// The lifetime of a refresh token, and of the cookie of a login.
const LOGIN: Duration = Duration::from_secs(7 * 24 * 3600);

const COOKIE_PREFIX: &str = "gs_";
const ACCESS_PREFIX: &str = "gat_";
const REFRESH_PREFIX: &str = "grt_";

#[derive(Serialize, ToSchema)]
pub struct LoggedIn {
    pub user: UserSummary,
    pub roles: Vec<String>,
    pub permissions: Vec<PermissionView>,
    pub tokens: Tokens,
}

#[derive(Serialize, ToSchema)]
pub struct Tokens {
    /// Sent as `Authorization: Bearer`
    pub access_token: String,
    /// Exchanged once for new tokens at `/auth/refresh`
    pub refresh_token: String,
    /// Seconds until the access token expires
    pub expires_in: u64,
}

/// The values of new tokens, with their records.
pub struct IssuedTokens {
    access: Secret,
    refresh: Secret,
    pub records: Vec<SessionRecord>,
}

/// Makes the tokens of a login; they are valid once their records are stored.
pub fn issue(app: &App, family: &str, owner: &SessionOwner) -> IssuedTokens {
    let now = app.gateway.clock.now();
    let access = opening::prepare(
        app,
        SessionKind::Access,
        ACCESS_PREFIX,
        (family, owner),
        opening::after(now, ACCESS),
    );
    let refresh = opening::prepare(
        app,
        SessionKind::Refresh,
        REFRESH_PREFIX,
        (family, owner),
        opening::after(now, LOGIN),
    );
    IssuedTokens {
        access: access.value,
        refresh: refresh.value,
        records: vec![access.record, refresh.record],
    }
}

/// Opens the session of a user: tokens in the answer, and the cookie.
pub async fn open(
    app: &App,
    id: &str,
    context: &RequestContext,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let (tokens, cookie) = open_with_cookie(app, id, context, headers).await?;
    let mut response = answer(app, id, &tokens)?;
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// Opens the session of a user, and returns its tokens and the cookie.
pub async fn open_with_cookie(
    app: &App,
    id: &str,
    context: &RequestContext,
    headers: &HeaderMap,
) -> Result<(IssuedTokens, HeaderValue), Problem> {
    let (family, owner) = (opening::new_family(app), SessionOwner::User(id.to_owned()));
    let mut tokens = issue(app, &family, &owner);
    let ends = opening::after(app.gateway.clock.now(), LOGIN);
    let cookie = opening::prepare(app, SessionKind::Cookie, COOKIE_PREFIX, (&family, &owner), ends);
    tokens.records.push(cookie.record);
    app.refresher.store().sessions().add(&tokens.records, opening::MOST_SESSIONS).await?;
    app.refresher.refresh_sessions().await?;
    let secure = cookies::is_secure(context, headers);
    Ok((tokens, cookies::session(app, &cookie.value, ends, secure)))
}

/// The answer to a login or refresh.
pub fn answer(app: &App, id: &str, tokens: &IssuedTokens) -> Result<Response, Fault> {
    let snapshot = app.gateway.snapshot();
    let user = snapshot.identities.users.find(id).ok_or_else(fault::invalid_api_key)?;
    let view = LoggedIn {
        user: UserSummary {
            id: user.grant.id.to_string(),
            email: user.email.to_string(),
            name: user.display_name.to_string(),
        },
        roles: user.roles.clone(),
        permissions: user.permissions.iter().map(PermissionView::from).collect(),
        tokens: Tokens {
            access_token: tokens.access.reveal().to_owned(),
            refresh_token: tokens.refresh.reveal().to_owned(),
            expires_in: ACCESS.as_secs(),
        },
    };
    let mut response = Json(view).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
