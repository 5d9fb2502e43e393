//! `/admin/api/v1/auth/oidc/callback`: the end of a login at a provider.

use std::sync::Arc;

use ::identity::oidc::flow::LoginFlow;
use axum::Extension;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use domain::fault::{self, Fault};
use http::HeaderMap;
use pipeline::call::session_cookie;
use pipeline::services::webhooks::FailedLogin;

use super::super::{cookies, user_session};
use super::{FLOW_COOKIE, exchange, failed, find, redirect, refused};
use crate::App;
use crate::admin::identity;
use crate::authorized::CallbackAllowed;
use crate::fault::Problem;
use crate::query::{self, Pairs};
use crate::request_context::RequestContext;

const LONGEST: usize = 4096;

/// Finish a login: the provider leads the browser back here.
#[utoipa::path(get, path = "/admin/api/v1/auth/oidc/callback", operation_id = "finish_oidc_login", tag = "auth",
    params(("code" = Option<String>, Query, description = "The code of the provider"), ("state" = Option<String>, Query, description = "The state of the login"),
        ("iss" = Option<String>, Query, description = "The issuer"), ("error" = Option<String>, Query, description = "The provider's error"),
        ("error_description" = Option<String>, Query, description = "Ignored, as are other parameters of the provider")),
    responses((status = 302, description = "To the dashboard, with the session cookie"), (status = 400, description = "Invalid request"),
        (status = 401, description = "The login failed"), (status = 403, description = "The account may not log in, or the edition has no identity")))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: CallbackAllowed,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    finish(&app, &context, &headers, &pairs).await
}

/// Finish a login at a provider that answers with a form.
#[utoipa::path(post, path = "/admin/api/v1/auth/oidc/callback", operation_id = "finish_oidc_login_by_form", tag = "auth",
    responses((status = 302, description = "To the dashboard, with the session cookie"), (status = 400, description = "Invalid request"),
        (status = 401, description = "The login failed"), (status = 403, description = "The account may not log in, or the edition has no identity")))]
pub async fn create(
    State(app): State<Arc<App>>,
    _: CallbackAllowed,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let text = std::str::from_utf8(&body).ok().filter(|text| text.len() <= 4 * LONGEST);
    let address = text.and_then(|text| format!("/?{}", text.trim()).parse::<http::Uri>().ok());
    let pairs = address.and_then(|address| Query::<Pairs>::try_from_uri(&address).ok());
    let Query(pairs) = pairs
        .ok_or_else(|| Fault { param: None, ..fault::invalid_parameter("", "The body is not a form.") })?;
    finish(&app, &context, &headers, &pairs).await
}

async fn finish(
    app: &App,
    context: &RequestContext,
    headers: &HeaderMap,
    pairs: &Pairs,
) -> Result<Response, Problem> {
    let now = app.gateway.clock.now();
    let login = session_cookie::cookie(headers, FLOW_COOKIE)
        .and_then(|cookie| LoginFlow::open(cookie, &exchange::flow_key(app), now))
        .ok_or_else(|| {
            failed("The login was not started in this browser, or it took too long: start it again.")
        })?;
    let answered = finish_at(app, context, headers, pairs, &login).await;
    if let Err(problem) = &answered
        && matches!(problem.fault().status, 401 | 403)
    {
        app.gateway.report_failed_login(&FailedLogin {
            email: None,
            provider: Some(&login.provider),
            client_ip: context.client_ip.map(|address| address.to_string()),
            reason: "refused",
            request_id: context.request_id.as_str(),
        });
    }
    answered
}

/// Finishes a login that was started in this browser.
async fn finish_at(
    app: &App,
    context: &RequestContext,
    headers: &HeaderMap,
    pairs: &Pairs,
    login: &LoginFlow,
) -> Result<Response, Problem> {
    let text = |name: &str| query::text(pairs, name).filter(|value| value.len() <= LONGEST);
    // Compared before anything is sent: a code of another login must not be used.
    if text("state") != Some(&*login.state) {
        return Err(failed("The answer belongs to another login: start it again.").into());
    }
    let provider = find(app, &login.provider)?;
    if text("iss").is_some_and(|issuer| issuer != provider.issuer) {
        return Err(refused(&provider.name, "the answer is of another issuer").into());
    }
    if let Some(error) = text("error") {
        let error: String =
            error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(100).collect();
        return Err(refused(&provider.name, &format!("it answered '{error}'")).into());
    }
    let code = text("code").ok_or_else(|| refused(&provider.name, "the answer has no code"))?;
    let claims = exchange::claims(app, &provider, login, code).await?;
    let account = provider.account(&claims);
    let account = account.map_err(|rejection| refused(&provider.name, rejection.as_str()))?;
    let id = identity::user_of_account(app, &provider, account).await?;
    let (_, cookie) = user_session::open_with_cookie(app, &id, context, headers).await?;
    let secure = cookies::is_secure(context, headers);
    let base = app.config.base_path.trim_end_matches('/');
    let done = cookies::removed(app, FLOW_COOKIE, secure);
    redirect(&format!("{base}/admin/dashboard"), [cookie, done])
}
