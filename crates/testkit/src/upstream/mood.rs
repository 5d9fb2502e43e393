//! A fault applied to every call whatever its model, set by a suite at run time.
//!
//! `POST /mood` sets it, `GET /mood` returns the calls since then. `{}` clears it; otherwise one of `{"status": 503}`
//! with or without `"retry_after": "2"`, `{"hang": true}`, `{"reset": "before_head"}`, `{"reset": "before_content"}`,
//! `{"like": "error-in-stream"}` for any other behaviour of the table. Answers in progress are not affected.

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::behaviour::Play;
use super::script::{Answer, Step};

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Mood {
    status: Option<u16>,
    retry_after: Option<String>,
    hang: bool,
    reset: Option<Reset>,
    like: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reset {
    BeforeHead,
    /// After the head and everything before the content.
    BeforeContent,
}

impl Mood {
    pub fn answer(&self, play: &Play<'_>, behaviour: &str) -> Answer {
        if let Some(status) = self.status {
            let mut answer = play.answer(&format!("error-{status}"));
            answer.headers =
                Vec::from_iter(self.retry_after.clone().map(|value| ("retry-after".into(), value)));
            return answer;
        }
        if self.hang {
            return Answer { billed: None, ..play.answer("hang") };
        }
        match self.reset {
            Some(Reset::BeforeHead) => play.answer("reset-before-head"),
            // The start of a tool call would already be content.
            Some(Reset::BeforeContent) => silenced(play.answer("text")),
            None => play.answer(self.like.as_deref().unwrap_or(behaviour)),
        }
    }
}

/// Sends everything before the content, then a reset.
fn silenced(mut answer: Answer) -> Answer {
    let costs = |step: &Step| matches!(step, Step::Send { completion: 1.., .. });
    let first = answer.steps.iter().position(costs).unwrap_or(answer.steps.len());
    answer.steps.truncate(first);
    answer.steps.push(Step::Reset);
    answer.billed = None;
    answer
}

/// The current mood and the calls made under it.
pub(super) struct Temper(Mutex<State>);

struct State {
    mood: Mood,
    since: Instant,
    /// Milliseconds since the mood was set, and the model.
    calls: Vec<(u64, String)>,
}

impl Default for Temper {
    fn default() -> Self {
        Self(Mutex::new(State { mood: Mood::default(), since: Instant::now(), calls: Vec::new() }))
    }
}

impl Temper {
    /// Sets the mood; returns the reason if the JSON is invalid.
    pub fn set(&self, raw: &[u8]) -> Result<Value, String> {
        let mood = serde_json::from_slice(raw).map_err(|error| error.to_string())?;
        *self.0.lock() = State { mood, since: Instant::now(), calls: Vec::new() };
        Ok(json!({}))
    }

    /// Records a call and returns the current mood.
    pub fn meet(&self, model: &str) -> Mood {
        let mut state = self.0.lock();
        let elapsed = state.since.elapsed().as_millis() as u64;
        state.calls.push((elapsed, model.to_owned()));
        state.mood.clone()
    }

    /// The calls since the mood was set, and the number of unfinished answers.
    pub fn tell(&self, unfinished: usize) -> Value {
        let state = self.0.lock();
        let elapsed = state.since.elapsed().as_millis() as u64;
        json!({"elapsed_ms": elapsed, "calls": state.calls, "unfinished": unfinished})
    }
}
