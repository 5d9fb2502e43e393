//! The webhook outbox: messages are kept until delivered. Due ones are leased, so that only one replica at a time sends
//! each.

use domain::clock::Timestamp;

use crate::StoreError;
use crate::database::{Database, Row, Value, Writing};

#[derive(Clone)]
pub struct Outbox(Database);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: String,
    pub created_at: Timestamp,
    pub event: String,
    pub url: String,
    pub body: String,
}

/// A message that is due, and the number of earlier attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub message: Message,
    pub attempts: u32,
}

/// A message with the state of its delivery, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub id: String,
    pub created_at: Timestamp,
    pub event: String,
    pub attempts: u32,
    /// The time of the next attempt, if it is still being delivered.
    pub next_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub last_error: Option<String>,
}

impl OutboxEntry {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get(0)?,
            created_at: Timestamp(row.get(1)?),
            event: row.get(2)?,
            attempts: u32::try_from(row.get::<i64>(3)?).unwrap_or(u32::MAX),
            next_at: Timestamp(row.get(4)?),
            delivered_at: row.get::<Option<i64>>(5)?.map(Timestamp),
            failed_at: row.get::<Option<i64>>(6)?.map(Timestamp),
            last_error: row.get(7)?,
        })
    }
}

/// A crossed budget threshold; recorded once, whichever process detects it.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    pub budget: String,
    pub window_start: Timestamp,
    pub threshold: f64,
    pub at: Timestamp,
}

const DUE: &str = "SELECT id, created_at, event, url, body, attempts, leased_until FROM outbox \
    WHERE delivered_at IS NULL AND failed_at IS NULL AND next_at <= $1 AND leased_until <= $1 \
    ORDER BY next_at, id LIMIT 1";
const LEASE: &str = "UPDATE outbox SET leased_until = $1, attempts = attempts + 1 \
    WHERE id = $2 AND leased_until = $3 AND delivered_at IS NULL AND failed_at IS NULL";

impl Outbox {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    pub async fn put(&self, message: &Message) -> Result<(), StoreError> {
        self.0
            .limited(async {
                let mut open = self.0.begin().await?;
                insert(&mut open, message).await?;
                open.commit().await
            })
            .await
    }

    /// Adds a message unless there is one with its id.
    pub async fn put_once(&self, message: &Message) -> Result<(), StoreError> {
        const ONCE: &str = "INSERT INTO outbox (id, created_at, event, url, attempts, next_at, leased_until, body) \
            VALUES ($1, $2, $3, $4, 0, $5, 0, $6) ON CONFLICT (id) DO NOTHING";
        self.0.execute(ONCE, &new_row(message)).await.map(drop)
    }

    /// Makes a finished message due again; false if there is none, or if it is still being delivered.
    pub async fn replay(&self, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        const AGAIN: &str = "UPDATE outbox SET delivered_at = NULL, failed_at = NULL, last_error = NULL, \
            attempts = 0, next_at = $1, leased_until = 0 \
            WHERE id = $2 AND (delivered_at IS NOT NULL OR failed_at IS NOT NULL)";
        Ok(self.0.execute(AGAIN, &[now.micros().into(), id.into()]).await? == 1)
    }

    /// The messages, newest first: at most `limit` before the one with the id `before`.
    pub async fn list(&self, before: Option<&str>, limit: i64) -> Result<Vec<OutboxEntry>, StoreError> {
        let cursor = match before {
            Some(id) => match self.find(id).await? {
                Some(entry) => (entry.created_at.micros(), entry.id),
                None => return Ok(Vec::new()),
            },
            None => (i64::MAX, String::new()),
        };
        const LIST: &str = "SELECT id, created_at, event, attempts, next_at, delivered_at, failed_at, last_error \
            FROM outbox WHERE created_at < $1 OR (created_at = $1 AND id < $2) \
            ORDER BY created_at DESC, id DESC LIMIT $3";
        let rows = self.0.fetch(LIST, &[cursor.0.into(), (&cursor.1).into(), limit.into()]).await?;
        rows.iter().map(OutboxEntry::read).collect()
    }

    /// The message with this id.
    pub async fn find(&self, id: &str) -> Result<Option<OutboxEntry>, StoreError> {
        const FIND: &str = "SELECT id, created_at, event, attempts, next_at, delivered_at, failed_at, last_error \
            FROM outbox WHERE id = $1";
        let rows = self.0.fetch(FIND, &[id.into()]).await?;
        rows.first().map(OutboxEntry::read).transpose()
    }

    /// Records an alert and queues its message; false if it was recorded before.
    pub async fn alert(&self, alert: &Alert, message: Option<&Message>) -> Result<bool, StoreError> {
        const ONCE: &str = "INSERT INTO budget_alerts (budget, window_start, threshold, at) \
            VALUES ($1, $2, $3, $4) ON CONFLICT (budget, window_start, threshold) DO NOTHING";
        let threshold = alert.threshold.to_string();
        let values: [Value<'_>; 4] = [
            (&alert.budget).into(),
            alert.window_start.micros().into(),
            (&threshold).into(),
            alert.at.micros().into(),
        ];
        self.0
            .limited(async {
                let mut open = self.0.begin().await?;
                if open.execute(ONCE, &values).await? == 0 {
                    return Ok(false);
                }
                if let Some(message) = message {
                    insert(&mut open, message).await?;
                }
                open.commit().await?;
                Ok(true)
            })
            .await
    }

    /// Leases a due message until `until`.
    pub async fn claim(&self, now: Timestamp, until: Timestamp) -> Result<Option<Delivery>, StoreError> {
        loop {
            let rows = self.0.fetch(DUE, &[now.micros().into()]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let message = Message {
                id: row.get(0)?,
                created_at: Timestamp(row.get(1)?),
                event: row.get(2)?,
                url: row.get(3)?,
                body: row.get(4)?,
            };
            let attempts = u32::try_from(row.get::<i64>(5)?).unwrap_or(u32::MAX);
            let held: i64 = row.get(6)?;
            let lease = [until.micros().into(), (&message.id).into(), held.into()];
            // If another process was faster, look for the next message.
            if self.0.execute(LEASE, &lease).await? == 1 {
                return Ok(Some(Delivery { message, attempts }));
            }
        }
    }

    pub async fn delivered(&self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        const DONE: &str = "UPDATE outbox SET delivered_at = $1, last_error = NULL WHERE id = $2";
        self.0.execute(DONE, &[at.micros().into(), id.into()]).await.map(drop)
    }

    /// Schedules the next attempt.
    pub async fn postpone(&self, id: &str, next_at: Timestamp, error: &str) -> Result<(), StoreError> {
        const LATER: &str = "UPDATE outbox SET next_at = $1, leased_until = 0, last_error = $2 WHERE id = $3";
        self.0.execute(LATER, &[next_at.micros().into(), error.into(), id.into()]).await.map(drop)
    }

    pub async fn give_up(&self, id: &str, at: Timestamp, error: &str) -> Result<(), StoreError> {
        const FAILED: &str = "UPDATE outbox SET failed_at = $1, last_error = $2 WHERE id = $3";
        self.0.execute(FAILED, &[at.micros().into(), error.into(), id.into()]).await.map(drop)
    }

    /// The time at which the next message is due or its lease ends.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        const NEXT: &str = "SELECT next_at, leased_until FROM outbox \
            WHERE delivered_at IS NULL AND failed_at IS NULL ORDER BY next_at LIMIT 100";
        let rows = self.0.fetch(NEXT, &[]).await?;
        let mut next: Option<i64> = None;
        for row in &rows {
            let due = row.get::<i64>(0)?.max(row.get(1)?);
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        Ok(next.map(Timestamp))
    }

    /// Deletes messages that were delivered or given up before a time.
    pub async fn forget(&self, before: Timestamp) -> Result<(), StoreError> {
        const MESSAGES: &str = "DELETE FROM outbox WHERE delivered_at < $1 OR failed_at < $1";
        self.0.execute(MESSAGES, &[before.micros().into()]).await.map(drop)
    }

    /// Deletes alerts of windows that started before a time; those windows must be over.
    pub async fn forget_alerts(&self, before: Timestamp) -> Result<(), StoreError> {
        const ALERTS: &str = "DELETE FROM budget_alerts WHERE window_start < $1";
        self.0.execute(ALERTS, &[before.micros().into()]).await.map(drop)
    }
}

async fn insert(open: &mut Writing, message: &Message) -> Result<(), StoreError> {
    const NEW: &str = "INSERT INTO outbox (id, created_at, event, url, attempts, next_at, leased_until, body) \
        VALUES ($1, $2, $3, $4, 0, $5, 0, $6)";
    open.execute(NEW, &new_row(message)).await.map(drop)
}

/// The values of a row for a message that has not been sent.
fn new_row(message: &Message) -> [Value<'_>; 6] {
    let at = message.created_at.micros();
    [
        (&message.id).into(),
        at.into(),
        (&message.event).into(),
        (&message.url).into(),
        at.into(),
        (&message.body).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::for_each_backend;

    fn message(id: &str, second: i64) -> Message {
        Message {
            id: id.into(),
            created_at: Timestamp::from_seconds(second),
            event: "test".into(),
            url: "https://example.com/hook".into(),
            body: "{}".into(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    #[tokio::test]
    async fn a_message_is_one_senders_at_a_time_and_comes_back_until_it_is_over() {
        for_each_backend(|store| async move {
            let outbox = store.outbox();
            let claim = async |now: i64| {
                let found = outbox.claim(at(now), at(now + 60)).await.unwrap();
                found.map(|delivery| (delivery.message.id, delivery.attempts))
            };
            outbox.put(&message("a", 10)).await.unwrap();
            outbox.put(&message("b", 20)).await.unwrap();
            assert_eq!(claim(5).await, None);
            assert_eq!(claim(20).await, Some(("a".into(), 0)));
            assert_eq!(claim(20).await, Some(("b".into(), 0)));
            assert_eq!(claim(20).await, None, "both are leased");
            assert_eq!(outbox.next_due().await.unwrap(), Some(at(80)));
            assert_eq!(claim(80).await, Some(("a".into(), 1)), "who held it has died");
            outbox.postpone("a", at(100), "no answer").await.unwrap();
            assert_eq!(outbox.next_due().await.unwrap(), Some(at(80)));
            assert_eq!(claim(90).await, Some(("b".into(), 1)));
            outbox.delivered("b", at(91)).await.unwrap();
            assert_eq!(claim(99).await, None);
            assert_eq!(claim(100).await, Some(("a".into(), 2)));
            outbox.give_up("a", at(101), "gone").await.unwrap();
            assert_eq!((claim(10_000).await, outbox.next_due().await.unwrap()), (None, None));
            outbox.forget(at(101)).await.unwrap();
            outbox.put(&message("b", 20)).await.unwrap();
            assert!(outbox.put(&message("a", 20)).await.is_err(), "it is not that old");
        })
        .await;
    }

    #[tokio::test]
    async fn messages_are_listed_and_replayed() {
        for_each_backend(|store| async move {
            let outbox = store.outbox();
            outbox.put_once(&message("a", 10)).await.unwrap();
            outbox.put_once(&message("a", 99)).await.unwrap();
            outbox.put_once(&message("b", 10)).await.unwrap();
            outbox.put_once(&message("c", 20)).await.unwrap();
            let ids = async |before: Option<&str>, limit: i64| -> Vec<String> {
                outbox.list(before, limit).await.unwrap().into_iter().map(|entry| entry.id).collect()
            };
            assert_eq!(ids(None, 10).await, ["c", "b", "a"]);
            assert_eq!(ids(None, 1).await, ["c"]);
            assert_eq!(ids(Some("c"), 1).await, ["b"]);
            assert_eq!(ids(Some("b"), 9).await, ["a"]);
            assert!(ids(Some("no"), 9).await.is_empty());
            assert!(!outbox.replay("a", at(30)).await.unwrap(), "it is not finished");
            assert!(!outbox.replay("no", at(30)).await.unwrap());
            outbox.claim(at(20), at(80)).await.unwrap().unwrap();
            outbox.give_up("a", at(21), "gone").await.unwrap();
            let failed = outbox.find("a").await.unwrap().unwrap();
            assert_eq!(
                (failed.attempts, failed.failed_at, &*failed.last_error.unwrap()),
                (1, Some(at(21)), "gone")
            );
            assert!(outbox.replay("a", at(30)).await.unwrap());
            let again = outbox.find("a").await.unwrap().unwrap();
            assert_eq!(
                (again.attempts, again.next_at, again.failed_at, again.last_error),
                (0, at(30), None, None)
            );
            outbox.delivered("a", at(31)).await.unwrap();
            assert_eq!(outbox.find("a").await.unwrap().unwrap().delivered_at, Some(at(31)));
        })
        .await;
    }

    #[tokio::test]
    async fn a_threshold_queues_one_message() {
        for_each_backend(|store| async move {
            let outbox = store.outbox();
            let alert = Alert { budget: "/|3600".into(), window_start: at(0), threshold: 0.8, at: at(5) };
            assert!(outbox.alert(&alert, Some(&message("a", 5))).await.unwrap());
            assert!(!outbox.alert(&alert, Some(&message("b", 6))).await.unwrap());
            let next = Alert { window_start: at(3600), ..alert.clone() };
            assert!(outbox.alert(&next, None).await.unwrap());
            let higher = Alert { threshold: 1.0, ..alert.clone() };
            assert!(outbox.alert(&higher, None).await.unwrap());
            let sent = outbox.claim(at(100), at(200)).await.unwrap().unwrap();
            assert_eq!(sent.message, message("a", 5));
            assert_eq!(outbox.claim(at(100), at(200)).await.unwrap(), None);
            outbox.forget_alerts(at(3600)).await.unwrap();
            assert!(outbox.alert(&alert, None).await.unwrap() && !outbox.alert(&next, None).await.unwrap());
        })
        .await;
    }
}
