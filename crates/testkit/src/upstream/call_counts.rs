//! Number of calls per model, and the time since the first, which schedules of fault scripts depend on.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Calls by the full model name.
#[derive(Default)]
pub(super) struct CallCounts(Mutex<BTreeMap<String, Counter>>);

struct Counter {
    calls: u64,
    first: Instant,
}

/// The position of a call among those of its model.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallCount {
    /// Starts at one.
    pub number: u64,
    pub since_first: Duration,
}

impl CallCounts {
    /// Counts a call.
    pub fn record(&self, model: &str) -> CallCount {
        let mut counts = self.0.lock();
        let counter =
            counts.entry(model.to_owned()).or_insert_with(|| Counter { calls: 0, first: Instant::now() });
        counter.calls += 1;
        CallCount { number: counter.calls, since_first: counter.first.elapsed() }
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// The number of calls per model, or of one model.
    pub fn json(&self, model: Option<&str>) -> Value {
        let counts = self.0.lock();
        match model {
            Some(model) => json!({model: counts.get(model).map_or(0, |counter| counter.calls)}),
            None => counts.iter().map(|(model, counter)| (model.clone(), counter.calls)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_model_until_cleared() {
        let counts = CallCounts::default();
        let numbers: Vec<u64> = ["a", "a", "b", "a"].map(|model| counts.record(model).number).to_vec();
        assert_eq!(numbers, [1, 2, 1, 3]);
        assert_eq!(counts.json(None), json!({"a": 3, "b": 1}));
        assert_eq!(counts.json(Some("c")), json!({"c": 0}));
        counts.clear();
        assert_eq!(counts.record("a").number, 1);
    }
}
