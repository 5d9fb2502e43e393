//! Inspects the members of a streamed request body that decisions depend on, and refuses ambiguous ones.

use domain::fault::{self, Fault};
use wire::json::StreamValidator;
use wire::meter::{JsonFieldExtractor, Member, MemberScope, RequestField};

use super::Sent;

pub(super) struct Inspector {
    extractor: JsonFieldExtractor,
    /// The content type is JSON; otherwise only references are read.
    json: bool,
    /// Requires valid UTF-8 JSON, where access lists, prices, budgets or ownership depend on it.
    validator: Option<StreamValidator>,
    /// Admission depends on the model, so none may be named that was not checked.
    guarded: bool,
    budgeted: bool,
    models: usize,
    /// The number of models that had been named when they were checked.
    judged: Option<usize>,
    /// The names that multiply the work requested. Where a budget applies, each may occur only once.
    multipliers: Vec<&'static str>,
    /// The first of these names that occurred again.
    repeated: Option<&'static str>,
    /// More than one answer is requested.
    multiplied: bool,
    /// Part of the body is sent before the rest has arrived.
    streamed: bool,
    /// The refusal of background requests, if their result cannot be retrieved.
    background_untracked: Option<Fault>,
}

impl Inspector {
    pub(super) fn new(json: bool) -> Self {
        Self {
            extractor: JsonFieldExtractor::with_references(),
            json,
            validator: None,
            guarded: false,
            budgeted: false,
            models: 0,
            judged: None,
            multipliers: Vec::new(),
            repeated: None,
            multiplied: false,
            streamed: false,
            background_untracked: None,
        }
    }

    pub(super) fn refuse_background(&mut self, fault: Option<Fault>) {
        self.background_untracked = fault;
    }

    pub(super) fn restrict(&mut self, guarded: bool, budgeted: bool, strict: bool) {
        self.guarded = guarded;
        self.budgeted = budgeted;
        self.validator = (strict && self.json).then(StreamValidator::default);
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    pub(super) fn looks_for_model(&self) -> bool {
        self.json && self.models == 0
    }

    pub(super) fn take_references(&mut self) -> Vec<String> {
        self.extractor.take_references()
    }

    pub(super) fn seal(&mut self, streamed: bool) {
        self.judged = Some(self.models);
        self.streamed = streamed;
    }

    pub(super) fn look(&mut self, data: &[u8], sent: &Sent) -> Result<(), Fault> {
        if let Some(validator) = &mut self.validator {
            validator.feed(data)?;
        }
        let mut extractor = std::mem::take(&mut self.extractor);
        let mut unreadable = None;
        let mut conversations = Vec::new();
        extractor.feed(data, |member| match member.place {
            MemberScope::Top if self.json => self.note(&member, sent, &mut unreadable),
            MemberScope::Within("conversation") if member.name == "id" => conversations.extend(text(&member)),
            _ => {}
        });
        extractor.add_references(conversations);
        self.extractor = extractor;
        if let Some(fault) = self.background_untracked.as_ref().filter(|_| sent.is_background()) {
            return Err(fault.clone());
        }
        match unreadable {
            Some(name) => {
                Err(fault::invalid_parameter(name, format!("'{name}' is too long or not readable.")))
            }
            None => self.refuse_ambiguous(),
        }
    }

    /// Checks the end of the body.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match &self.validator {
            Some(validator) => Ok(validator.finish()?),
            None => Ok(()),
        }
    }

    fn note(&mut self, member: &Member<'_>, sent: &Sent, unreadable: &mut Option<&'static str>) {
        let Some(field) = member.request_field() else { return };
        if field.multiplies() && self.multipliers.contains(&member.name) {
            self.repeated = self.repeated.or(Some(member.name));
        } else if field.multiplies() {
            self.multipliers.push(member.name);
        }
        let Some(value) = member.value else {
            // Other members, such as prompts, may exceed the extractor's limit; these decide and may not.
            if !matches!(field, RequestField::GenerationConfig | RequestField::Store) {
                *unreadable = Some(member.name);
            }
            self.models += usize::from(field == RequestField::Model);
            return;
        };
        let mut record = sent.0.lock();
        match field {
            RequestField::Model => {
                self.models += 1;
                let name = text(member).map(|name| short(&name));
                record.model = record.model.take().or(name).filter(|name| !name.is_empty());
            }
            RequestField::FallbackModels => {
                // If admission depends on the model, fallback models named after the check count as a second model.
                self.models += usize::from(self.judged.is_some() && self.guarded);
                let names: Vec<serde_json::Value> = serde_json::from_slice(value).unwrap_or_default();
                record.alternatives.extend(names.iter().filter_map(|name| name.as_str()).map(short));
            }
            RequestField::Choices => {
                record.answers = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            }
            RequestField::Store => record.store = serde_json::from_slice(value).ok(),
            RequestField::Background => record.background |= value == b"true",
            RequestField::Candidates | RequestField::GenerationConfig => {}
        }
        self.multiplied |= matches!(field, RequestField::Choices | RequestField::Candidates)
            && !matches!(value, b"1" | b"null");
    }

    fn refuse_ambiguous(&self) -> Result<(), Fault> {
        // A second model is always refused: providers use the last one, and some ignore case.
        let max = if self.guarded { self.judged.unwrap_or(1) } else { 1 };
        if self.models > max {
            let message = if self.models > 1 {
                "The body names a model more than once."
            } else {
                "The body names its model too late for it to be checked: put 'model' first."
            };
            return Err(fault::invalid_json(message).param("model"));
        }
        if !self.budgeted {
            return Ok(());
        }
        if let Some(name) = self.repeated {
            return Err(fault::invalid_json(format!("The body has '{name}' more than once.")).param(name));
        }
        // A body that was received completely is charged for several answers; a streamed one was reserved with one.
        if self.multiplied && self.streamed {
            let message = "A body of this length may ask for one answer only, where budgets apply.";
            return Err(fault::invalid_parameter("n", message));
        }
        Ok(())
    }
}

fn text(member: &Member<'_>) -> Option<String> {
    let value = member.value?;
    wire::json::string_at(value, &(0..value.len())).map(|text| text.into_owned())
}

fn short(name: &str) -> String {
    name.trim().trim_start_matches("models/").chars().take(300).collect()
}
