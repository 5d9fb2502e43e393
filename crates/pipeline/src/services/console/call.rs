//! A finished call in the console. Its strings share one buffer that is reused, because every call pays for this.

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::receipt::Receipt;
use serde::Serialize;

const WORDS: usize = 11;

#[derive(Default)]
pub struct Finished {
    text: String,
    /// The end of each string in `text`.
    ends: [usize; WORDS],
    has_key: bool,
    failed: bool,
    over: Timestamp,
    status: u16,
    stream: bool,
    duration_us: u64,
    first_byte_us: Option<u64>,
    overhead_us: u64,
    attempts: usize,
    input_tokens: u64,
    output_tokens: u64,
    total_cost: Option<Nanos>,
}

impl Finished {
    pub fn fill(&mut self, receipt: &Receipt) {
        let words: [&str; WORDS] = [
            &receipt.request_id,
            &receipt.method,
            &receipt.endpoint,
            &receipt.requested_model,
            &receipt.provider_name,
            &receipt.model,
            &receipt.user_path,
            receipt.auth_key_id.as_deref().unwrap_or_default(),
            &receipt.cache_type,
            receipt.error_code.as_deref().unwrap_or_default(),
            receipt.tenant_id.as_deref().unwrap_or_default(),
        ];
        self.text.clear();
        for (word, end) in words.into_iter().zip(&mut self.ends) {
            self.text.push_str(word);
            *end = self.text.len();
        }
        let took = i64::try_from(receipt.duration_us).unwrap_or(i64::MAX);
        self.over = Timestamp(receipt.at.micros().saturating_add(took));
        self.has_key = receipt.auth_key_id.is_some();
        self.failed = receipt.error_code.is_some();
        self.status = receipt.status;
        self.stream = receipt.stream;
        self.duration_us = receipt.duration_us;
        self.first_byte_us = receipt.first_byte_us;
        self.overhead_us = receipt.overhead_us;
        self.attempts = receipt.attempts.len();
        self.input_tokens = receipt.usage.tokens.total_input();
        self.output_tokens = receipt.usage.tokens.total_output();
        self.total_cost = receipt.total_cost();
    }

    pub fn over(&self) -> Timestamp {
        self.over
    }

    pub fn user_path(&self) -> &str {
        self.word(6)
    }

    pub fn tenant(&self) -> Option<&str> {
        Some(self.word(10)).filter(|tenant| !tenant.is_empty())
    }

    fn word(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.text.get(start..self.ends[index]).unwrap_or_default()
    }

    pub fn shown(&self) -> Shown<'_> {
        Shown {
            request_id: self.word(0),
            method: self.word(1),
            path: self.word(2),
            requested_model: self.word(3),
            provider_name: self.word(4),
            model: self.word(5),
            status: self.status,
            stream: self.stream,
            duration_ms: self.duration_us / 1000,
            ttft_ms: self.first_byte_us.map(|micros| micros / 1000),
            overhead_us: self.overhead_us,
            attempts: self.attempts,
            user_path: self.user_path(),
            auth_key_id: self.has_key.then(|| self.word(7)),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            total_cost: self.total_cost.map(Nanos::usd),
            cache_type: self.word(8),
            error_code: self.failed.then(|| self.word(9)),
        }
    }
}

#[derive(Serialize)]
pub struct Shown<'a> {
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
