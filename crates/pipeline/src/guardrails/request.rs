//! The inspection of a request: its texts are searched and edited in the body, step by step.

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use bytes::Bytes;
use domain::call::Surface;
use domain::canon::Role;
use domain::fault::{self, Fault};
use domain::json::quote;
use domain::receipt::{GuardedSubject, GuardrailVerdict, Verdict};
use wire::json::Object;
use wire::splice::{self, Patch};
use wire::text_parts::{self, BodyTexts, TextKind, TextPart};
use wire::{json, system_prompt};

use super::combine::apply_edits;
use super::compiled::Check;
use super::injection_score::Classifier;
use super::plan::Step;
use super::remote::{RemoteText, RemoteVerdicts};
use super::state::{GuardrailState, NewText};

/// A request before its inspection.
pub struct RequestToInspect {
    pub surface: Surface,
    pub body: Bytes,
    /// The members of the body, if it has been scanned.
    pub object: Option<Object>,
    /// The stored earlier turns of a Responses conversation, as arrays of items.
    pub history: Vec<Bytes>,
    /// Whether texts with a signature are edited, too; not in requests that are sent.
    pub edits_signed: bool,
    /// The classifier for prompt injection, if one is imported and a guardrail uses it.
    pub classifier: Option<Classifier>,
}

impl RequestToInspect {
    /// The bytes that are scanned; `None` if a classifier scores them, which takes longer than any scan.
    pub fn scanned_bytes(&self) -> Option<usize> {
        match self.classifier {
            Some(_) => None,
            None => Some(self.body.len() + self.history.iter().map(Bytes::len).sum::<usize>()),
        }
    }
}

/// The result of an inspection.
pub struct RequestInspection {
    pub verdicts: Vec<GuardrailVerdict>,
    /// The changed body, also of a request that is refused.
    pub body: Option<Bytes>,
    /// Whether a guardrail failed, so that the body may contain values that it would have replaced.
    has_failed: bool,
    /// The changes, or the fault that refuses the request.
    pub outcome: Result<RequestChanges, Fault>,
}

impl RequestInspection {
    /// The body for the audit log: `original` with its changes; `None` if it cannot be recorded.
    pub fn recorded_body<'a>(&'a self, original: &'a Bytes) -> Option<&'a Bytes> {
        (!self.has_failed).then(|| self.body.as_ref().unwrap_or(original))
    }
}

/// The changes to a request.
#[derive(Default)]
pub struct RequestChanges {
    /// The new earlier turns, if they have changed.
    pub history: Option<Vec<Bytes>>,
    /// The values behind reversible placeholders.
    pub placeholders: PlaceholderMap,
}

/// Inspects a request. Has no side effects, so that explain can run it without a call.
pub fn inspect_request(steps: &[Step], request: RequestToInspect, key: &ScopeKey) -> RequestInspection {
    RequestInspector::new(request).inspect_rest(steps, key)
}

/// A request during its inspection.
pub struct RequestInspector {
    surface: Surface,
    /// The body and the earlier turns after the steps so far.
    body: Bytes,
    /// The members of the body; `None` if it has to be scanned.
    object: Option<Object>,
    history: Vec<Bytes>,
    edits_signed: bool,
    classifier: Option<Classifier>,
    /// Whether the body has changed.
    is_changed: bool,
    changes: RequestChanges,
    verdicts: Vec<GuardrailVerdict>,
    /// The number of steps so far.
    steps: usize,
    /// The fault of the first step that refuses the request.
    refused: Option<Fault>,
    /// Whether the body has a member that providers may read and guardrails do not.
    has_case_variant: bool,
}

impl RequestInspector {
    pub fn new(request: RequestToInspect) -> Self {
        let RequestToInspect { surface, body, object, history, edits_signed, classifier } = request;
        Self {
            surface,
            body,
            object,
            history,
            edits_signed,
            classifier,
            is_changed: false,
            changes: RequestChanges::default(),
            verdicts: Vec::new(),
            steps: 0,
            refused: None,
            has_case_variant: false,
        }
    }

    /// The texts of the request as it is after the steps so far: those of the body, then those of the earlier turns.
    pub fn texts(&self) -> Vec<RemoteText> {
        let Ok(object) = json::scan(&self.body) else { return Vec::new() };
        let parts = text_parts::request_texts(self.surface, &self.body, &object).parts;
        let mut texts: Vec<RemoteText> = parts.iter().map(|part| remote_text(&self.body, part)).collect();
        for items in &self.history {
            texts.extend(text_parts::item_texts(items).parts.iter().map(|part| remote_text(items, part)));
        }
        texts
    }

    /// Whether a step has refused the request.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Inspects the request by the guardrails of a step. The changes of its remote guardrails come before those of the others.
    pub fn inspect(&mut self, step: &Step, key: &ScopeKey, mut verdicts: RemoteVerdicts) {
        let mut states = GuardrailState::of_step(step, GuardedSubject::Request, key);
        states.iter_mut().for_each(|state| state.set_classifier(self.classifier.as_ref()));
        let texts = GuardrailState::set_remote_verdicts(&mut states, &mut verdicts);
        if texts.iter().any(Option::is_some) {
            self.replace_texts(texts, &mut states);
        }
        match self.inspect_texts(&mut states) {
            Ok(()) => self.set_instructions(&mut states),
            Err(fault) => _ = self.refused.get_or_insert(fault),
        }
        self.verdicts.extend(states.iter().map(GuardrailState::verdict));
        self.steps += 1;
    }

    /// Replaces texts by those of remote guardrails, by position.
    fn replace_texts(&mut self, texts: Vec<Option<NewText>>, states: &mut [GuardrailState]) {
        let Ok(object) = json::scan(&self.body) else { return };
        let parts = text_parts::request_texts(self.surface, &self.body, &object).parts;
        let mut texts = texts.into_iter();
        if let Some(body) = replaced(&self.body, &parts, &mut texts, self.edits_signed, states) {
            self.set_body(body);
        }
        let mut is_changed = false;
        for items in &mut self.history {
            let parts = text_parts::item_texts(items).parts;
            if let Some(changed) = replaced(items, &parts, &mut texts, self.edits_signed, states) {
                *items = changed;
                is_changed = true;
            }
        }
        if is_changed {
            self.changes.history = Some(self.history.clone());
        }
    }

    /// Inspects the request by all steps that have not inspected it yet, without asking remote guardrails.
    pub fn inspect_rest(mut self, steps: &[Step], key: &ScopeKey) -> RequestInspection {
        // All steps, also after one that refuses the request: its record has to be redacted, too.
        for step in &steps[self.steps..] {
            self.inspect(step, key, RemoteVerdicts::default());
        }
        let Self { body, is_changed, changes, verdicts, refused, has_case_variant, .. } = self;
        let has_failed = has_case_variant
            || verdicts.iter().any(|verdict| matches!(verdict.verdict, Verdict::Error | Verdict::NotAsked));
        let body = is_changed.then_some(body);
        RequestInspection { verdicts, body, has_failed, outcome: refused.map_or(Ok(changes), Err) }
    }

    fn inspect_texts(&mut self, states: &mut [GuardrailState]) -> Result<(), Fault> {
        let Self { surface, body, object, history, edits_signed, changes, .. } = self;
        let object = match object {
            Some(object) => &*object,
            None => object.insert(json::scan(body)?),
        };
        let texts = text_parts::request_texts(*surface, body, object);
        if let Some(name) = &texts.case_variant {
            self.has_case_variant = true;
            return Err(uninspected_member(name));
        }
        let turn_texts: Vec<BodyTexts> = history.iter().map(|items| text_parts::item_texts(items)).collect();
        if texts.has_unreadable_parts || turn_texts.iter().any(|texts| texts.has_unreadable_parts) {
            states.iter_mut().for_each(GuardrailState::record_unreadable);
        }
        let mut editor =
            TextEditor { states, placeholders: &mut changes.placeholders, edits_signed: *edits_signed };
        let edited = editor.edit(body, &texts.parts);
        // The texts of the body are newer than the earlier turns.
        editor.classify();
        let turns = history.iter().zip(&turn_texts).map(|(items, texts)| editor.edit(items, &texts.parts));
        let turns: Vec<Option<Bytes>> = turns.collect();
        editor.classify();
        if let Some(edited) = edited {
            self.set_body(edited);
        }
        if let Some(fault) = GuardrailState::fault_of(states) {
            return Err(fault);
        }
        if turns.iter().any(Option::is_some) {
            let turns = turns.into_iter().zip(&self.history);
            self.history = turns.map(|(new, old)| new.unwrap_or(old.clone())).collect();
            self.changes.history = Some(self.history.clone());
        }
        Ok(())
    }

    fn set_body(&mut self, body: Bytes) {
        (self.body, self.object, self.is_changed) = (body, None, true);
    }

    /// Applies the guardrails of the step that change the instructions.
    fn set_instructions(&mut self, states: &mut [GuardrailState]) {
        let Surface::Converse(format) = self.surface else { return };
        for state in states {
            let guardrail = state.guardrail();
            let Check::SystemPrompt(config) = &guardrail.check else { continue };
            let Ok(object) = json::scan(&self.body) else { return };
            let changed = system_prompt::apply(format, &self.body, &object, config.mode, &config.content);
            let Some(changed) = changed else { continue };
            if guardrail.is_enforced() {
                self.set_body(changed);
            }
            state.record_change();
        }
    }
}

/// Searches and edits texts for the guardrails of one step.
struct TextEditor<'a> {
    states: &'a mut [GuardrailState],
    placeholders: &'a mut PlaceholderMap,
    edits_signed: bool,
}

impl TextEditor<'_> {
    /// The body with the changes of the step; `None` if there are none.
    fn edit(&mut self, body: &Bytes, texts: &[TextPart]) -> Option<Bytes> {
        let mut patch = Patch::new();
        for part in texts {
            if let Some(changed) = self.inspect_part(body, part) {
                patch.replace(part.value.clone(), changed);
            }
        }
        (!patch.is_empty()).then(|| splice::concat(&patch.apply(body)))
    }

    /// Scores the texts since the last call by the classifier.
    fn classify(&mut self) {
        self.states.iter_mut().for_each(GuardrailState::classify);
    }

    /// Inspects a text. Returns its JSON with the changes, if there are any.
    fn inspect_part(&mut self, body: &[u8], part: &TextPart) -> Option<String> {
        let decoded = match part.kind {
            TextKind::Json => None,
            _ => json::string_at(body, &part.value),
        };
        match (part.kind, decoded) {
            (TextKind::Signed, Some(text)) if !self.edits_signed => {
                self.states.iter_mut().for_each(|state| state.inspect_signed(part.role, &text));
                None
            }
            (TextKind::Text | TextKind::Signed, Some(text)) => {
                self.inspect_text(&text, part.role).map(|text| quote(&text))
            }
            (TextKind::JsonText, Some(text)) => self.inspect_json(&text, part.role).map(|text| quote(&text)),
            // A string that has no valid text is inspected in its JSON form.
            _ => {
                let json = std::str::from_utf8(body.get(part.value.clone())?).ok()?;
                self.inspect_json(json, part.role)
            }
        }
    }

    fn inspect_text(&mut self, text: &str, role: Role) -> Option<String> {
        let mut edits = Vec::new();
        for state in self.states.iter_mut() {
            let found = state.inspect_text(role, text, self.placeholders);
            if state.replaces() {
                edits.push(found);
            }
        }
        apply_edits(text, edits)
    }

    fn inspect_json(&mut self, json: &str, role: Role) -> Option<String> {
        GuardrailState::inspect_json_in_order(self.states, role, json, self.placeholders)
    }
}

/// The text of a part as a remote guardrail gets it: decoded, or its JSON.
fn remote_text(body: &[u8], part: &TextPart) -> RemoteText {
    let decoded = match part.kind {
        TextKind::Json => None,
        _ => json::string_at(body, &part.value),
    };
    match decoded {
        Some(text) if part.kind == TextKind::JsonText => RemoteText::json(part.role, &text),
        Some(text) => RemoteText {
            role: part.role,
            text: text.into_owned(),
            is_json: false,
            is_signed: part.kind == TextKind::Signed,
        },
        None => {
            let json = body.get(part.value.clone()).and_then(|json| std::str::from_utf8(json).ok());
            RemoteText::json(part.role, json.unwrap_or_default())
        }
    }
}

/// The body with the texts of remote guardrails in place of its own; `None` if there are none.
fn replaced(
    body: &Bytes,
    parts: &[TextPart],
    texts: &mut impl Iterator<Item = Option<NewText>>,
    edits_signed: bool,
    states: &mut [GuardrailState],
) -> Option<Bytes> {
    let mut patch = Patch::new();
    for part in parts {
        let Some(NewText { index, text }) = texts.next().flatten() else { continue };
        let is_string = part.kind != TextKind::Json && json::string_at(body, &part.value).is_some();
        let is_json = !is_string || part.kind == TextKind::JsonText;
        if part.kind == TextKind::Signed && !edits_signed {
            // Its provider would refuse the change: the verdict stays a flag.
        } else if is_json && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() {
            states[index].record_invalid_replacement();
        } else {
            states[index].record_replacement();
            patch.replace(part.value.clone(), if is_string { quote(&text) } else { text });
        }
    }
    (!patch.is_empty()).then(|| splice::concat(&patch.apply(body)))
}

/// The fault of a body with a member whose name differs from a known one in its capitals alone.
fn uninspected_member(name: &str) -> Fault {
    let message = format!(
        "The member '{name}' is not inspected by the guardrails of this call, and a provider that ignores capitals would \
         read it. Write its name in the usual case, or leave it out."
    );
    fault::invalid_parameter(name.to_owned(), message)
}
