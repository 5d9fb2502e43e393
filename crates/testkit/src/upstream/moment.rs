//! Behaviours that depend on the number or the time of earlier calls.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Calls by the full model name.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<String, Called>>);

#[derive(Clone, Copy)]
pub(super) struct Called {
    /// Number of calls, including this one.
    pub count: u64,
    first: Instant,
}

impl Calls {
    pub fn note(&self, model: &str) -> Called {
        let mut calls = self.0.lock();
        let called =
            calls.entry(model.to_owned()).or_insert_with(|| Called { count: 0, first: Instant::now() });
        called.count += 1;
        *called
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// The number of calls per model, or of one model.
    pub fn told(&self, model: Option<&str>) -> Value {
        let calls = self.0.lock();
        match model {
            Some(model) => json!({model: calls.get(model).map_or(0, |called| called.count)}),
            None => calls.iter().map(|(model, called)| (model.clone(), called.count)).collect(),
        }
    }
}

impl Called {
    /// Resolves `flaky-N[-BEHAVIOUR]`, `every-N[-BEHAVIOUR]` and `recovers-N[-BEHAVIOUR]` for this call.
    pub fn now(self, behaviour: &str) -> &str {
        if let Some((times, fault)) = numbered(behaviour, "flaky-") {
            return if self.count <= times { fault.unwrap_or("error-500") } else { "text" };
        }
        if let Some((turn, fault)) = numbered(behaviour, "every-") {
            let ill = turn > 0 && self.count.is_multiple_of(turn);
            return if ill { fault.unwrap_or("error-500") } else { "text" };
        }
        if let Some((millis, fault)) = numbered(behaviour, "recovers-") {
            let ill = self.first.elapsed() < Duration::from_millis(millis);
            return if ill { fault.unwrap_or("error-503") } else { "text" };
        }
        behaviour
    }
}

fn numbered<'b>(behaviour: &'b str, prefix: &str) -> Option<(u64, Option<&'b str>)> {
    let rest = behaviour.strip_prefix(prefix)?;
    let (number, fault) = match rest.split_once('-') {
        Some((number, fault)) => (number, Some(fault)),
        None => (rest, None),
    };
    Some((number.parse().ok()?, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_calls_fail() {
        let calls = Calls::default();
        let heard: Vec<_> = (0..3).map(|_| calls.note("a").now("flaky-2-hang")).collect();
        assert_eq!(heard, ["hang", "hang", "text"]);
        assert_eq!(calls.note("b").now("flaky-1"), "error-500");
        assert_eq!(calls.told(None), json!({"a": 3, "b": 1}));
        assert_eq!(calls.told(Some("c")), json!({"c": 0}));
        calls.clear();
        assert_eq!(calls.note("a").now("flaky-2-hang"), "hang");
    }

    #[test]
    fn every_so_often_a_call_fails() {
        let calls = Calls::default();
        let heard: Vec<_> = (0..6).map(|_| calls.note("a").now("every-3-cut-mid-stream")).collect();
        assert_eq!(heard, ["text", "text", "cut-mid-stream", "text", "text", "cut-mid-stream"]);
        assert_eq!(calls.note("b").now("every-0"), "text");
    }

    #[test]
    fn time_heals() {
        let aged = |millis| Called { count: 2, first: Instant::now() - Duration::from_millis(millis) };
        assert_eq!(aged(100).now("recovers-60000"), "error-503");
        assert_eq!(aged(100).now("recovers-60000-html"), "html");
        assert_eq!(aged(500).now("recovers-500"), "text");
        assert_eq!(aged(0).now("recovers-x"), "recovers-x");
    }
}
