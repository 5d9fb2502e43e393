//! Wakes the tasks that follow changes of other replicas, and counts how they learned of changes.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use store::ChangedData;
use tokio::sync::Notify;

/// The state of the connection that receives notices of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerState {
    /// There are no notices: a SQLite database.
    Unused,
    Down,
    Up,
}

/// The reason why a follower looked for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTrigger {
    Notice,
    Poll,
}

impl ChangeTrigger {
    pub const ALL: [Self; 2] = [Self::Notice, Self::Poll];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Poll => "poll",
        }
    }
}

/// Signals from the listener to the followers. A follower also polls: a signal only shortens its wait.
#[derive(Debug, Default)]
pub struct ChangeSignals {
    /// Documents, sessions and revoked tokens.
    configuration: Notify,
    semantic_cache: Notify,
    listener: AtomicU8,
    /// Times that changes were found, by trigger.
    found: [AtomicU64; 2],
}

impl ChangeSignals {
    /// Wakes the follower of this data. The signal is kept for one that does not wait yet.
    pub fn wake(&self, data: ChangedData) {
        match data {
            ChangedData::Documents | ChangedData::Sessions => self.configuration.notify_one(),
            ChangedData::SemanticCache => self.semantic_cache.notify_one(),
            // Followed by the budgets, which are told directly.
            ChangedData::BudgetLeases | ChangedData::Replicas => {}
        }
    }

    /// Waits for a change of documents or sessions, at most for `interval`.
    pub async fn configuration(&self, interval: Duration) -> ChangeTrigger {
        wait(&self.configuration, interval).await
    }

    /// Waits for a change of the semantic cache, at most for `interval`.
    pub async fn semantic_cache(&self, interval: Duration) -> ChangeTrigger {
        wait(&self.semantic_cache, interval).await
    }

    pub fn record_found(&self, trigger: ChangeTrigger) {
        self.found[trigger as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Times that changes of documents or sessions were found after this trigger.
    pub fn found(&self, trigger: ChangeTrigger) -> u64 {
        self.found[trigger as usize].load(Ordering::Relaxed)
    }

    pub fn set_listener(&self, state: ListenerState) {
        // Relaxed: a status flag that publishes no other data.
        self.listener.store(state as u8, Ordering::Relaxed);
    }

    pub fn listener(&self) -> ListenerState {
        match self.listener.load(Ordering::Relaxed) {
            0 => ListenerState::Unused,
            1 => ListenerState::Down,
            _ => ListenerState::Up,
        }
    }
}

async fn wait(signal: &Notify, interval: Duration) -> ChangeTrigger {
    match tokio::time::timeout(interval, signal.notified()).await {
        Ok(()) => ChangeTrigger::Notice,
        Err(_) => ChangeTrigger::Poll,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_ends_the_wait_of_its_follower_alone() {
        let signals = ChangeSignals::default();
        let interval = Duration::from_millis(20);
        signals.wake(ChangedData::Sessions);
        assert_eq!(signals.semantic_cache(interval).await, ChangeTrigger::Poll);
        assert_eq!(signals.configuration(interval).await, ChangeTrigger::Notice);
        assert_eq!(signals.configuration(interval).await, ChangeTrigger::Poll);
        signals.wake(ChangedData::SemanticCache);
        assert_eq!(signals.semantic_cache(interval).await, ChangeTrigger::Notice);
    }

    #[test]
    fn states_and_counts_are_kept() {
        let signals = ChangeSignals::default();
        assert_eq!(signals.listener(), ListenerState::Unused);
        for state in [ListenerState::Up, ListenerState::Down, ListenerState::Unused] {
            signals.set_listener(state);
            assert_eq!(signals.listener(), state);
        }
        signals.record_found(ChangeTrigger::Poll);
        assert_eq!(ChangeTrigger::ALL.map(|trigger| signals.found(trigger)), [0, 1]);
    }
}
