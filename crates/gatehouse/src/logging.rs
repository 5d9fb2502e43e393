//! The process log: text or JSON lines on standard error, written through a queue, with a level that can change at run
//! time.

mod escape;
mod queue;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use crate::settings::{LogFormat, LogSettings};
use queue::LogQueue;

/// Time that the process waits at its end for the last log lines to be written.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// The running log. Flushes queued lines when it is dropped.
pub struct Logging {
    queue: LogQueue,
    level: LogLevel,
}

impl Logging {
    pub fn level(&self) -> LogLevel {
        self.level.clone()
    }
}

/// A handle that changes the level of the running log.
#[derive(Clone)]
pub struct LogLevel(reload::Handle<EnvFilter, Registry>);

impl LogLevel {
    pub fn set(&self, level: &str) {
        if let Err(error) = self.0.reload(filter(level)) {
            tracing::warn!(%error, level, "failed to change log level");
        }
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.queue.flush(LAST_FLUSH);
    }
}

pub fn start(settings: &LogSettings) -> io::Result<Logging> {
    let (filter, handle) = reload::Layer::new(filter(&settings.level));
    let queue = LogQueue::start(io::stderr(), matches!(settings.format, LogFormat::Text))?;
    let lines = fmt::layer().with_writer(queue.clone()).with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match settings.format {
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Text => registry.with(lines.with_ansi(io::stderr().is_terminal())).try_init(),
    };
    // A second start in one process keeps the first log.
    if started.is_ok() {
        log_panics();
    }
    Ok(Logging { queue, level: LogLevel(handle) })
}

/// Logs panics. The default hook writes to standard error directly, which may block.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, reason = panic.payload_as_str().unwrap_or_default(), "panic");
    }));
}

/// Builds the filter. PostgreSQL's notices are left out unless the filter names their module.
fn filter(level: &str) -> EnvFilter {
    let quiet = if level.contains("sqlx") { "" } else { ",sqlx=warn" };
    EnvFilter::try_new(format!("{level}{quiet}")).unwrap_or_else(|_| EnvFilter::new("info"))
}
