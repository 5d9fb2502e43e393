//! The progress of an attempt, readable from outside of it: the charge is known even if the attempt was cancelled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use domain::call::Format;
use domain::fault::Fault;
use domain::receipt::{AttemptTiming, GuardrailVerdict};
use domain::usage::Usage;
use wire::response_facts::ResponseFacts;

use crate::accounting::loss::Loss;

/// Atomics give shared access while the attempt runs. The same task writes and reads them, so relaxed ordering is
/// enough.
#[derive(Default)]
pub struct Progress {
    begun: AtomicBool,
    bytes: AtomicU64,
    usage: OnceLock<Box<Usage>>,
    facts: OnceLock<Box<ResponseFacts>>,
    verdicts: OnceLock<Vec<GuardrailVerdict>>,
    /// Set if the call is audited.
    first_byte: OnceLock<Duration>,
    translated_to: OnceLock<Format>,
}

impl Progress {
    /// Marks that the provider has accepted the call: from here on it costs.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Records how many bytes of the response have arrived.
    pub fn came(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub fn record_usage(&self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            let _ = self.usage.set(Box::new(usage));
        }
    }

    /// Records the model and finish reasons of a large response.
    pub fn names(&self, facts: Option<ResponseFacts>) {
        if let Some(facts) = facts {
            let _ = self.facts.set(Box::new(facts));
        }
    }

    /// Records the verdicts of guardrails on an answer that is not sent.
    pub fn record_verdicts(&self, verdicts: Vec<GuardrailVerdict>) {
        let _ = self.verdicts.set(verdicts);
    }

    pub fn verdicts(&self) -> &[GuardrailVerdict] {
        self.verdicts.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Records the time until the head of the answer.
    pub fn record_first_byte(&self, after: Duration) {
        let _ = self.first_byte.set(after);
    }

    /// Records the format that the request was translated to.
    pub fn record_translation(&self, format: Option<Format>) {
        if let Some(format) = format {
            let _ = self.translated_to.set(format);
        }
    }

    /// The timing of the attempt for the audit log.
    pub fn timing(&self, retry_after: Option<Duration>) -> AttemptTiming {
        AttemptTiming {
            first_byte_us: self.first_byte.get().and_then(|time| u64::try_from(time.as_micros()).ok()),
            streamed_us: None,
            retry_after_ms: retry_after.and_then(|time| u64::try_from(time.as_millis()).ok()),
            translated_to: self.translated_to.get().map(|format| format.name().to_owned()),
        }
    }

    pub fn facts(&self) -> Option<ResponseFacts> {
        self.facts.get().map(|facts| ResponseFacts::clone(facts))
    }

    /// The charge for an attempt that failed or was cancelled; `None` if the provider bills nothing.
    pub fn loss(&self) -> Option<Loss> {
        let owed = || Loss {
            usage: self.usage.get().map(|usage| Usage::clone(usage)),
            content_bytes: self.bytes.load(Ordering::Relaxed),
        };
        self.begun.load(Ordering::Relaxed).then(owed)
    }

    /// Drops the charge if the provider bills nothing after this error.
    pub fn failed(&self, fault: &Fault) {
        if !fault.billable {
            self.begun.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::fault::{self, FaultCode};

    use super::*;

    #[test]
    fn only_started_and_lost_answers_are_charged() {
        let begun = || {
            let progress = Progress::default();
            progress.begin();
            progress.came(40);
            progress
        };
        let after = |progress: Progress, fault: Fault| {
            progress.failed(&fault);
            progress.loss()
        };
        let owed = || Some(Loss { usage: None, content_bytes: 40 });
        assert_eq!(Progress::default().loss(), None);
        assert_eq!(after(Progress::default(), fault::upstream_interrupted("x")), None);
        assert_eq!(begun().loss(), owed());
        assert_eq!(after(begun(), fault::upstream_interrupted("x")), owed());
        let overloaded = Fault::new(FaultCode::Provider("overloaded_error".into()), "");
        assert_eq!(after(begun(), overloaded), None, "its own word");
    }
}
