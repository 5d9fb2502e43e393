//! The test of a guardrail with a sample text, without a call.

use std::ops::Range;
use std::sync::Arc;

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use domain::canon::Role;
use domain::receipt::{GuardedSubject, GuardrailVerdict};

use super::combine::apply_edits;
use super::compiled::{Check, CompiledGuardrail};
use super::injection_score::Classifier;
use super::remote::RemoteVerdicts;
use super::state::{GuardrailState, kind_name};

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
    /// The findings, from left to right without overlaps.
    pub findings: Vec<SampleFinding>,
}

/// A finding in a sample.
pub struct SampleFinding {
    /// In bytes.
    pub range: Range<usize>,
    /// As in the verdict's kinds.
    pub kind: String,
    /// `None` if the guardrail does not replace findings.
    pub replacement: Option<String>,
}

impl CompiledGuardrail {
    /// Inspects a sample text, whatever the direction and mode of the guardrail. `verdicts` has that of a remote
    /// guardrail; `classifier` is the imported one.
    pub fn test(
        self: &Arc<Self>,
        sample: &Sample<'_>,
        mut verdicts: RemoteVerdicts,
        classifier: Option<&Classifier>,
    ) -> TestResult {
        // Placeholders of a test are never restored, so that any key will do.
        let mut state = GuardrailState::new(self, sample.subject, &ScopeKey::new(&[0; 32]));
        state.set_classifier(classifier);
        let replaced = GuardrailState::set_remote_verdicts(std::slice::from_mut(&mut state), &mut verdicts);
        let kinds = kinds(&state, sample);
        let edits = state.inspect_text(sample.role, sample.text, &mut PlaceholderMap::default());
        state.classify();
        let text = match &self.check {
            Check::SystemPrompt(config) => {
                state.record_change();
                Some(config.content.clone())
            }
            Check::Alter(_) | Check::Webhook(_) => {
                let new = replaced.into_iter().next().flatten().map(|new| new.text);
                if new.is_some() {
                    state.record_replacement();
                }
                new
            }
            _ if state.finds_to_replace() => apply_edits(sample.text, [edits.clone()]),
            _ => None,
        };
        let rules = state.rules().iter().map(|rule| (*rule).to_owned()).collect();
        let replaces = state.finds_to_replace();
        let findings = kinds.into_iter().zip(edits).map(|(kind, edit)| SampleFinding {
            range: edit.range,
            kind,
            replacement: replaces.then_some(edit.replacement),
        });
        TestResult { verdict: state.verdict(), text, rules, findings: findings.collect() }
    }
}

/// The kinds of the findings in a sample, in the order of their edits.
fn kinds(state: &GuardrailState, sample: &Sample<'_>) -> Vec<String> {
    let found = state.finder(sample.role).and_then(|finder| finder.detector.find_all(sample.text, "").ok());
    found.unwrap_or_default().into_iter().map(|finding| kind_name(finding.label)).collect()
}
