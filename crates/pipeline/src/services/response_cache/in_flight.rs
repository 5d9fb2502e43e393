//! Calls that are being answered, so that identical ones wait for the same answer instead of being sent as well.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{CacheKey, CachedAnswer, Entry, ResponseCache};

/// The answer of a leader, once it has one.
type Announced = Option<Arc<CachedAnswer>>;

/// The calls in flight, by key. The lock is held for lookups only, never while a call waits.
#[derive(Default)]
pub(super) struct InFlight(Mutex<HashMap<CacheKey, watch::Receiver<Announced>>>);

/// The part of a call among identical ones.
pub enum Claim {
    /// The answer is in the cache.
    Found(Arc<CachedAnswer>),
    /// The call is sent, and its answer is for all that wait. `expired`: there was an answer, and it is too old.
    Leader { leader: Leader, expired: bool },
    /// Another call is being answered.
    InFlight(PendingAnswer),
}

impl InFlight {
    /// `find` looks the key up in the cache. It is called under the lock: a leader adds its answer before it gives up its
    /// place, so that no call can miss both.
    pub fn claim(&self, key: CacheKey, cache: &Arc<ResponseCache>, find: impl FnOnce() -> Entry) -> Claim {
        let mut calls = self.0.lock();
        if let Some(receiver) = calls.get(&key) {
            return Claim::InFlight(PendingAnswer(receiver.clone()));
        }
        let expired = match find() {
            Entry::Fresh(answer) => return Claim::Found(answer),
            Entry::Expired => true,
            Entry::Absent => false,
        };
        let (sender, receiver) = watch::channel(None);
        calls.insert(key, receiver);
        Claim::Leader { leader: Leader { cache: cache.clone(), key, sender }, expired }
    }

    fn release(&self, key: &CacheKey) {
        self.0.lock().remove(key);
    }
}

/// The call that is sent on behalf of all identical ones. If it is dropped without an answer, those that wait go on by
/// themselves.
pub struct Leader {
    cache: Arc<ResponseCache>,
    key: CacheKey,
    sender: watch::Sender<Announced>,
}

impl Leader {
    /// Adds the answer to the cache and gives it to all calls that wait.
    pub fn answer(self, answer: CachedAnswer, generation: u64, now: Duration) {
        let answer = Arc::new(answer);
        self.cache.insert_for_all(self.key, answer.clone(), generation, now);
        let _ = self.sender.send(Some(answer));
    }

    /// Adds the answer of another replica to the cache and gives it to all calls that wait.
    pub fn found(self, answer: &Arc<CachedAnswer>, generation: u64) {
        self.cache.insert(self.key, answer.clone(), generation);
        let _ = self.sender.send(Some(answer.clone()));
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.cache.in_flight.release(&self.key);
    }
}

/// The answer of a call in flight, which identical calls wait for.
pub struct PendingAnswer(watch::Receiver<Announced>);

impl PendingAnswer {
    /// The answer of the leader; `None` if it got none.
    pub async fn answer(mut self) -> Option<Arc<CachedAnswer>> {
        self.0.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone())
    }
}
