//! `POST /admin/api/v1/auth/refresh`: exchanges a refresh token for new tokens.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::fault::{Fault, FaultCode};
use domain::resources::auth_key;
use domain::secret::Secret;
use domain::session::{SessionOwner, SessionRecord};
use parking_lot::Mutex;
use serde::Deserialize;
use store::RefreshOutcome;
use utoipa::ToSchema;

use super::user_session::{self, LoggedIn};
use crate::App;
use crate::authorized::LoginAllowed;
use crate::body::Strict;
use crate::fault::Problem;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshBody {
    #[schema(value_type = String)]
    pub refresh_token: Secret,
}

/// Exchange a refresh token for new tokens. Each one can be used once: a second use ends all sessions of its login.
#[utoipa::path(post, path = "/admin/api/v1/auth/refresh", operation_id = "refresh_tokens", tag = "auth", request_body = RefreshBody,
    responses((status = 200, description = "The user, with new tokens", body = LoggedIn), (status = 400, description = "Invalid request"),
        (status = 401, description = "The token is unknown, expired or used"), (status = 403, description = "The edition has no identity")))]
pub async fn create(
    State(app): State<Arc<App>>,
    _: LoginAllowed,
    Strict(body): Strict<RefreshBody>,
) -> Result<Response, Problem> {
    let now = app.gateway.clock.now();
    let digest = auth_key::digest(body.refresh_token.reveal());
    let issued = Mutex::new(None);
    let issue = |used: &SessionRecord| {
        let tokens = user_session::issue(&app, &used.family, &used.owner);
        let records = tokens.records.clone();
        *issued.lock() = Some(tokens);
        records
    };
    let outcome = app.refresher.store().sessions().exchange(&digest, now, issue).await?;
    if !matches!(outcome, RefreshOutcome::Unknown) {
        app.refresher.refresh_sessions().await?;
    }
    match (outcome, issued.into_inner()) {
        (RefreshOutcome::Exchanged(SessionRecord { owner: SessionOwner::User(id), .. }), Some(tokens)) => {
            Ok(user_session::answer(&app, &id, &tokens)?)
        }
        (RefreshOutcome::Reused { family }, _) => {
            tracing::warn!(family, "refresh token reused, its sessions have ended");
            Err(refused().into())
        }
        _ => Err(refused().into()),
    }
}

fn refused() -> Fault {
    Fault::new(FaultCode::InvalidApiKey, "The refresh token is not valid: log in again.")
}
