//! An event of the console, and its JSON. It contains no prompts, secrets or client addresses.

use std::borrow::Cow;

use domain::clock::Timestamp;
use serde::Serialize;

use super::Entry;
use super::call::Finished;

/// The names of the events.
pub const NAMES: [&str; 5] = ["request", "fallback", "breaker", "budget", "config"];

/// Events other than calls. Targets are written as `instance/model`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Notice {
    /// A call fails over to another target; the reason is the error code at the first one.
    Fallback {
        request_id: String,
        from: String,
        to: String,
        reason: Cow<'static, str>,
    },
    /// A circuit breaker is now `open` or `closed`.
    Breaker {
        provider_name: String,
        model: String,
        state: &'static str,
    },
    /// A budget has crossed a threshold.
    Budget(Box<Crossed>),
    Config {
        actor: String,
        kind: String,
        name: String,
        action: String,
        revision: i64,
    },
}

/// The alert as the console and webhooks receive it; amounts in US dollars.
#[derive(Clone, Debug, Serialize)]
pub struct Crossed {
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub period_label: String,
    pub period_seconds: i64,
    pub amount: f64,
    pub spent: f64,
    pub usage_ratio: f64,
    pub threshold: f64,
    pub period_start: String,
    pub period_end: String,
}

pub enum Event {
    Settled(Box<Finished>),
    Notice(Timestamp, Box<Notice>),
}

impl Entry {
    pub fn name(&self) -> &'static str {
        match &self.event {
            Event::Settled(_) => "request",
            Event::Notice(_, notice) => match **notice {
                Notice::Fallback { .. } => "fallback",
                Notice::Breaker { .. } => "breaker",
                Notice::Budget(_) => "budget",
                Notice::Config { .. } => "config",
            },
        }
    }

    /// The user path of a call or a budget; `None` for events of the whole installation.
    pub fn user_path(&self) -> Option<&str> {
        match &self.event {
            Event::Settled(call) => Some(call.user_path()),
            Event::Notice(_, notice) => match &**notice {
                Notice::Budget(crossed) => Some(&crossed.user_path),
                _ => None,
            },
        }
    }

    /// The tenant of a call or a budget; `None` for events of the whole installation.
    pub fn tenant(&self) -> Option<&str> {
        match &self.event {
            Event::Settled(call) => call.tenant(),
            Event::Notice(_, notice) => match &**notice {
                Notice::Budget(crossed) => crossed.tenant_id.as_deref(),
                _ => None,
            },
        }
    }

    /// The event as JSON on one line.
    pub fn json(&self) -> &str {
        self.json_by(|id, event| match event {
            Event::Settled(call) => write(id, self.name(), call.over(), &call.shown()),
            Event::Notice(at, notice) => write(id, self.name(), *at, notice),
        })
    }
}

fn write(id: u64, event: &'static str, at: Timestamp, about: &impl Serialize) -> String {
    let at = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    let shown = Shown { id, event, at: format!("{at:.3}"), about };
    serde_json::to_string(&shown).unwrap_or_default()
}

#[derive(Serialize)]
struct Shown<'a, T> {
    id: u64,
    event: &'static str,
    at: String,
    #[serde(flatten)]
    about: &'a T,
}
