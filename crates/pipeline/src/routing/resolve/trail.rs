//! The steps of a resolution, recorded for explanations. Calls that are not in the audit log record
//! nothing.

use domain::receipt::{CallDecisions, RouteStep};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub step: &'static str,
    pub detail: String,
}

pub trait Trail {
    /// Records a step about a name. The detail is for explanations.
    fn note(&mut self, step: &'static str, name: &str, detail: impl FnOnce() -> String);
}

impl Trail for () {
    fn note(&mut self, _: &'static str, _: &str, _: impl FnOnce() -> String) {}
}

impl Trail for Vec<Step> {
    fn note(&mut self, step: &'static str, _: &str, detail: impl FnOnce() -> String) {
        self.push(Step { step, detail: detail() });
    }
}

/// The steps of a call in the audit log; `None` records nothing.
impl Trail for Option<Vec<RouteStep>> {
    fn note(&mut self, step: &'static str, name: &str, _: impl FnOnce() -> String) {
        if let Some(steps) = self {
            CallDecisions::add_step(steps, step, name);
        }
    }
}
