//! The Responses that were handed out: whose they are, what they said, and which turn each of them followed.

mod history;
mod owners;
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
use crate::backlog::{Aged, Backlog, Shelf, Waiting};
use crate::database::Database;
use crate::responses::rows::Statements;

pub use owners::OwnedObject;

/// How long a call waits for storage here.
const LIMIT: Duration = Duration::from_secs(1);
/// No id is longer; what is could not be indexed by PostgreSQL.
const LONGEST_ID: usize = 512;
/// How many rows one statement forgets, so that others get their turn in between.
const FORGOTTEN_AT_ONCE: i64 = 200;

/// One Response and the turn that made it.
///
/// The three texts hold whatever users and models wrote. They lie in storage as plain text: sealing is for
/// credentials, and whoever may read the database may read these.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResponse {
    pub id: String,
    pub owner: Owner,
    /// The instance that served it.
    pub provider: String,
    /// The provider's own id, empty if it has none.
    pub upstream_id: String,
    /// Whether it can be read back; streamed ones cannot, and have no body.
    pub retrievable: bool,
    /// Whether it can be followed by another turn; if not, only its owner is recorded.
    pub usable: bool,
    /// The response object as the client got it.
    pub body: Bytes,
    /// The input items of this turn alone, a JSON array.
    pub input: Bytes,
    /// The output items, a JSON array.
    pub output: Bytes,
    pub previous: Option<String>,
    pub created_at: Timestamp,
    /// From then on it is as if it had never been.
    pub expires_at: Timestamp,
}

/// Whose a Response is: all three must be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The id of a key, or `master`.
    pub key: String,
    pub user_path: String,
    pub tenant: Option<String>,
}

/// Which owners' Responses a caller reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerFilter {
    /// This owner's alone.
    Exact(Owner),
    /// Those of any key, made at or below a user path.
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

/// What a caller may know of an id.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is looked at and taken apart, never kept")]
pub enum Found {
    Yours(StoredResponse),
    NotYours,
    Unknown,
}

/// The stored Responses; clones share them.
#[derive(Clone)]
pub struct Responses(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    statements: Statements,
    backlog: Backlog<StoredResponse>,
    /// Owners of other objects, which wait to be written as responses do.
    owners: Backlog<OwnedObject>,
}

impl Waiting for StoredResponse {
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

    /// Providers give ids out, and one that repeats them must not hand a response to somebody else.
    fn gives_way_to(&self, other: &Self) -> bool {
        self.owner == other.owner
    }
}

impl Shelf<StoredResponse> for Inner {
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
            backlog: Backlog::default(),
            owners: Backlog::default(),
        }))
    }

    /// Writes what is put until told to stop, then what is left.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        tokio::join!(self.0.backlog.run(&*self.0, stop.clone()), self.0.owners.run(&*self.0, stop));
    }

    /// Visible to this process when this returns; `run` writes it to storage a moment later, and tries again while
    /// storage is away. What waits is bounded: beyond 64 MiB the oldest lose their texts and keep their owner.
    /// A second one of the same id takes the place of the first.
    pub fn put(&self, response: StoredResponse) {
        if !is_id(&response.id) {
            tracing::warn!(length = response.id.len(), "a response whose id is none cannot be kept");
            return;
        }
        self.0.backlog.put(storable(response));
    }

    /// What waits first, then storage, which has a second to answer.
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

    /// As `find`, for one caller; `None` admits every owner.
    pub async fn find_owned(&self, id: &str, filter: Option<&OwnerFilter>) -> Result<Found, StoreError> {
        Ok(match self.find(id).await? {
            None => Found::Unknown,
            Some(response) if filter.is_none_or(|filter| filter.admits(&response.owner)) => {
                Found::Yours(response)
            }
            Some(_) => Found::NotYours,
        })
    }

    /// Forgets it altogether, its owner too; answers whether there was one. When storage is away nothing is deleted.
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

    /// Forgets what has expired by `now`, a few at a time; answers how many rows that was.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        const EXPIRED: &str = "DELETE FROM responses WHERE id IN \
             (SELECT id FROM responses WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        let mut deleted = 0;
        for statement in [EXPIRED, owners::EXPIRED] {
            loop {
                let values = [now.micros().into(), FORGOTTEN_AT_ONCE.into()];
                let count = self.0.database.execute(statement, &values).await?;
                deleted += count;
                if count < FORGOTTEN_AT_ONCE as u64 {
                    break;
                }
            }
        }
        Ok(deleted)
    }
}

async fn limited<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match tokio::time::timeout(LIMIT, work).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {} ms", LIMIT.as_millis()))),
    }
}

/// Whether both databases can keep it as a key.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST_ID && !id.contains('\0')
}

/// Without what must not be kept, and with texts that both databases take, so that what waits is what will be read.
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
