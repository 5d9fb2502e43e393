//! The state of one guardrail while it inspects the texts of one request or answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ::guardrails::json_strings::redact_json;
use ::guardrails::kind::Label;
use ::guardrails::placeholder::{MaskStyle, Masker, PlaceholderMap, ScopeKey};
use ::guardrails::redact::redact;
use domain::canon::Role;
use domain::fault::{self, Fault};
use domain::receipt::{GuardedSubject, GuardrailVerdict, Verdict};
use domain::resources::guardrail::{LengthConfig, OnError, OnUnreadable};

use super::combine::TextEdit;
use super::compiled::{Check, CompiledGuardrail, Finder, FinderAction, InjectionCheck, Replacement};
use super::injection_score::{Classifier, InjectionScore};
use super::remote::{RemoteVerdict, RemoteVerdicts};

/// A text of a remote guardrail in place of one of a request or an answer.
pub struct NewText {
    /// The index of its guardrail in the step.
    pub index: usize,
    pub text: String,
}

pub struct GuardrailState {
    guardrail: Arc<CompiledGuardrail>,
    subject: GuardedSubject,
    pub masker: Masker,
    verdict: Verdict,
    injection: InjectionScore,
    error: Option<String>,
    characters: u64,
    bytes: u64,
}

impl GuardrailState {
    pub fn new(guardrail: &Arc<CompiledGuardrail>, subject: GuardedSubject, key: &ScopeKey) -> Self {
        let style = match &guardrail.check {
            Check::Find(Finder { action: FinderAction::Replace(replacement), .. }) => match replacement {
                Replacement::Fixed(text) => MaskStyle::Fixed(text.clone()),
                // Only values of requests are restored.
                Replacement::Reversible if subject == GuardedSubject::Request => {
                    MaskStyle::Reversible(key.clone())
                }
                Replacement::Reversible | Replacement::Kind => MaskStyle::Kind,
            },
            _ => MaskStyle::Kind,
        };
        Self {
            guardrail: guardrail.clone(),
            subject,
            masker: Masker::new(style),
            verdict: if guardrail.is_remote() { Verdict::NotAsked } else { Verdict::Allow },
            injection: InjectionScore::default(),
            error: None,
            characters: 0,
            bytes: 0,
        }
    }

    /// The states of the guardrails of a step, in the order of their names.
    pub fn of_step(step: &[Arc<CompiledGuardrail>], subject: GuardedSubject, key: &ScopeKey) -> Vec<Self> {
        step.iter().map(|guardrail| Self::new(guardrail, subject, key)).collect()
    }

    /// Sets the verdicts of the remote guardrails of a step. Returns the new texts by position, each with the index of its
    /// guardrail.
    pub fn set_remote_verdicts(states: &mut [Self], verdicts: &mut RemoteVerdicts) -> Vec<Option<NewText>> {
        let mut texts = Vec::new();
        for (index, state) in states.iter_mut().enumerate() {
            let Some(verdict) = verdicts.remove(state.guardrail.name()) else { continue };
            // It was called, and has said nothing else yet.
            state.verdict = Verdict::Allow;
            match verdict {
                RemoteVerdict::Allow => {}
                RemoteVerdict::Block => state.raise(Verdict::Block),
                RemoteVerdict::Failed(reason) => state.record_failure(reason),
                RemoteVerdict::Replace(new) => state.add_replacements(index, new, &mut texts),
            }
        }
        texts
    }

    /// Adds the replacements of a remote guardrail to those of the step. Two of a step cannot replace the same text: the
    /// second one has not seen the change of the first.
    fn add_replacements(&mut self, index: usize, new: Vec<Option<String>>, texts: &mut Vec<Option<NewText>>) {
        if new.iter().all(Option::is_none) {
            return;
        }
        if !self.guardrail.is_enforced() {
            self.raise(Verdict::Redact);
            return;
        }
        // Raised when the replacement is made.
        self.raise(Verdict::Flag);
        texts.resize_with(texts.len().max(new.len()), || None);
        for (place, text) in texts.iter_mut().zip(new) {
            match (place.as_ref(), text) {
                (_, None) => {}
                (None, Some(text)) => *place = Some(NewText { index, text }),
                (Some(old), Some(text)) if old.text == text => {}
                (Some(_), Some(_)) => {
                    let reason =
                        "two guardrails of one step replace the same text: give them different steps";
                    self.record_failure(reason);
                }
            }
        }
    }

    /// Records that one of its replacements was made.
    pub fn record_replacement(&mut self) {
        self.raise(Verdict::Redact);
    }

    /// Records that one of its replacements is not valid JSON, in place of a text that is.
    pub fn record_invalid_replacement(&mut self) {
        self.record_failure("the replacement for a JSON text is not valid JSON");
    }

    pub fn guardrail(&self) -> &CompiledGuardrail {
        &self.guardrail
    }

    /// The search of the guardrail, if it is one that inspects texts of this role.
    pub fn finder(&self, role: Role) -> Option<&Finder> {
        match &self.guardrail.check {
            Check::Find(finder) if finder.inspects(role) => Some(finder),
            _ => None,
        }
    }

    /// Whether findings are replaced.
    pub fn replaces(&self) -> bool {
        self.guardrail.is_enforced() && self.finds_to_replace()
    }

    /// Whether an enforced guardrail replaces findings. Those in records always are: a record cannot be blocked.
    pub fn finds_to_replace(&self) -> bool {
        match &self.guardrail.check {
            Check::Find(finder) => {
                self.guardrail.inspects_records() || matches!(finder.action, FinderAction::Replace(_))
            }
            _ => false,
        }
    }

    /// The replacement of a finding, which is counted.
    pub fn mask(&mut self, label: Label, value: &str) -> Cow<'_, str> {
        self.record_finding();
        self.masker.mask(label, value)
    }

    /// Records that something was found.
    fn record_finding(&mut self) {
        self.raise(if self.finds_to_replace() { Verdict::Redact } else { Verdict::Block });
    }

    fn raise(&mut self, verdict: Verdict) {
        self.verdict = self.verdict.max(verdict);
    }

    /// Records that the guardrail failed.
    pub fn record_failure(&mut self, reason: impl Into<String>) {
        self.raise(Verdict::Error);
        self.error = Some(reason.into());
    }

    /// Records that parts cannot be inspected.
    pub fn record_unreadable(&mut self) {
        let reads_texts = !matches!(self.guardrail.check, Check::SystemPrompt(_) | Check::Length(_));
        if reads_texts && self.guardrail.document().on_unreadable == OnUnreadable::Block {
            self.error = Some("parts that are not text cannot be inspected".to_owned());
            self.raise(Verdict::Block);
        }
    }

    /// Inspects a whole text. Returns the edits of its findings, which have an effect only if they are replaced.
    pub fn inspect_text(&mut self, role: Role, text: &str, map: &mut PlaceholderMap) -> Vec<TextEdit> {
        self.measure(role, text);
        let Some(detector) = self.finder(role).map(|finder| finder.detector.clone()) else {
            return Vec::new();
        };
        let edits = self.with_map(map, |masker| redact(&detector, text, "", masker));
        match edits {
            Ok(edits) => {
                if !edits.is_empty() {
                    self.record_finding();
                }
                let edits = edits.into_iter();
                edits.map(|edit| TextEdit { range: edit.range, replacement: edit.replacement }).collect()
            }
            Err(error) => {
                self.record_failure(error.to_string());
                Vec::new()
            }
        }
    }

    /// Masks with the placeholders of the call. Values that are not replaced get none.
    fn with_map<T>(&mut self, map: &mut PlaceholderMap, mask: impl FnOnce(&mut Masker) -> T) -> T {
        let mut unused = PlaceholderMap::default();
        let map = if self.replaces() { map } else { &mut unused };
        self.masker.swap_map(map);
        let masked = mask(&mut self.masker);
        self.masker.swap_map(map);
        masked
    }

    /// Inspects a text that a signature covers: it is not changed, so that findings are only reported or block.
    pub fn inspect_signed(&mut self, role: Role, text: &str) {
        let Some(detector) = self.finder(role).map(|finder| finder.detector.clone()) else { return };
        match detector.find_all(text, "") {
            Ok(findings) => {
                let labels: Vec<Label> = findings.iter().map(|finding| finding.label).collect();
                self.record_unchanged_findings(&labels);
            }
            Err(error) => self.record_failure(error.to_string()),
        }
    }

    /// Inspects a JSON text with the guardrails of a step, one after the other in the order of their names. Returns it
    /// with its findings replaced, if that changes it.
    pub fn inspect_json_in_order(
        states: &mut [Self],
        role: Role,
        json: &str,
        map: &mut PlaceholderMap,
    ) -> Option<String> {
        let mut changed: Option<String> = None;
        for state in states {
            let found = state.inspect_json(role, changed.as_deref().unwrap_or(json), map);
            if found.is_some() && state.replaces() {
                changed = found;
            }
        }
        changed
    }

    /// Inspects a JSON text. Returns it with its findings replaced, if that changes it.
    fn inspect_json(&mut self, role: Role, json: &str, map: &mut PlaceholderMap) -> Option<String> {
        self.measure(role, json);
        let detector = self.finder(role)?.detector.clone();
        let before = self.findings();
        let redacted = self.with_map(map, |masker| redact_json(&detector, json, masker));
        match redacted {
            Ok(redacted) => {
                self.record_findings_since(before);
                self.record_unchanged_findings(&redacted.key_findings);
                (redacted.text != json).then_some(redacted.text)
            }
            Err(error) => {
                self.record_failure(error.to_string());
                None
            }
        }
    }

    /// Records findings that are not replaced: in keys, and in texts with a signature.
    pub fn record_unchanged_findings(&mut self, findings: &[Label]) {
        if findings.is_empty() {
            return;
        }
        findings.iter().for_each(|label| self.masker.count(*label));
        self.raise(if self.finds_to_replace() { Verdict::Flag } else { Verdict::Block });
    }

    /// Records the findings since there were this many.
    pub fn record_findings_since(&mut self, before: usize) {
        if self.findings() > before {
            self.record_finding();
        }
    }

    /// The number of findings so far.
    pub fn findings(&self) -> usize {
        self.masker.counts().values().sum()
    }

    /// Scores a text, and adds it to the length.
    pub fn measure(&mut self, role: Role, text: &str) {
        let guardrail = self.guardrail.clone();
        match &guardrail.check {
            Check::Injection(check) => self.assess(role, text, check),
            Check::Length(limit) => self.add_length(text, limit),
            Check::SystemPrompt(_) | Check::Find(_) | Check::Alter(_) | Check::Webhook(_) => {}
        }
    }

    /// Scores a text of a user or a tool. Other texts are the application's and the model's own.
    fn assess(&mut self, role: Role, text: &str, check: &InjectionCheck) {
        if !matches!(role, Role::User | Role::Tool) {
            return;
        }
        self.injection.add(text, check.rules.assess(text));
        self.judge_score(check);
    }

    /// Uses a classifier for the texts that follow, if the guardrail is one that does.
    pub fn set_classifier(&mut self, classifier: Option<&Classifier>) {
        if self.guardrail.uses_classifier() {
            self.injection.set_classifier(classifier.cloned());
        }
    }

    /// Scores the texts since the last call by the classifier.
    pub fn classify(&mut self) {
        let guardrail = self.guardrail.clone();
        let Check::Injection(check) = &guardrail.check else { return };
        match self.injection.classify() {
            Ok(()) => self.judge_score(check),
            Err(reason) => self.record_failure(reason),
        }
    }

    fn judge_score(&mut self, check: &InjectionCheck) {
        if self.injection.score.is_some_and(|score| check.sensitivity.is_reached(score)) {
            self.raise(if check.blocks { Verdict::Block } else { Verdict::Flag });
        }
    }

    fn add_length(&mut self, text: &str, limit: &LengthConfig) {
        self.characters += text.chars().count() as u64;
        self.bytes += text.len() as u64;
        let tokens = catalog::estimate_tokens_from_bytes(self.bytes);
        let exceeds = |limit: Option<u64>, length: u64| limit.is_some_and(|limit| length > limit);
        if exceeds(limit.max_chars, self.characters) || exceeds(limit.max_estimated_tokens, tokens) {
            self.raise(Verdict::Block);
        }
    }

    /// The fault that ends the call, if the verdict has that effect.
    fn fault(&self) -> Option<Fault> {
        let (guardrail, document) = (&self.guardrail, self.guardrail.document());
        match self.verdict {
            _ if !guardrail.is_enforced() => None,
            Verdict::Block => Some(fault::guardrail_blocked(guardrail.name(), self.subject.as_str())),
            Verdict::Error if document.on_error == OnError::Block => {
                Some(fault::guardrail_error(guardrail.name(), self.error.as_deref().unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// The fault of the guardrails of a step: of the first one that blocks, else of the first one that failed.
    pub fn fault_of(states: &[Self]) -> Option<Fault> {
        let is = |verdict: Verdict| move |state: &&Self| state.verdict == verdict;
        let of = |verdict: Verdict| states.iter().filter(is(verdict)).find_map(Self::fault);
        of(Verdict::Block).or_else(|| of(Verdict::Error))
    }

    /// The names of the injection rules that matched in the text with the highest score.
    pub fn rules(&self) -> &[&'static str] {
        &self.injection.rules
    }

    /// Records a change that is not a finding.
    pub fn record_change(&mut self) {
        self.raise(Verdict::Redact);
    }

    pub fn verdict(&self) -> GuardrailVerdict {
        let kinds = self.masker.counts().iter().map(|(label, count)| (kind_name(*label), *count as u64));
        GuardrailVerdict {
            name: self.guardrail.name().to_owned(),
            subject: self.subject,
            mode: self.guardrail.document().mode,
            verdict: self.verdict,
            kinds: kinds.collect::<BTreeMap<_, _>>(),
            score: self.injection.score,
            classifier_score: self.injection.classifier_score,
            error: self.error.clone(),
        }
    }
}

pub fn kind_name(label: Label) -> String {
    match label {
        Label::Pii(kind) => kind.name().to_owned(),
        Label::Pattern(index) => format!("pattern[{index}]"),
    }
}
