//! The steps of a resolution, recorded for explanations. Ordinary calls use `()`, which records nothing.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub step: &'static str,
    pub detail: String,
}

pub trait Trail {
    fn note(&mut self, step: &'static str, detail: impl FnOnce() -> String);
}

impl Trail for () {
    fn note(&mut self, _: &'static str, _: impl FnOnce() -> String) {}
}

impl Trail for Vec<Step> {
    fn note(&mut self, step: &'static str, detail: impl FnOnce() -> String) {
        self.push(Step { step, detail: detail() });
    }
}
