//! Ownership of objects stored at providers: checks ids that requests refer to, and records the owner of new ones.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use store::{OwnedObject, Owner, OwnerFilter};
use wire::json::KeyFilter;
use wire::meter::references_in;

use crate::gateway::Gateway;

/// The most objects that one request may refer to.
const MOST_REFERENCES: usize = 256;
/// The shortest retention of temporary records. Providers keep responses and completions for 30 days by default, other
/// objects until they are deleted.
const SHORTEST_TTL: Duration = Duration::from_secs(90 * 24 * 3600);

pub type Checking = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>>;
/// Checks whether the caller may refer to these objects.
pub type Check = Box<dyn Fn(Vec<String>) -> Checking + Send>;

/// The check for a caller that may only refer to objects admitted by `visible`.
pub fn check_for(gateway: &Arc<Gateway>, visible: OwnerFilter) -> Check {
    let gateway = gateway.clone();
    Box::new(move |ids| {
        let (gateway, visible) = (gateway.clone(), visible.clone());
        Box::pin(async move { refuse_others(&gateway, Some(&visible), &ids).await.map(drop) })
    })
}

/// Refuses ids that are recorded for an owner outside `visible`; `None` admits all. Ids without a record are left to
/// the provider. Returns the owner of the last id that has a record.
pub async fn refuse_others(
    gateway: &Gateway,
    visible: Option<&OwnerFilter>,
    ids: &[String],
) -> Result<Option<Owner>, Fault> {
    if ids.len() > MOST_REFERENCES {
        let message = format!("The request names more than {MOST_REFERENCES} stored objects.");
        return Err(fault::invalid_json(message));
    }
    let mut recorded = None;
    for id in ids {
        let owner = match owner_of(gateway, id).await {
            // A caller that may see all objects does not depend on storage.
            Err(_) if visible.is_none() => None,
            owner => owner?,
        };
        if owner.as_ref().is_some_and(|owner| visible.is_some_and(|visible| !visible.admits(owner))) {
            let shown: String = id.chars().take(80).collect();
            return Err(fault::not_found(format!("'{shown}' was not found.")));
        }
        recorded = owner.or(recorded);
    }
    Ok(recorded)
}

async fn owner_of(gateway: &Gateway, id: &str) -> Result<Option<Owner>, Fault> {
    if let Some(object) = gateway.responses.owner_of(id).await? {
        return Ok(Some(object.owner));
    }
    Ok(gateway.responses.find(id).await?.map(|response| response.owner))
}

/// The ids of stored objects that a complete body refers to; a large body is searched on a worker thread.
pub async fn references_of(gateway: &Gateway, body: &Bytes, keys: KeyFilter) -> Result<Vec<String>, Fault> {
    let shared = body.clone();
    gateway.with_bytes(body.len(), move || references_in(&shared, keys)).await
}

/// Records the owner of these objects. Providers delete `temporary` ones after some weeks.
pub fn record(gateway: &Gateway, owner: &Owner, provider: &str, ids: Vec<String>, temporary: bool) {
    let now = gateway.clock.now();
    let ttl = gateway.policy.response_ttl.max(SHORTEST_TTL).as_micros();
    let expires_at = if temporary {
        Timestamp(now.micros().saturating_add(i64::try_from(ttl).unwrap_or(i64::MAX)))
    } else {
        Timestamp(i64::MAX)
    };
    for id in ids {
        let provider = provider.to_owned();
        let owner = owner.clone();
        gateway.responses.record_owner(OwnedObject { id, owner, provider, created_at: now, expires_at });
    }
}
