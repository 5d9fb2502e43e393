//! Opens sessions: for a key, or for a user that logged in.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::ids;
use domain::resources::auth_key;
use domain::secret::Secret;
use domain::session::{self, SessionKind, SessionOwner, SessionRecord};

use crate::App;
use crate::fault::Problem;

/// The lifetime of a session that was opened with a key.
const KEY_SESSION: Duration = Duration::from_secs(12 * 3600);
/// The most live sessions of one owner; beyond it, the oldest end.
pub const MOST_SESSIONS: i64 = 100;

const COOKIE_PREFIX: &str = "gs_";

/// A new session and the value that only the client gets.
pub struct Opened {
    pub value: Secret,
    pub record: SessionRecord,
}

/// Prepares a session of a family.
pub fn prepare(
    app: &App,
    kind: SessionKind,
    prefix: &str,
    (family, owner): (&str, &SessionOwner),
    expires_at: Timestamp,
) -> Opened {
    let value = session::mint(prefix, &*app.gateway.entropy);
    let record = SessionRecord {
        digest: auth_key::digest(value.reveal()),
        kind,
        family: family.to_owned(),
        owner: owner.clone(),
        created_at: app.gateway.clock.now(),
        expires_at,
        ended_at: None,
    };
    Opened { value, record }
}

pub fn new_family(app: &App) -> String {
    ids::prefixed("login", app.gateway.clock.now(), &*app.gateway.entropy)
}

pub fn after(now: Timestamp, lifetime: Duration) -> Timestamp {
    Timestamp(now.micros().saturating_add(i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX)))
}

/// Opens the dashboard session of a key, which ends with the key.
pub async fn for_key(app: &App, digest: [u8; 32], key_ends: Option<Timestamp>) -> Result<Opened, Problem> {
    let end = after(app.gateway.clock.now(), KEY_SESSION);
    let expires_at = key_ends.map_or(end, |key_ends| key_ends.min(end));
    let owner = SessionOwner::Credential(digest);
    let opened = prepare(app, SessionKind::Cookie, COOKIE_PREFIX, (&new_family(app), &owner), expires_at);
    app.refresher.store().sessions().add(std::slice::from_ref(&opened.record), MOST_SESSIONS).await?;
    app.refresher.refresh_sessions().await?;
    Ok(opened)
}
