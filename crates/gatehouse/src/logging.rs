//! What the gateway says about itself while it runs: text or JSON lines on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::settings::{LogFormat, LogSettings};

pub fn start(settings: &LogSettings) {
    // PostgreSQL's notices are news to nobody; whoever wants them names the module.
    let quiet = if settings.level.contains("sqlx") { "" } else { ",sqlx=warn" };
    let filter =
        EnvFilter::try_new(format!("{}{quiet}", settings.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let started = match settings.format {
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
    };
    // A second start in one process keeps the first one's log.
    drop(started);
}
