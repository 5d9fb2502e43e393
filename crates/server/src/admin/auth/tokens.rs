//! `POST /admin/api/v1/auth/tokens/revoke`: refuses tokens of an issuer before they expire.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use identity::token::CLOCK_SKEW;
use serde::{Deserialize, Serialize};
use store::{RevokedBy, TokenRevocation};
use utoipa::ToSchema;

use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Tokens, Write};
use crate::body::Strict;
use crate::fault::Problem;

const LONGEST: usize = 512;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeBody {
    /// The id of one token
    #[serde(default)]
    pub jti: Option<String>,
    /// All tokens of a subject that were issued until now
    #[serde(default)]
    pub subject: Option<String>,
    /// Alone: all tokens of an issuer that were issued until now. With `jti` or `subject`: only those of this issuer
    #[serde(default)]
    pub issuer: Option<String>,
    /// The end of the tokens that are revoked, in Unix seconds, as their claim `exp`: the revocation is deleted
    /// afterwards. Without it, that of a token that was used here is known; others are kept
    #[serde(default)]
    pub expires_at: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub struct Revoked {
    /// jti, subject or issuer
    pub revoked_by: &'static str,
    pub issuer: Option<String>,
    pub value: Option<String>,
    pub revoked_at: String,
}

/// Revoke tokens by id, subject or issuer. In force at once here, and within a second on other replicas.
#[utoipa::path(post, path = "/admin/api/v1/auth/tokens/revoke", operation_id = "revoke_tokens", tag = "auth", request_body = RevokeBody,
    responses((status = 200, description = "In force", body = Revoked), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:tokens:write"])))]
pub async fn revoke(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tokens>>,
    Strict(body): Strict<RevokeBody>,
) -> Result<Json<Revoked>, Problem> {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (jti, subject, issuer) = (filled(body.jti), filled(body.subject), filled(body.issuer));
    if let Some(issuer) = issuer.as_deref()
        && !authorized.snapshot.identities.token_issuers.has(issuer)
    {
        let shown: String = issuer.chars().take(200).collect();
        return Err(fault::invalid_parameter(
            "issuer",
            format!("'{shown}' is not an issuer of TOKEN_ISSUERS."),
        )
        .into());
    }
    let (by, value) = named(jti, subject, issuer.is_some())?;
    let tokens = &authorized.snapshot.identities.token_issuers;
    let seen = || tokens.expiry_of(issuer.as_deref()?, value.as_deref().filter(|_| by == RevokedBy::Jti)?);
    let now = app.gateway.clock.now();
    let revocation = TokenRevocation {
        by,
        expires_at: expiry(body.expires_at, now)?.or_else(seen),
        issuer: issuer.clone().unwrap_or_default(),
        value: value.clone().unwrap_or_default(),
        revoked_at: now,
    };
    app.refresher.store().sessions().revoke_tokens(&revocation).await?;
    app.refresher.refresh_sessions().await?;
    tracing::info!(by = by.as_str(), issuer, actor = authorized.principal.actor(), "tokens revoked");
    let revoked_at = record::time(revocation.revoked_at);
    Ok(Json(Revoked { revoked_by: by.as_str(), issuer, value, revoked_at }))
}

/// The time after which the tokens are refused anyway: their end, and the tolerated difference of clocks.
fn expiry(seconds: Option<i64>, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
    const LATEST: i64 = 253_402_300_799;
    let Some(seconds) = seconds else { return Ok(None) };
    if !(0..=LATEST).contains(&seconds) {
        return Err(fault::invalid_parameter("expires_at", "'expires_at' is a time in Unix seconds."));
    }
    let end = Timestamp::from_seconds(seconds + CLOCK_SKEW);
    if end <= now {
        let message = "'expires_at' is in the past: tokens that ended then are refused anyway.";
        return Err(fault::invalid_parameter("expires_at", message));
    }
    Ok(Some(end))
}

/// The kind and the value of a revocation: a token, a subject, or an issuer alone.
fn named(
    jti: Option<String>,
    subject: Option<String>,
    has_issuer: bool,
) -> Result<(RevokedBy, Option<String>), Fault> {
    let (by, value) = match (jti, subject) {
        (Some(_), Some(_)) => {
            return Err(fault::invalid_parameter("subject", "Send either 'jti' or 'subject'."));
        }
        (Some(jti), None) => (RevokedBy::Jti, Some(jti)),
        (None, Some(subject)) => (RevokedBy::Subject, Some(subject)),
        (None, None) if has_issuer => (RevokedBy::Issuer, None),
        (None, None) => {
            return Err(fault::invalid_parameter("jti", "Send 'jti', 'subject' or 'issuer'."));
        }
    };
    if value.as_ref().is_some_and(|value| value.len() > LONGEST || value.contains('\0')) {
        let message = format!("'{}' has at most {LONGEST} characters.", by.as_str());
        return Err(fault::invalid_parameter(by.as_str(), message));
    }
    Ok((by, value))
}
