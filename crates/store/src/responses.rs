//! Stored Responses: owner, content and the previous turn of each.

mod history;
pub(crate) mod owners;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::{Clock, Timestamp};
use domain::user_path::UserPath;
use tokio::sync::watch;

use crate::StoreError;
use crate::database::Database;
use crate::expiry::{ExpiringTable, LARGE_ROWS, SMALL_ROWS};
use crate::responses::rows::Statements;
use crate::write_behind::{Aged, BatchSink, Queued, WriteBehindQueue};

pub use owners::OwnedObject;

/// Storage timeout for lookups on the request path.
const LIMIT: Duration = Duration::from_secs(1);
/// Maximum length of an id; PostgreSQL could not index longer ones.
const LONGEST_ID: usize = 512;
pub(crate) const EXPIRING: ExpiringTable = ExpiringTable { name: "responses", time: "expires_at", key: "id" };

/// A Response and the turn that produced it.
///
/// The three texts contain whatever users and models wrote. They are stored as plain text: encryption is for
/// credentials, and anyone who may read the database may read these.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResponse {
    pub id: String,
    pub owner: Owner,
    /// The instance that served it.
    pub provider: String,
    /// The provider's own id; empty if it has none.
    pub upstream_id: String,
    /// True if it can be retrieved; streamed ones cannot and have no body.
    pub retrievable: bool,
    /// True if another turn can follow it; otherwise only its owner is recorded.
    pub usable: bool,
    /// The response object as sent to the client.
    pub body: Bytes,
    /// The input items of this turn only, a JSON array.
    pub input: Bytes,
    /// The output items, a JSON array.
    pub output: Bytes,
    pub previous: Option<String>,
    pub created_at: Timestamp,
    /// From this time on it is treated as absent.
    pub expires_at: Timestamp,
}

/// The owner of a Response; all three fields must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The id of a key, or `master`.
    pub key: String,
    pub user_path: String,
    pub tenant: Option<String>,
}

/// The owners whose Responses a caller can access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Only this owner.
    Exact(Owner),
    /// Any key, at or below a user path.
    Subtree(UserPath),
}

impl OwnerFilter {
    pub fn admits(&self, owner: &Owner) -> bool {
        match self {
            Self::Exact(own) => own == owner,
            Self::Subtree(path) => UserPath::parse(&owner.user_path).is_ok_and(|made| path.covers(&made)),
        }
    }
}

/// The result of an ownership check.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is looked at and taken apart, never kept")]
pub enum Found {
    Yours(StoredResponse),
    NotYours,
    Unknown,
}

/// The stored Responses; clones share their state.
#[derive(Clone)]
pub struct Responses(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    statements: Statements,
    backlog: WriteBehindQueue<StoredResponse>,
    /// Owners of other objects, which are written in the same way as responses.
    owners: WriteBehindQueue<OwnedObject>,
}

impl Queued for StoredResponse {
    const NAME: &'static str = "responses";

    fn id(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> usize {
        self.body.len() + self.input.len() + self.output.len()
    }

    fn without_texts(&self) -> Self {
        let (body, input, output) = (Bytes::new(), Bytes::new(), Bytes::new());
        Self { body, input, output, retrievable: false, usable: false, ..self.clone() }
    }

    /// Only for the same owner: ids come from providers, and a provider that repeats one must not give a response to
    /// another owner.
    fn gives_way_to(&self, other: &Self) -> bool {
        self.owner == other.owner
    }
}

impl BatchSink<StoredResponse> for Inner {
    async fn write(&self, batch: &[Aged<StoredResponse>]) -> Result<(), StoreError> {
        self.statements.write(&self.database, batch).await
    }
}

impl Responses {
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>) -> Self {
        let statements = Statements::new(database.is_postgres());
        Self(Arc::new(Inner {
            database,
            clock,
            statements,
            backlog: WriteBehindQueue::default(),
            owners: WriteBehindQueue::default(),
        }))
    }

    /// Writes queued items until stopped, then the remaining ones.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        tokio::join!(self.0.backlog.run(&*self.0, stop.clone()), self.0.owners.run(&*self.0, stop));
    }

    /// Queues a response. It is visible to this process when this returns; `run` writes it to storage shortly after,
    /// and retries while storage is unavailable. The queue is bounded: beyond 64 MiB the oldest lose their texts and
    /// keep their owner. A later response with the same id and owner replaces the earlier one.
    pub fn put(&self, response: StoredResponse) {
        if !is_id(&response.id) {
            tracing::warn!(length = response.id.len(), "response not stored: invalid id");
            return;
        }
        self.0.backlog.put(storable(response));
    }

    /// Finds a response in the queue, then in storage, with a timeout of one second.
    pub async fn find(&self, id: &str) -> Result<Option<StoredResponse>, StoreError> {
        if !is_id(id) {
            return Ok(None);
        }
        let now = self.0.clock.now();
        if let Some(response) = self.0.backlog.get(id) {
            return Ok((response.expires_at > now).then(|| (*response).clone()));
        }
        let rows = limited(self.0.database.fetch(rows::ONE, &[id.into(), now.micros().into()])).await?;
        rows.first().map(rows::read).transpose()
    }

    /// Like `find`, restricted to the owners that the filter admits; `None` admits all.
    pub async fn find_owned(&self, id: &str, filter: Option<&OwnerFilter>) -> Result<Found, StoreError> {
        Ok(match self.find(id).await? {
            None => Found::Unknown,
            Some(response) if filter.is_none_or(|filter| filter.admits(&response.owner)) => {
                Found::Yours(response)
            }
            Some(_) => Found::NotYours,
        })
    }

    /// Deletes a response and its owner; returns whether there was one. Nothing is deleted while storage is
    /// unavailable.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM responses WHERE id = $1 AND expires_at > $2";
        if !is_id(id) {
            return Ok(false);
        }
        let now = self.0.clock.now();
        limited(async {
            let _alone = self.0.backlog.writing.lock().await;
            let stored = self.0.database.execute(DELETE, &[id.into(), now.micros().into()]).await? > 0;
            let waiting = self.0.backlog.pending.lock().remove(id);
            Ok(stored || waiting.is_some_and(|response| response.expires_at > now))
        })
        .await
    }

    /// Deletes entries that have expired by `now`, in batches; returns the number of rows.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        let database = &self.0.database;
        let mut deleted = EXPIRING.delete_expired(database, now, LARGE_ROWS).await?;
        deleted += owners::EXPIRING.delete_expired(database, now, SMALL_ROWS).await?;
        Ok(deleted)
    }
}

async fn limited<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match tokio::time::timeout(LIMIT, work).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {} ms", LIMIT.as_millis()))),
    }
}

/// True if both databases can store the id as a key.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST_ID && !id.contains('\0')
}

/// Removes what must not be stored and replaces text that the databases do not accept, so that queued and stored
/// responses read the same.
fn storable(mut response: StoredResponse) -> StoredResponse {
    response.retrievable &= response.usable;
    if !response.retrievable {
        response.body.clear();
    }
    if !response.usable {
        response.input.clear();
        response.output.clear();
    }
    for text in [&mut response.body, &mut response.input, &mut response.output] {
        if std::str::from_utf8(text).is_err() || text.contains(&0) {
            *text = String::from_utf8_lossy(text).replace('\0', "\u{fffd}").into();
        }
    }
    response.previous = response.previous.filter(|previous| is_id(previous));
    if !is_id(&response.upstream_id) {
        response.upstream_id.clear();
    }
    let Owner { key, user_path, tenant } = &mut response.owner;
    for text in [key, user_path, &mut response.provider].into_iter().chain(tenant) {
        if text.contains('\0') {
            *text = text.replace('\0', "\u{fffd}");
        }
    }
    response
}
