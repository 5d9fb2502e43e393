//! The guardrails of a workflow, by step, and those of one call.

use std::sync::Arc;

use ::guardrails::placeholder::ScopeKey;
use domain::resources::workflow::GuardrailStep;
use domain::user_path::UserPath;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use store::Owner;

use super::compiled::CompiledGuardrail;

/// The guardrails of one step, by name.
pub type Step = Vec<Arc<CompiledGuardrail>>;

/// The guardrails of a workflow, in the order of their steps.
#[derive(Default)]
pub struct GuardrailPlan {
    steps: Vec<Step>,
}

impl GuardrailPlan {
    /// Looks up the guardrails of a workflow; the error is the name of one that is missing or does not compile.
    pub fn link<'a>(
        references: &[GuardrailStep],
        find: impl Fn(&str) -> Option<&'a Arc<CompiledGuardrail>>,
    ) -> Result<Self, String> {
        let mut ordered: Vec<&GuardrailStep> = references.iter().collect();
        ordered.sort_by_key(|reference| (reference.step, &reference.reference));
        let mut steps: Vec<Step> = Vec::new();
        let mut last = None;
        for GuardrailStep { reference, step } in ordered {
            let guardrail = find(reference).ok_or_else(|| reference.clone())?;
            if last.replace(step) != Some(step) {
                steps.push(Vec::new());
            }
            if let Some(step) = steps.last_mut() {
                step.push(guardrail.clone());
            }
        }
        Ok(Self { steps })
    }

    /// The guardrails that apply to calls on a path; `None` if there are none.
    pub fn for_path(&self, path: &UserPath) -> Option<CallGuardrails> {
        let select = |inspects: fn(&CompiledGuardrail) -> bool| {
            let fits = |guardrail: &&Arc<CompiledGuardrail>| guardrail.covers(path) && inspects(guardrail);
            let steps = self.steps.iter().map(|step| step.iter().filter(fits).cloned().collect::<Step>());
            steps.filter(|step| !step.is_empty()).collect::<Vec<Step>>()
        };
        let guardrails = CallGuardrails {
            request: select(CompiledGuardrail::inspects_requests),
            answer: select(CompiledGuardrail::inspects_answers),
            record: select(CompiledGuardrail::inspects_records),
        };
        (!guardrails.is_empty()).then_some(guardrails)
    }
}

/// The guardrails of one call: those of its request, of its answer and of its record.
#[derive(Clone)]
pub struct CallGuardrails {
    pub request: Vec<Step>,
    pub answer: Vec<Step>,
    /// Those that redact the audit log.
    pub record: Vec<Step>,
}

impl CallGuardrails {
    /// Whether the answer is inspected, for the client or, if it is recorded, for the record.
    pub fn inspects_answers(&self, is_recorded: bool) -> bool {
        !self.answer.is_empty() || (is_recorded && !self.record.is_empty())
    }

    /// The name of a guardrail whose verdict on the answer has an effect.
    fn enforced_on_answers(&self) -> Option<&str> {
        let enforced = |guardrail: &&Arc<CompiledGuardrail>| guardrail.is_enforced();
        self.answer.iter().flatten().find(enforced).map(|guardrail| guardrail.name())
    }

    /// The names of the guardrails that inspect the answer.
    pub fn names_on_answers(&self) -> Vec<String> {
        names(&self.answer)
    }

    /// The names of the guardrails that redact the record.
    pub fn names_on_records(&self) -> Vec<String> {
        names(&self.record)
    }

    /// The name of a guardrail without which the answer may not be sent: its verdict has an effect, or the request has
    /// placeholders and they are restored in the answer.
    pub fn required_for_answer(&self, has_placeholders: bool) -> Option<&str> {
        self.enforced_on_answers().or_else(|| self.restoring().filter(|_| has_placeholders))
    }

    /// The name of a guardrail that blocks calls that cannot be inspected.
    pub fn blocking_unreadable(&self) -> Option<&str> {
        let blocks = |guardrail: &&Arc<CompiledGuardrail>| guardrail.blocks_unreadable();
        let all = self.request.iter().chain(&self.answer).flatten();
        all.into_iter().find(blocks).map(|guardrail| guardrail.name())
    }

    /// The name of a guardrail whose placeholders are restored in the answer.
    fn restoring(&self) -> Option<&str> {
        let restores = |guardrail: &&Arc<CompiledGuardrail>| guardrail.is_reversible();
        self.request.iter().flatten().find(restores).map(|guardrail| guardrail.name())
    }

    /// Whether a guardrail of the request is remote.
    pub fn has_remote_on_requests(&self) -> bool {
        have_remote(&self.request)
    }

    /// Whether a guardrail of the answer is remote: it decides about the whole answer, so that nothing of it is sent
    /// before.
    pub fn has_remote_on_answers(&self) -> bool {
        have_remote(&self.answer)
    }

    /// Whether a guardrail of the request uses the classifier, if one is imported.
    pub fn uses_classifier(&self) -> bool {
        self.request.iter().flatten().any(|guardrail| guardrail.uses_classifier())
    }

    fn is_empty(&self) -> bool {
        self.request.is_empty() && self.answer.is_empty() && self.record.is_empty()
    }
}

fn have_remote(steps: &[Step]) -> bool {
    steps.iter().flatten().any(|guardrail| guardrail.is_remote())
}

fn names(steps: &[Step]) -> Vec<String> {
    steps.iter().flatten().map(|guardrail| guardrail.name().to_owned()).collect()
}

/// The key of a caller's reversible placeholders: the same for all of its calls, and different for other callers.
pub fn scope_key(secret: [u8; 32], owner: &Owner) -> ScopeKey {
    let (tenant, key) = (owner.tenant.clone(), owner.key.clone());
    ScopeKey::derived(move || derive_key(&secret, tenant.as_deref().unwrap_or_default(), &key))
}

fn derive_key(secret: &[u8; 32], tenant: &str, key: &str) -> [u8; 32] {
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    let mut mac = Hmac::<Sha256>::new((&block).into());
    for part in ["guardrail placeholders", tenant, key] {
        mac.update(part.as_bytes());
        mac.update(&[0]);
    }
    mac.finalize().into_bytes().into()
}
