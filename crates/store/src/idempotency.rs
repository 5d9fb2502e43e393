//! Calls that their clients may repeat: whoever comes first has the key, and what it was answered is kept for the others.

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
use crate::backlog::{Aged, Backlog, Shelf, Waiting};
use crate::database::Database;

pub use claim::Claim;
use claim::{Running, is_free};

/// How long a call waits for storage to say whether a key is free. One that hears nothing goes on without it.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long it waits for an answer that is known to be there.
const LIMIT: Duration = Duration::from_secs(1);
/// How many rows one statement forgets, so that others get their turn in between.
const FORGOTTEN_AT_ONCE: i64 = 200;

/// Which call: a digest of whose key it is and what it was used for, and one of what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeatable {
    pub id: String,
    pub fingerprint: String,
    /// Unique to this try at it.
    pub token: String,
}

/// An answer as it left. What is in the head is up to whoever kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub head: String,
    pub body: Bytes,
}

/// What a call with a key is to do.
pub enum Claimed {
    /// Go on: nobody else has it.
    Yours(Claim),
    /// Somebody is at it.
    Running,
    /// The key was used for something else.
    Mismatch,
    /// It was answered before.
    Answered(KeptAnswer),
    /// It was answered before, and nobody knows any more what was said.
    NotKept,
}

/// The keys in use; clones share them.
#[derive(Clone)]
pub struct Idempotency(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    /// The calls under way in this process.
    running: Mutex<HashMap<String, Running>>,
    backlog: Backlog<Record>,
}

/// What became of a call.
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
    /// It came to nothing: the key is free again.
    Released,
}

impl Waiting for Record {
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

impl Shelf<Record> for Inner {
    async fn write(&self, batch: &[Aged<Record>]) -> Result<(), StoreError> {
        rows::write(&self.database, batch, self.clock.now()).await
    }
}

impl Idempotency {
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { database, clock, running: Mutex::default(), backlog: Backlog::default() }))
    }

    /// Writes what calls left behind until told to stop, then what is left.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        self.0.backlog.run(&*self.0, stop).await;
    }

    /// Takes the key, or says why not. While storage is away only this process is asked.
    pub async fn claim(&self, call: Repeatable) -> Result<Claimed, StoreError> {
        if let Some(taken) = self.taken_here(&call) {
            return Ok(taken);
        }
        let released = self.released(&call.id);
        let reachable = match self.taken_there(&call, released.as_deref()).await {
            Ok(None) => true,
            Ok(Some(taken)) => return Ok(taken),
            Err(Unheard::Silent(error)) => {
                tracing::warn!(%error, "a repeatable call goes on without storage");
                false
            }
            Err(Unheard::Lost(error)) => return Err(error),
        };
        let Some(claim) = Claim::take(self, &call) else {
            return Ok(self.taken_here(&call).unwrap_or(Claimed::Running));
        };
        // Somebody may have come and gone since it was looked for.
        if let Some(taken) = self.answered_here(&call) {
            claim.give_up();
            return Ok(taken);
        }
        if reachable && !self.lease(&call, released.as_deref()).await {
            match self.taken_there(&call, released.as_deref()).await {
                Ok(Some(taken)) => {
                    claim.give_up();
                    return Ok(taken);
                }
                Err(Unheard::Lost(error)) => {
                    claim.give_up();
                    return Err(error);
                }
                Ok(None) | Err(Unheard::Silent(_)) => {}
            }
        }
        Ok(Claimed::Yours(claim))
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

    /// The last try in this process came to nothing, and storage does not know yet.
    fn released(&self, id: &str) -> Option<String> {
        let record = self.0.backlog.get(id)?;
        (record.outcome == Outcome::Released).then(|| record.call.token.clone())
    }

    async fn taken_there(
        &self,
        call: &Repeatable,
        released: Option<&str>,
    ) -> Result<Option<Claimed>, Unheard> {
        let found =
            limited(PATIENCE, rows::find(&self.0.database, &call.id)).await.map_err(Unheard::Silent)?;
        let Some(row) = found.filter(|row| !is_free(row, released, self.0.clock.now())) else {
            return Ok(None);
        };
        if row.fingerprint != call.fingerprint {
            return Ok(Some(Claimed::Mismatch));
        }
        Ok(Some(match row.state {
            rows::RUNNING => Claimed::Running,
            rows::KEPT => {
                let body = limited(LIMIT, rows::body(&self.0.database, &call.id)).await;
                let body = body.map_err(Unheard::Lost)?;
                body.map_or(Claimed::NotKept, |body| Claimed::Answered(KeptAnswer { head: row.head, body }))
            }
            _ => Claimed::NotKept,
        }))
    }

    /// Forgets what has expired by `now`, a few at a time; answers how many rows that was.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        const EXPIRED: &str = "DELETE FROM idempotency WHERE id IN \
             (SELECT id FROM idempotency WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        let mut deleted = 0;
        loop {
            let values = [now.micros().into(), FORGOTTEN_AT_ONCE.into()];
            let count = self.0.database.execute(EXPIRED, &values).await?;
            deleted += count;
            if count < FORGOTTEN_AT_ONCE as u64 {
                return Ok(deleted);
            }
        }
    }
}

/// Why storage did not say what it knows of a key.
enum Unheard {
    /// It said nothing: the call goes on.
    Silent(StoreError),
    /// There is an answer, and it cannot be had: going on would be to do it twice.
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
