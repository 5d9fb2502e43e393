//! Idempotency keys: the first call claims the key, and its response is stored for repeated calls.

mod claim;
mod lease;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::{Clock, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::StoreError;
use crate::database::Database;
use crate::expiry::{ExpiringTable, LARGE_ROWS};
use crate::write_behind::{Aged, BatchSink, Queued, WriteBehindQueue};

pub use claim::Claim;
use claim::{Running, is_free};

/// Timeout for looking up a key in storage, and again for claiming it. After a timeout the call continues without
/// storage.
const PATIENCE: Duration = Duration::from_millis(250);
/// Lookup timeout on SQLite, which is local: reads may have to wait for reports that occupy its few readers.
const SQLITE_PATIENCE: Duration = Duration::from_secs(1);
/// Timeout for reading a stored response that is known to exist.
const LIMIT: Duration = Duration::from_secs(1);
pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "idempotency", time: "expires_at", key: "id" };

/// The identity of a repeatable call: a digest of owner, route and idempotency key, and a fingerprint of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeatable {
    pub id: String,
    pub fingerprint: String,
    /// Unique to this attempt.
    pub token: String,
}

/// A response as it was sent. The format of the head is defined by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub head: String,
    pub body: Bytes,
}

/// The result of claiming a key.
pub enum Claimed {
    /// The key is free; the call may proceed.
    Yours(Claim),
    /// Another call with this key is in progress.
    Running,
    /// The key was used for another request.
    Mismatch,
    /// The call was answered before.
    Answered(KeptAnswer),
    /// The call was answered before, but the response was not kept.
    NotKept,
}

/// The idempotency keys in use; clones share their state.
#[derive(Clone)]
pub struct Idempotency(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    /// The calls in progress in this process.
    running: Mutex<HashMap<String, Running>>,
    backlog: WriteBehindQueue<Record>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    call: Repeatable,
    outcome: Outcome,
    expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Kept(KeptAnswer),
    NotKept,
    /// The call failed; the key is free again.
    Released,
}

impl Queued for Record {
    const NAME: &'static str = "answers to repeatable calls";

    fn id(&self) -> &str {
        &self.call.id
    }

    fn weight(&self) -> usize {
        match &self.outcome {
            Outcome::Kept(answer) => answer.head.len() + answer.body.len(),
            Outcome::NotKept | Outcome::Released => 0,
        }
    }

    fn without_texts(&self) -> Self {
        let outcome = match &self.outcome {
            Outcome::Kept(_) => Outcome::NotKept,
            other => other.clone(),
        };
        Self { outcome, ..self.clone() }
    }

    fn gives_way_to(&self, _: &Self) -> bool {
        true
    }
}

impl BatchSink<Record> for Inner {
    async fn write(&self, batch: &[Aged<Record>]) -> Result<(), StoreError> {
        rows::write(&self.database, batch, self.clock.now()).await
    }
}

impl Idempotency {
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            database,
            clock,
            running: Mutex::default(),
            backlog: WriteBehindQueue::default(),
        }))
    }

    /// Writes finished calls to storage until stopped, then the remaining ones.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        self.0.backlog.run(&*self.0, stop).await;
    }

    /// Claims the key. While storage is unavailable, only the state of this process is checked.
    pub async fn claim(&self, call: Repeatable) -> Result<Claimed, StoreError> {
        if let Some(taken) = self.taken_here(&call) {
            return Ok(taken);
        }
        let released = self.released(&call.id);
        match self.taken_there(&call, released.as_deref()).await {
            Ok(None) => {}
            Ok(Some(taken)) => return Ok(taken),
            Err(LookupError::Silent(error)) => {
                tracing::warn!(%error, "idempotency key lookup failed");
            }
            Err(LookupError::Lost(error)) => return Err(error),
        }
        let Some(claim) = Claim::take(self, &call) else {
            return Ok(self.taken_here(&call).unwrap_or(Claimed::Running));
        };
        // Another call may have finished since the lookup.
        if let Some(taken) = self.answered_here(&call) {
            claim.give_up();
            return Ok(taken);
        }
        match self.announce(&call, released.as_deref()).await {
            Ok(None) => Ok(Claimed::Yours(claim)),
            Ok(Some(taken)) => {
                claim.give_up();
                Ok(taken)
            }
            Err(error) => {
                claim.give_up();
                Err(error)
            }
        }
    }

    /// Claims the key in storage, even if the lookup failed: storage may respond by now, and gives the key only once.
    /// Returns the state of the key if another call has it.
    async fn announce(
        &self,
        call: &Repeatable,
        released: Option<&str>,
    ) -> Result<Option<Claimed>, StoreError> {
        for _ in 0..2 {
            if self.lease(call, released).await {
                return Ok(None);
            }
            match self.taken_there(call, released).await {
                Ok(Some(taken)) => return Ok(Some(taken)),
                Err(LookupError::Lost(error)) => return Err(error),
                Err(LookupError::Silent(_)) => break,
                // Released in between.
                Ok(None) => {}
            }
        }
        Ok(Some(Claimed::Running))
    }

    fn taken_here(&self, call: &Repeatable) -> Option<Claimed> {
        let running = self.0.running.lock().get(&call.id).map(|running| running.answers(call));
        running.or_else(|| self.answered_here(call))
    }

    fn answered_here(&self, call: &Repeatable) -> Option<Claimed> {
        let record = self.0.backlog.get(&call.id)?;
        let answer = match &record.outcome {
            _ if record.expires_at <= self.0.clock.now() => return None,
            Outcome::Released => return None,
            _ if record.call.fingerprint != call.fingerprint => return Some(Claimed::Mismatch),
            Outcome::Kept(answer) => Claimed::Answered(answer.clone()),
            Outcome::NotKept => Claimed::NotKept,
        };
        Some(answer)
    }

    /// The token of the last attempt in this process, if it failed and storage has not recorded the release yet.
    fn released(&self, id: &str) -> Option<String> {
        let record = self.0.backlog.get(id)?;
        (record.outcome == Outcome::Released).then(|| record.call.token.clone())
    }

    async fn taken_there(
        &self,
        call: &Repeatable,
        released: Option<&str>,
    ) -> Result<Option<Claimed>, LookupError> {
        let database = &self.0.database;
        let patience = if database.is_postgres() { PATIENCE } else { SQLITE_PATIENCE };
        let found = limited(patience, rows::find(database, &call.id)).await.map_err(LookupError::Silent)?;
        let Some(row) = found.filter(|row| !is_free(row, released, self.0.clock.now())) else {
            return Ok(None);
        };
        if row.fingerprint != call.fingerprint {
            return Ok(Some(Claimed::Mismatch));
        }
        Ok(Some(match row.state {
            rows::RUNNING => Claimed::Running,
            rows::KEPT => {
                let body = limited(LIMIT, rows::body(database, &call.id)).await;
                let body = body.map_err(LookupError::Lost)?;
                body.map_or(Claimed::NotKept, |body| Claimed::Answered(KeptAnswer { head: row.head, body }))
            }
            _ => Claimed::NotKept,
        }))
    }

    /// Deletes entries that have expired by `now`, in batches; returns the number of rows.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        EXPIRING.delete_expired(&self.0.database, now, LARGE_ROWS).await
    }
}

/// A failed lookup of a key.
enum LookupError {
    /// Storage did not respond; the call continues.
    Silent(StoreError),
    /// A response is stored but cannot be read; continuing would execute the call twice.
    Lost(StoreError),
}

async fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {} ms", limit.as_millis()))),
    }
}
