//! Updates a stored key with optimistic concurrency control.

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::auth_key::AuthKey;
use http::HeaderMap;
use store::{StoreError, Stored, Write as Writing};

use super::super::record;
use crate::App;
use crate::fault::Problem;

const ATTEMPTS: usize = 5;

/// Applies a change to a stored key; nothing is written if nothing changes. A change that loses a race is retried on
/// the newer version, unless the client sent `If-Match`.
pub async fn amend(
    app: &App,
    principal: &Principal,
    id: &str,
    headers: &HeaderMap,
    change: impl Fn(&Stored<AuthKey>) -> Result<AuthKey, Fault>,
) -> Result<Stored<AuthKey>, Problem> {
    let keys = app.refresher.store().collection::<AuthKey>();
    for _ in 0..ATTEMPTS {
        let stored = super::find(app, principal, id).await?;
        record::expect(headers, Some(&stored.etag()))?;
        let changed = change(&stored)?;
        if changed == stored.value {
            return Ok(stored);
        }
        let etag = stored.etag();
        // A changed key of the configuration file is stored in its place.
        let (write, etag) = match stored.revision {
            0 => (Writing::Create, None),
            _ => (Writing::Replace, Some(&*etag)),
        };
        match keys.put(&changed, write, principal.actor(), etag).await {
            Err(StoreError::PreconditionFailed | StoreError::Conflict { .. }) => continue,
            Err(StoreError::NotFound) => return Err(super::missing(id).into()),
            written => {
                let written = written?;
                app.refresher.refresh().await?;
                return Ok(written);
            }
        }
    }
    Err(fault::conflict("The key is being changed by others at the same time: try again.").into())
}
