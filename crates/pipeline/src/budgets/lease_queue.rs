//! Calls that wait for room in budgets that replicas share, by path. A call waits until a take succeeds, or until a take
//! fails after every other replica has given back what was free.

use std::time::Duration;

use domain::money::Nanos;
use store::{LeaseKey, LeaseTaken};
use tokio::sync::oneshot;

/// Pause after a take that found no room; doubled with every further one.
const FIRST_RETRY: Duration = Duration::from_millis(20);
const LAST_RETRY: Duration = Duration::from_millis(80);
/// The shortest time in which small parts that become free on several replicas reach the database.
const GATHERING: Duration = Duration::from_millis(60);
/// Time after which the lease of a replica that does not answer counts as stranded.
const SILENCE: Duration = Duration::from_millis(300);

/// The end of a wait for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// There is room: try again to hold.
    Room,
    /// The budgets have only this much left, over all replicas.
    Refused { room: Nanos },
    /// The database did not answer in time.
    Unknown,
}

#[derive(Default)]
pub struct LeaseQueue {
    pub paths: Vec<PathQueue>,
    next: u64,
}

/// The calls that wait for room in the same windows.
pub struct PathQueue {
    pub keys: Vec<LeaseKey>,
    waiters: Vec<Waiter>,
    round: Option<Round>,
    pause: Duration,
    pub retry_at: Duration,
}

struct Waiter {
    number: u64,
    need: Nanos,
    reply: oneshot::Sender<LeaseOutcome>,
}

/// A request to all replicas to give back what is free.
struct Round {
    started: Duration,
    /// The value of `wanted` that replicas have to answer.
    wanted: Vec<(LeaseKey, i64)>,
    /// The last call that waited when it was sent.
    last: u64,
}

impl Round {
    fn is_over(&self, is_answered: bool, now: Duration) -> bool {
        now.saturating_sub(self.started) >= if is_answered { GATHERING } else { SILENCE }
    }
}

impl LeaseQueue {
    /// Adds a call that needs this amount in each window.
    pub fn push(&mut self, keys: Vec<LeaseKey>, need: Nanos) -> oneshot::Receiver<LeaseOutcome> {
        let (reply, receiver) = oneshot::channel();
        self.next += 1;
        let waiter = Waiter { number: self.next, need, reply };
        match self.paths.iter_mut().find(|path| path.keys == keys) {
            Some(path) => path.waiters.push(waiter),
            None => self.paths.push(PathQueue {
                keys,
                waiters: vec![waiter],
                round: None,
                pause: FIRST_RETRY,
                retry_at: Duration::ZERO,
            }),
        }
        receiver
    }

    /// Drops calls that no longer wait.
    pub fn sweep(&mut self) {
        for path in &mut self.paths {
            path.waiters.retain(|waiter| !waiter.reply.is_closed());
        }
        self.paths.retain(|path| !path.waiters.is_empty());
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub fn len(&self) -> usize {
        self.paths.iter().map(|path| path.waiters.len()).sum()
    }

    /// Has all replicas asked again: without the database they could not answer.
    pub fn forget_rounds(&mut self) {
        self.paths.iter_mut().for_each(|path| path.round = None);
    }

    /// Ends all waits because the database does not answer.
    pub fn give_up(&mut self) {
        for waiter in self.paths.drain(..).flat_map(|path| path.waiters) {
            _ = waiter.reply.send(LeaseOutcome::Unknown);
        }
    }

    pub fn path(&mut self, keys: &[LeaseKey]) -> Option<&mut PathQueue> {
        self.paths.iter_mut().find(|path| path.keys == keys)
    }
}

impl PathQueue {
    /// The smallest amount that a call waits for.
    pub fn smallest(&self) -> Nanos {
        self.waiters.iter().map(|waiter| waiter.need).min().unwrap_or_default()
    }

    /// The sum of what calls wait for.
    pub fn total(&self) -> Nanos {
        Nanos(self.waiters.iter().fold(0, |sum, waiter| sum.saturating_add(waiter.need.0)))
    }

    /// The number of the last call.
    pub fn last(&self) -> u64 {
        self.waiters.iter().map(|waiter| waiter.number).max().unwrap_or_default()
    }

    /// The value of `wanted` that other replicas have to answer before a call is refused; all have to if there is none.
    pub fn since(&self, key: &LeaseKey) -> i64 {
        let known = self.round.iter().flat_map(|round| &round.wanted).find(|(other, _)| other == key);
        known.map_or(i64::MAX, |(_, wanted)| *wanted)
    }

    /// Wakes the calls that fit into this amount together, smallest first. Returns what they need.
    pub fn wake(&mut self, free: Nanos) -> Nanos {
        self.waiters.sort_by_key(|waiter| (waiter.need, waiter.number));
        let (mut needed, mut count) = (Nanos::ZERO, 0);
        for waiter in &self.waiters {
            if needed + waiter.need > free {
                break;
            }
            needed += waiter.need;
            count += 1;
        }
        for waiter in self.waiters.drain(..count) {
            _ = waiter.reply.send(LeaseOutcome::Room);
        }
        needed
    }

    /// Schedules the next take after one that succeeded.
    pub fn granted(&mut self, now: Duration) {
        (self.pause, self.retry_at) = (FIRST_RETRY, now);
    }

    /// Applies a take that found no room. `short` are the windows without room, `room` is the smallest amount left, and
    /// `last` the last call that waited when it was sent. Refuses the calls for which every other replica has answered.
    pub fn failed(
        &mut self,
        all: &[LeaseTaken],
        short: &[&LeaseTaken],
        room: Nanos,
        last: u64,
        now: Duration,
    ) {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(LAST_RETRY);
        let is_answered = short.iter().any(|taken| taken.unanswered == 0);
        let wanted = || all.iter().map(|taken| (taken.key.clone(), taken.wanted)).collect();
        match &self.round {
            // No other replica has anything left.
            None if is_answered => self.refuse(last, room),
            None => self.round = Some(Round { started: now, wanted: wanted(), last }),
            Some(round) if round.is_over(is_answered, now) => {
                let answered = round.last;
                self.refuse(answered, room);
                // Calls that came later wait for answers of their own.
                let more = !self.waiters.is_empty();
                self.round = more.then(|| Round { started: now, wanted: wanted(), last });
                self.pause = FIRST_RETRY;
                self.retry_at = now + FIRST_RETRY;
            }
            Some(_) => {}
        }
    }

    /// Refuses the calls up to this one that need more than is left. Others wait for it: it is free in this process, which
    /// gives it back first.
    fn refuse(&mut self, last: u64, room: Nanos) {
        let (refused, rest) = std::mem::take(&mut self.waiters)
            .into_iter()
            .partition(|waiter| waiter.number <= last && waiter.need > room);
        self.waiters = rest;
        let refused: Vec<Waiter> = refused;
        for waiter in refused {
            _ = waiter.reply.send(LeaseOutcome::Refused { room });
        }
    }
}
