//! Updates a stored budget with optimistic concurrency control.

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::budget::{Budget, BudgetKey};
use http::HeaderMap;
use store::{StoreError, Stored, Write as Writing};

use super::collection;
use crate::App;
use crate::admin::record;
use crate::fault::Problem;

const ATTEMPTS: usize = 5;

/// Stores the result of `change` applied to the stored budget; `None` deletes it. A change that loses a race is retried
/// on the newer version, unless the client sent `If-Match`.
pub async fn amend(
    app: &App,
    principal: &Principal,
    key: &BudgetKey,
    headers: &HeaderMap,
    change: impl Fn(Option<&Budget>) -> Result<Option<Budget>, Fault>,
) -> Result<Option<Stored<Budget>>, Problem> {
    let name = key.name();
    for _ in 0..ATTEMPTS {
        let found = collection(app).get(&name).await;
        let unreadable = matches!(found, Err(StoreError::Corrupt(_)));
        let known = if unreadable { None } else { found? };
        let etag = known.as_ref().map(Stored::etag);
        record::expect(headers, etag.as_deref())?;
        let known = known.map(|known| known.value);
        let written = match (change(known.as_ref())?, &known) {
            (None, None) if !unreadable => return Ok(None),
            (None, _) => {
                collection(app).delete_any(&name, principal.actor(), etag.as_deref()).await.map(|()| None)
            }
            (Some(budget), known) => {
                let writing = match known {
                    Some(_) => Writing::Replace,
                    None if unreadable => Writing::Upsert,
                    None => Writing::Create,
                };
                collection(app).put(&budget, writing, principal.actor(), etag.as_deref()).await.map(Some)
            }
        };
        match written {
            Err(StoreError::PreconditionFailed | StoreError::NotFound | StoreError::Conflict { .. }) => {
                continue;
            }
            written => return Ok(written?),
        }
    }
    Err(fault::conflict("The budget is being changed by others at the same time: try again.").into())
}
