//! Guardrails. One that does not compile is left out; workflows that refer to it do not compile either, and their calls
//! are refused.

use std::sync::Arc;

use domain::resources::guardrail::Guardrail;
use store::Stored;

use crate::guardrails::CompiledGuardrail;
use crate::snapshot::section::Section;

pub struct Guardrails;

impl Section for Guardrails {
    type Document = Guardrail;
    type Compiled = Arc<CompiledGuardrail>;

    fn compile(document: Stored<Guardrail>) -> Result<Arc<CompiledGuardrail>, String> {
        let compiled = CompiledGuardrail::compile(document.value);
        compiled.map(Arc::new).map_err(|error| format!("{}: {}", error.param, error.message))
    }

    fn fallback(_name: &str) -> Option<Arc<CompiledGuardrail>> {
        None
    }
}
