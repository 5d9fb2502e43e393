//! `POST /admin/api/v1/auth/logout`: ends the caller's sessions.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::principal::Principal;
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use pipeline::call::{authenticate, session_cookie};

use super::cookies;
use crate::App;
use crate::authorized::{AnyCaller, Authorized};
use crate::body::{EmptyBody, OptionalBody};
use crate::fault::Problem;
use crate::request_context::RequestContext;

/// End the session of the cookie or access token, with all tokens of the same login. A key stays valid.
#[utoipa::path(post, path = "/admin/api/v1/auth/logout", operation_id = "logout", tag = "auth",
    responses((status = 204, description = "Ended; the cookie is removed"), (status = 401, description = "Unauthorized")),
    security(("bearer" = [])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<AnyCaller>,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Response, Problem> {
    let now = app.gateway.clock.now();
    // A bearer may come together with the cookie of another session.
    let by_cookie = session_cookie::find(&headers)
        .and_then(|value| authenticate::identify_cookie(&authorized.snapshot, value, now).ok());
    let mut ended = false;
    for principal in [Some(authorized.principal), by_cookie].into_iter().flatten() {
        if let Principal::Session(session) = principal {
            app.refresher.store().sessions().end_family(&session.family, now).await?;
            ended = true;
        }
    }
    if ended {
        app.refresher.refresh_sessions().await?;
    }
    let removed = cookies::removed(&app, session_cookie::NAME, cookies::is_secure(&context, &headers));
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, removed)]).into_response())
}
