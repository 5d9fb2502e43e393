//! `POST /admin/api/v1/auth/login`: logs a user in with a password.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use domain::fault::{self, Fault, FaultCode};
use domain::resources::user::User;
use domain::secret::Secret;
use http::{HeaderMap, HeaderValue};
use pipeline::services::webhooks::FailedLogin;
use serde::Deserialize;
use utoipa::ToSchema;

use super::user_session;
use crate::App;
use crate::authorized::LoginAllowed;
use crate::body::Strict;
use crate::fault::Problem;
use crate::logins;
use crate::request_context::RequestContext;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    pub email: String,
    #[schema(value_type = String)]
    pub password: Secret,
}

/// Log in with email and password. Answers with tokens, and sets the session cookie.
#[utoipa::path(post, path = "/admin/api/v1/auth/login", operation_id = "login", tag = "auth", request_body = LoginBody,
    responses((status = 200, description = "The user, with tokens", body = user_session::LoggedIn),
        (status = 400, description = "Invalid request"), (status = 401, description = "Wrong email or password"),
        (status = 403, description = "The edition has no identity"), (status = 429, description = "Too many attempts"),
        (status = 503, description = "Identity is not configured")))]
pub async fn create(
    State(app): State<Arc<App>>,
    _: LoginAllowed,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    Strict(body): Strict<LoginBody>,
) -> Result<Response, Problem> {
    if !app.has_identity() {
        let message =
            "Nobody can log in: set IDENTITY_ADMIN_EMAIL and IDENTITY_ADMIN_PASSWORD, or OIDC_PROVIDERS.";
        return Err(fault::feature_unavailable(message).into());
    }
    refuse_other_sites(&headers)?;
    let email: String = User::normalized_email(&body.email).chars().take(254).collect();
    let attempt = app.logins.throttle.attempt(&email, context.client_ip, app.gateway.clock.tick());
    if let Err(left) = attempt {
        report(&app, &context, &email, "throttled");
        let message = "Too many failed logins. Try again later, or ask an administrator.";
        return Err(fault::rate_limit_exceeded(message).retry_after(left).into());
    }
    let Some(id) = verified(&app, &email, body.password).await? else {
        tracing::warn!(email, client_ip = ?context.client_ip, "login failed");
        report(&app, &context, &email, "wrong_password");
        return Err(wrong().into());
    };
    app.logins.throttle.succeeded(&email, context.client_ip);
    user_session::open(&app, &id, &context, &headers).await
}

/// Refuses logins that pages of other sites send: they could log a browser in as their own user.
fn refuse_other_sites(headers: &HeaderMap) -> Result<(), Fault> {
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => {
            let message = "The login was sent by a page of another site: log in on a page of the gateway.";
            Err(Fault::new(FaultCode::InvalidApiKey, message))
        }
    }
}

fn report(app: &App, context: &RequestContext, email: &str, reason: &str) {
    app.gateway.report_failed_login(&FailedLogin {
        email: Some(email),
        provider: None,
        client_ip: context.client_ip.map(|address| address.to_string()),
        reason,
        request_id: context.request_id.as_str(),
    });
}

/// The id of the user with this address and password.
async fn verified(app: &App, email: &str, password: Secret) -> Result<Option<String>, Problem> {
    let snapshot = app.gateway.snapshot();
    let user = snapshot.identities.users.by_email(email);
    // Read for unknown users too, so that the time does not tell whether there is one.
    let id = user.map_or("user", |user| &user.grant.id);
    let users = app.refresher.store().collection::<User>();
    let hash = users.get_readable(id).await?.and_then(|stored| stored.value.password_hash);
    let matches = logins::verify(app, password, hash.clone()).await?;
    // Read again: the password may have been changed, or the user deactivated, while it was verified.
    let now = users.get_readable(id).await?.map(|stored| stored.value);
    let is_current = now.is_some_and(|now| now.active && now.password_hash == hash);
    Ok(user.filter(|_| matches && is_current).map(|user| user.grant.id.to_string()))
}

/// One answer for unknown users, wrong passwords and deactivated users.
fn wrong() -> Fault {
    Fault::new(FaultCode::InvalidApiKey, "The email or the password is wrong.")
}
