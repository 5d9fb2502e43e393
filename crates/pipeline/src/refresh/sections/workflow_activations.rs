//! Activations of workflows. One that does not compile closes its scope: the version in force is not known.

use domain::resources::workflow::{WorkflowActivation, WorkflowScope};
use store::Stored;

use crate::snapshot::section::Section;

pub struct WorkflowActivations;

impl Section for WorkflowActivations {
    type Document = WorkflowActivation;
    type Compiled = WorkflowActivation;

    fn compile(document: Stored<WorkflowActivation>) -> Result<WorkflowActivation, String> {
        match WorkflowScope::from_key(&document.value.scope) {
            Some(_) => Ok(document.value),
            None => Err("not the key of a scope".to_owned()),
        }
    }

    fn fallback(name: &str) -> Option<WorkflowActivation> {
        Some(WorkflowActivation {
            scope: name.to_owned(),
            versions: 0,
            active: Some("unknown".to_owned()),
            guardrails: Vec::new(),
        })
    }
}
