//! The guardrails that compile, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::guardrails::CompiledGuardrail;

/// All guardrails, whether or not a workflow refers to them.
#[derive(Default)]
pub struct Guardrails(BTreeMap<String, Arc<CompiledGuardrail>>);

impl Guardrails {
    pub fn new(guardrails: BTreeMap<String, Arc<CompiledGuardrail>>) -> Self {
        Self(guardrails)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<CompiledGuardrail>> {
        self.0.get(name)
    }

    /// Whether a guardrail uses the classifier, if one is imported.
    pub fn use_classifier(&self) -> bool {
        self.0.values().any(|guardrail| guardrail.uses_classifier())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
