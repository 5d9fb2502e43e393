//! One event of the console and its JSON.
//! Prompts, secrets and addresses of clients have no place in it.

use std::borrow::Cow;

use domain::clock::Timestamp;
use serde::Serialize;

use super::Entry;
use super::call::Finished;
use crate::spending::alerts::Crossed;

/// What an event can be called.
pub const NAMES: [&str; 5] = ["request", "fallback", "breaker", "budget", "config"];

/// What is told besides calls. Targets are `instance/model`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Notice {
    /// A call goes on at another target; the reason is the code of what went wrong at the first.
    Fallback {
        request_id: String,
        from: String,
        to: String,
        reason: Cow<'static, str>,
    },
    /// `open` or `closed`.
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

pub enum Event {
    Settled(Box<Finished>),
    Said(Timestamp, Box<Notice>),
}

impl Entry {
    pub fn name(&self) -> &'static str {
        match &self.event {
            Event::Settled(_) => "request",
            Event::Said(_, notice) => match **notice {
                Notice::Fallback { .. } => "fallback",
                Notice::Breaker { .. } => "breaker",
                Notice::Budget(_) => "budget",
                Notice::Config { .. } => "config",
            },
        }
    }

    /// Where a call is booked, and whose a budget is; what concerns the whole installation is nobody's.
    pub fn user_path(&self) -> Option<&str> {
        match &self.event {
            Event::Settled(call) => Some(call.user_path()),
            Event::Said(_, notice) => match &**notice {
                Notice::Budget(crossed) => Some(&crossed.user_path),
                _ => None,
            },
        }
    }

    /// On one line.
    pub fn json(&self) -> &str {
        self.json_by(|id, event| match event {
            Event::Settled(call) => write(id, self.name(), call.over(), &call.shown()),
            Event::Said(at, notice) => write(id, self.name(), *at, notice),
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
