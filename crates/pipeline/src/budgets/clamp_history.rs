//! Recent output sizes by key and model, and whether a clamped call ended at its bound. Both decide whether clamping a
//! call is useful.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::clock::Timestamp;
use foldhash::HashMap;
use parking_lot::Mutex;

/// The smallest output bound that is worth a call.
const SMALLEST: u64 = 4096;
/// Output tokens that a model needs in addition to its thinking budget.
const BESIDE_THINKING: u64 = 1024;
const OUTPUTS: usize = 32;
const MAX_ENTRIES: usize = 10_000;

#[derive(Default)]
pub struct ClampHistory(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_pair: HashMap<KeyAndModel, Entry>,
    /// Counts records, to find the least recently used entry.
    records: u64,
}

/// The id of a key, and a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyAndModel {
    pub key: Arc<str>,
    pub model: Arc<str>,
}

#[derive(Default)]
struct Entry {
    /// Output tokens of the last calls, oldest first.
    outputs: VecDeque<u64>,
    /// Set after a clamped call ended at its bound: no other call is clamped until then.
    struck_until: Option<Timestamp>,
    used: u64,
}

/// An output bound that was lowered to what a budget has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamp {
    pub asked: u64,
    pub used: u64,
    /// The end of the window of the tight budget.
    pub until: Timestamp,
}

impl ClampHistory {
    /// The smallest useful output bound, or `None` after a clamped call ended at its bound: agents repeat truncated
    /// calls, so no second one is clamped in that window.
    pub fn least(&self, pair: &KeyAndModel, thinking: Option<u64>, now: Timestamp) -> Option<u64> {
        let entries = self.0.lock();
        let entry = entries.by_pair.get(pair);
        if entry.and_then(|entry| entry.struck_until).is_some_and(|until| now < until) {
            return None;
        }
        let largest = entry.and_then(|entry| entry.outputs.iter().max()).copied().unwrap_or(0);
        let thinking = thinking.map_or(0, |budget| budget.saturating_add(BESIDE_THINKING));
        Some(SMALLEST.max(largest.saturating_mul(2)).max(thinking))
    }

    /// Records the output of a finished call.
    pub fn record(&self, pair: &KeyAndModel, output: u64, clamp: Option<Clamp>) {
        let mut entries = self.0.lock();
        entries.records += 1;
        let records = entries.records;
        if entries.by_pair.len() >= MAX_ENTRIES && !entries.by_pair.contains_key(pair) {
            let oldest = entries.by_pair.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(pair, _)| pair.clone()) {
                entries.by_pair.remove(&oldest);
            }
        }
        let entry = entries.by_pair.entry(pair.clone()).or_default();
        entry.used = records;
        if entry.outputs.len() == OUTPUTS {
            entry.outputs.pop_front();
        }
        entry.outputs.push_back(output);
        if let Some(clamp) = clamp.filter(|clamp| output >= clamp.used) {
            entry.struck_until = Some(clamp.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(model: &str) -> KeyAndModel {
        KeyAndModel { key: "k".into(), model: model.into() }
    }

    #[test]
    fn a_useful_bound_is_twice_the_largest_recent_output() {
        let history = ClampHistory::default();
        let now = Timestamp::from_seconds(1);
        assert_eq!(history.least(&pair("m"), None, now), Some(4096));
        assert_eq!(history.least(&pair("m"), Some(10_000), now), Some(11_024));
        history.record(&pair("m"), 3000, None);
        assert_eq!(history.least(&pair("m"), None, now), Some(6000));
        assert_eq!(history.least(&pair("other"), None, now), Some(4096));
        for _ in 0..32 {
            history.record(&pair("m"), 10, None);
        }
        assert_eq!(history.least(&pair("m"), None, now), Some(4096), "only the last 32 count");
    }

    #[test]
    fn a_clamped_call_that_ends_at_its_bound_is_the_last_until_the_window_turns() {
        let history = ClampHistory::default();
        let at = Timestamp::from_seconds;
        let clamp = |used| Some(Clamp { asked: 32_000, used, until: at(100) });
        history.record(&pair("m"), 4999, clamp(5000));
        assert!(history.least(&pair("m"), None, at(1)).is_some());
        history.record(&pair("m"), 5000, clamp(5000));
        assert_eq!(history.least(&pair("m"), None, at(99)), None);
        assert!(history.least(&pair("other"), None, at(99)).is_some());
        assert!(history.least(&pair("m"), None, at(100)).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let history = ClampHistory::default();
        for number in 0..MAX_ENTRIES + 50 {
            history.record(&pair(&number.to_string()), 1, None);
        }
        assert_eq!(history.0.lock().by_pair.len(), MAX_ENTRIES);
    }
}
