//! The process log: text or JSON lines on standard error, at a level that can be changed while it runs.

use tracing_subscriber::fmt;
use tracing_subscriber::reload;
use tracing_subscriber::{EnvFilter, Registry};

use crate::settings::{LogFormat, LogSettings};

/// Changes the level of a log that was started.
pub struct LogLevel(reload::Handle<EnvFilter, Registry>);

impl LogLevel {
    pub fn set(&self, level: &str) {
        if let Err(error) = self.0.reload(filter(level)) {
            tracing::warn!(%error, level, "the log level cannot be changed");
        }
    }
}

pub fn start(settings: &LogSettings) -> LogLevel {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    let (filter, handle) = reload::Layer::new(filter(&settings.level));
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match settings.format {
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Text => {
            let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            registry.with(lines.with_ansi(is_terminal)).try_init()
        }
    };
    // A second start in one process keeps the first one's log.
    drop(started);
    LogLevel(handle)
}

/// PostgreSQL's notices are left out unless the filter names their module.
fn filter(level: &str) -> EnvFilter {
    let quiet = if level.contains("sqlx") { "" } else { ",sqlx=warn" };
    EnvFilter::try_new(format!("{level}{quiet}")).unwrap_or_else(|_| EnvFilter::new("info"))
}
