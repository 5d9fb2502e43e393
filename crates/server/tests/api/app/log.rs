//! Captures log lines of the current thread while the guard lives. API tests run on one thread each.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

pub struct CapturedLog {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl CapturedLog {
    pub fn start() -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let guard = tracing::subscriber::set_default(Collector(lines.clone()));
        Self { lines, _guard: guard }
    }

    /// The lines that contain all of `parts`, each as `LEVEL message field=value …`.
    pub fn lines_with(&self, parts: &[&str]) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|line| parts.iter().all(|part| line.contains(part))).cloned().collect()
    }
}

struct Collector(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
