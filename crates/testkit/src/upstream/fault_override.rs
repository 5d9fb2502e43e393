//! A fault script for every call whatever its model, set by a suite at run time.
//!
//! `POST /fault` sets it: the body is a script of the language, or empty to clear it. `GET /fault` returns the calls
//! since then. Answers in progress are not affected, and answers by this script are not billed.

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fault_script::{ParsedScript, UnknownScript};

/// The current script, and the calls made since it was set.
pub(super) struct FaultOverride(Mutex<State>);

struct State {
    script: Option<ParsedScript>,
    since: Instant,
    /// Milliseconds since the script was set, and the model.
    calls: Vec<(u64, String)>,
}

impl State {
    fn new(script: Option<ParsedScript>) -> Self {
        Self { script, since: Instant::now(), calls: Vec::new() }
    }

    fn elapsed_ms(&self) -> u64 {
        self.since.elapsed().as_millis() as u64
    }
}

impl Default for FaultOverride {
    fn default() -> Self {
        Self(Mutex::new(State::new(None)))
    }
}

impl FaultOverride {
    pub fn set(&self, script: &str) -> Result<(), UnknownScript> {
        let script = if script.is_empty() { None } else { Some(ParsedScript::parse(script)?) };
        *self.0.lock() = State::new(script);
        Ok(())
    }

    /// Records a call and returns the current script.
    pub fn record(&self, model: &str) -> Option<ParsedScript> {
        let mut state = self.0.lock();
        let elapsed = state.elapsed_ms();
        state.calls.push((elapsed, model.to_owned()));
        state.script.clone()
    }

    /// The calls since the script was set, and the number of unfinished answers.
    pub fn json(&self, unfinished: usize) -> Value {
        let state = self.0.lock();
        json!({"elapsed_ms": state.elapsed_ms(), "calls": state.calls, "unfinished": unfinished})
    }
}
