//! The arguments of a tool call, inspected by the guardrails of one step while they arrive.

use ::guardrails::json_strings::JsonStringRedactor;
use ::guardrails::stream::StreamError;
use domain::canon::Role;
use domain::fault::{self, Fault};

use super::state::GuardrailState;

/// JSON text during its inspection by one step. The guardrails inspect it one after the other, in the order of their
/// names.
pub struct JsonStream {
    searches: Vec<Search>,
}

/// The search of one guardrail.
struct Search {
    /// The index of its state.
    state: usize,
    redactor: JsonStringRedactor,
    /// The number of findings in keys that are recorded.
    keys: usize,
    /// The search failed, and the guardrail has no effect.
    is_broken: bool,
}

impl JsonStream {
    pub fn new(states: &[GuardrailState]) -> Self {
        let search = |(state, guardrail): (usize, &GuardrailState)| {
            let redactor = JsonStringRedactor::new(guardrail.finder(Role::Assistant)?.detector.clone());
            Some(Search { state, redactor, keys: 0, is_broken: false })
        };
        Self { searches: states.iter().enumerate().filter_map(search).collect() }
    }

    /// Takes a fragment and appends the decided text to the output.
    pub fn push(
        &mut self,
        fragment: &str,
        states: &mut [GuardrailState],
        output: &mut String,
    ) -> Result<(), Fault> {
        states.iter_mut().for_each(|state| state.measure(Role::Assistant, fragment));
        let mut text = fragment.to_owned();
        for search in &mut self.searches {
            text = search.push(&text, &mut states[search.state], false)?;
        }
        pass(states, &text, output)
    }

    /// Decides about all held text: the JSON ends here.
    pub fn finish(&mut self, states: &mut [GuardrailState], output: &mut String) -> Result<(), Fault> {
        let mut text = String::new();
        for search in &mut self.searches {
            text = search.push(&text, &mut states[search.state], true)?;
        }
        pass(states, &text, output)
    }
}

fn pass(states: &[GuardrailState], text: &str, output: &mut String) -> Result<(), Fault> {
    match GuardrailState::fault_of(states) {
        Some(fault) => Err(fault),
        None => {
            output.push_str(text);
            Ok(())
        }
    }
}

impl Search {
    fn push(&mut self, text: &str, state: &mut GuardrailState, is_end: bool) -> Result<String, Fault> {
        if self.is_broken {
            return Ok(text.to_owned());
        }
        let mut redacted = String::with_capacity(text.len());
        let before = state.findings();
        let mut pushed = self.redactor.push(text, &mut state.masker, &mut redacted);
        if is_end && pushed.is_ok() {
            pushed = self.redactor.finish(&mut state.masker, &mut redacted);
        }
        state.record_findings_since(before);
        let keys = self.redactor.key_findings();
        state.record_unchanged_findings(&keys[self.keys..]);
        self.keys = keys.len();
        let is_enforced = state.guardrail().is_enforced();
        match pushed {
            Ok(()) if is_enforced => Ok(redacted),
            // Findings are only recorded, so the text is not delayed.
            Ok(()) => Ok(text.to_owned()),
            Err(error) => {
                state.record_failure(error.to_string());
                self.is_broken = true;
                if is_enforced { Err(failed(state, error)) } else { Ok(text.to_owned()) }
            }
        }
    }
}

/// The fault of arguments that cannot be inspected. They are never passed on, whatever `on_error` says: the held part is
/// lost, and without it the rest is no valid JSON.
fn failed(state: &GuardrailState, error: StreamError) -> Fault {
    let name = state.guardrail().name();
    let message =
        format!("The guardrail '{name}' failed ({error}), and a part of a JSON text cannot be sent.");
    fault::guardrail_error(name, "").with_message(message)
}
