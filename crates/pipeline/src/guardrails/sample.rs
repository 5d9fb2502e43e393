//! The test of a guardrail with a sample text, without a call.

use std::sync::Arc;

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use domain::canon::Role;
use domain::receipt::{GuardedSubject, GuardrailVerdict};

use super::combine::{combine, write_edited};
use super::compiled::{Check, CompiledGuardrail};
use super::state::GuardrailState;

/// A text to test a guardrail with.
pub struct Sample<'a> {
    pub text: &'a str,
    pub role: Role,
    pub subject: GuardedSubject,
}

/// The verdict on a sample.
pub struct TestResult {
    pub verdict: GuardrailVerdict,
    /// The text after changes; `None` if it is unchanged.
    pub text: Option<String>,
    /// The names of the injection rules that matched.
    pub rules: Vec<String>,
}

impl CompiledGuardrail {
    /// Inspects a sample text, whatever the direction and mode of the guardrail.
    pub fn test(self: &Arc<Self>, sample: &Sample<'_>) -> TestResult {
        // Placeholders of a test stand for nothing, so their key is of no importance.
        let mut state = GuardrailState::new(self, sample.subject, &ScopeKey::new(&[0; 32]));
        let edits = state.inspect_text(sample.role, sample.text, &mut PlaceholderMap::default());
        let mut text = None;
        if let Check::SystemPrompt(config) = &self.check {
            state.record_change();
            text = Some(config.content.clone());
        } else if !edits.is_empty() && state.finds_to_replace() {
            let mut edited = String::new();
            write_edited(sample.text, 0, 0..sample.text.len(), &combine([edits]), &mut edited);
            text = Some(edited);
        }
        let rules = state.rules().iter().map(|rule| (*rule).to_owned()).collect();
        TestResult { verdict: state.verdict(), text, rules }
    }
}
