//! One event of the console and its JSON, which is made when it is first read and then shared.
//! Prompts, secrets and addresses of clients have no place in it.

use std::borrow::Cow;
use std::sync::OnceLock;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::receipt::Receipt;
use serde::Serialize;

/// What an event can be called.
pub const NAMES: [&str; 4] = ["request", "fallback", "breaker", "config"];

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
    /// `open`, `half_open` or `closed`.
    Breaker {
        provider_name: String,
        model: String,
        state: &'static str,
    },
    Config {
        actor: String,
        kind: String,
        name: String,
        action: String,
        revision: i64,
    },
}

pub enum Event {
    Settled(Box<Receipt>),
    Said(Timestamp, Box<Notice>),
}

pub struct Entry {
    pub id: u64,
    event: Event,
    json: OnceLock<String>,
}

impl Entry {
    pub fn new(id: u64, event: Event) -> Self {
        Self { id, event, json: OnceLock::new() }
    }

    pub fn name(&self) -> &'static str {
        match &self.event {
            Event::Settled(_) => "request",
            Event::Said(_, notice) => match **notice {
                Notice::Fallback { .. } => "fallback",
                Notice::Breaker { .. } => "breaker",
                Notice::Config { .. } => "config",
            },
        }
    }

    /// Where a call is booked; what concerns the whole installation is nobody's.
    pub fn user_path(&self) -> Option<&str> {
        match &self.event {
            Event::Settled(receipt) => Some(&receipt.user_path),
            Event::Said(..) => None,
        }
    }

    /// On one line.
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| match &self.event {
            Event::Settled(receipt) => {
                let took = i64::try_from(receipt.duration_us).unwrap_or(i64::MAX);
                let over = Timestamp(receipt.at.micros().saturating_add(took));
                self.write(over, &Settled::of(receipt))
            }
            Event::Said(at, notice) => self.write(*at, notice),
        })
    }

    fn write(&self, at: Timestamp, about: &impl Serialize) -> String {
        let at = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
        let shown = Shown { id: self.id, event: self.name(), at: format!("{at:.3}"), about };
        serde_json::to_string(&shown).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Shown<'a, T> {
    id: u64,
    event: &'static str,
    at: String,
    #[serde(flatten)]
    about: &'a T,
}

#[derive(Serialize)]
struct Settled<'a> {
    request_id: &'a str,
    method: &'a str,
    path: &'a str,
    requested_model: &'a str,
    provider_name: &'a str,
    model: &'a str,
    status: u16,
    stream: bool,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_ms: Option<u64>,
    overhead_us: u64,
    attempts: usize,
    user_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_key_id: Option<&'a str>,
    input_tokens: u64,
    output_tokens: u64,
    /// US dollars; null when there is no price.
    total_cost: Option<f64>,
    cache_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
}

impl<'a> Settled<'a> {
    fn of(receipt: &'a Receipt) -> Self {
        let tokens = &receipt.usage.tokens;
        Self {
            request_id: &receipt.request_id,
            method: &receipt.method,
            path: &receipt.endpoint,
            requested_model: &receipt.requested_model,
            provider_name: &receipt.provider_name,
            model: &receipt.model,
            status: receipt.status,
            stream: receipt.stream,
            duration_ms: receipt.duration_us / 1000,
            ttft_ms: receipt.first_byte_us.map(|micros| micros / 1000),
            overhead_us: receipt.overhead_us,
            attempts: receipt.attempts.len(),
            user_path: &receipt.user_path,
            auth_key_id: receipt.auth_key_id.as_deref(),
            input_tokens: tokens.total_input(),
            output_tokens: tokens.total_output(),
            total_cost: receipt.total_cost().map(Nanos::usd),
            cache_type: &receipt.cache_type,
            error_code: receipt.error_code.as_deref(),
        }
    }
}
