//! The only list of vendors; each is a file of data.

mod anthropic;
mod azure;
mod cerebras;
mod cohere;
mod credentials;
mod dashscope;
mod deepseek;
mod demo;
mod fireworks;
mod framing;
mod gemini;
mod groq;
mod jina;
mod llamacpp;
mod lmstudio;
mod minimax;
mod mistral;
mod models;
mod moonshot;
mod ollama;
mod openai;
mod openai_compatible;
mod openrouter;
mod oracle;
mod paths;
mod perplexity;
mod rules;
mod telemetry;
mod together;
mod vllm;
mod xai;
mod zai;

use domain::call::Format;

use crate::demo::Reply;
pub use credentials::Credentials;
pub use framing::Framing;
pub use models::{Discovered, Discovery, read_models};
use paths::OPENAI_LIKE;
pub use paths::{Lifecycle, Paths};
pub use rules::{Rules, ThinkingStyle};
pub use telemetry::otel_provider_name;

/// All vendors, in the order in which they are offered to an operator.
static VENDORS: &[&Vendor] = &[
    &openai::VENDOR,
    &anthropic::VENDOR,
    &gemini::VENDOR,
    &groq::VENDOR,
    &deepseek::VENDOR,
    &openrouter::VENDOR,
    &xai::VENDOR,
    &zai::VENDOR,
    &minimax::VENDOR,
    &azure::VENDOR,
    &oracle::VENDOR,
    &ollama::VENDOR,
    &vllm::VENDOR,
    &jina::VENDOR,
    &mistral::VENDOR,
    &cohere::VENDOR,
    &together::VENDOR,
    &fireworks::VENDOR,
    &perplexity::VENDOR,
    &cerebras::VENDOR,
    &moonshot::VENDOR,
    &dashscope::VENDOR,
    &lmstudio::VENDOR,
    &llamacpp::VENDOR,
    &openai_compatible::VENDOR,
    &demo::VENDOR,
];

/// Static properties of a provider type.
#[derive(Debug)]
pub struct Vendor {
    /// The provider type in settings and records.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    pub base_url: Option<&'static str>,
    pub credentials: Credentials,
    /// The framing of its streams.
    pub framing: Framing,
    /// The format used for its models if the vendor does not serve the client's format natively.
    pub format: Format,
    pub key_required: bool,
    pub base_url_required: bool,
    pub discovery: Discovery,
    /// Known models, for vendors without a model list.
    pub models: &'static [&'static str],
    /// Headers of every request besides the credentials; names in lower case.
    pub headers: &'static [(&'static str, &'static str)],
    /// Default of the query parameter `api-version`, which an instance may override.
    pub api_version: Option<&'static str>,
    pub paths: Paths,
    /// The rules of a model.
    pub rules: fn(&str) -> Rules,
    pub quirks: Quirks,
    /// Local answer function, for vendors without network.
    pub answer: Option<fn(&[u8]) -> Reply>,
}

/// The way usage is included in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUsage {
    /// If `stream_options.include_usage` requests it.
    Option,
    /// Always; the client's options are kept.
    Always,
    /// Never, and `stream_options` is rejected.
    Never,
}

/// Required form of tool call ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIds {
    Any,
    UpToForty,
    NineLettersOrDigits,
}

/// A vendor's deviations from OpenAI.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    pub stream_usage: StreamUsage,
    /// Whether a model rejects `max_tokens` and requires `max_completion_tokens`.
    pub completion_tokens_rename: fn(&str) -> bool,
    /// Supports only `max_tokens`; the newer name would be ignored, and the limit with it.
    pub max_tokens_only: bool,
    /// Accepts the role `developer`; otherwise it is sent as `system`.
    pub developer_role: bool,
    pub min_temperature_above_zero: bool,
    /// Reports costs when the body has `"usage":{"include":true}`.
    pub usage_member: bool,
    /// Accepts `prompt_cache_key` and related members.
    pub cache_keys: bool,
    /// Accepts `top_k`, which OpenAI does not have.
    pub top_k: bool,
    /// Required form of tool call ids.
    pub call_ids: CallIds,
    /// Parameters that are rejected and can be omitted without changing the answer's shape.
    pub dropped: &'static [&'static str],
}

/// Conservative defaults for OpenAI-compatible vendors.
const PLAIN: Quirks = Quirks {
    stream_usage: StreamUsage::Option,
    completion_tokens_rename: |_| false,
    max_tokens_only: false,
    developer_role: false,
    min_temperature_above_zero: false,
    usage_member: false,
    cache_keys: false,
    top_k: false,
    call_ids: CallIds::Any,
    dropped: &[],
};

/// Defaults of a hosted vendor.
const HOSTED: Vendor = Vendor {
    name: "",
    title: "",
    base_url: None,
    credentials: Credentials::Bearer,
    framing: Framing::Sse,
    format: Format::Chat,
    key_required: true,
    base_url_required: false,
    discovery: Discovery::OpenAiList { path: "/models" },
    models: &[],
    headers: &[],
    api_version: None,
    paths: OPENAI_LIKE,
    rules: |_| Rules::CAREFUL,
    quirks: PLAIN,
    answer: None,
};

/// Defaults of a self-hosted server.
const LOCAL: Vendor = Vendor { key_required: false, ..HOSTED };

/// Chat completions only.
const CHAT: Paths = Paths { embeddings: None, completions: None, ..OPENAI_LIKE };

/// No paths, as a base for vendors that list their own.
const NOTHING: Paths = Paths { chat: None, embeddings: None, completions: None, ..OPENAI_LIKE };

/// Rules of open-weight models, of which gpt-oss accepts an effort.
fn open_weights(model: &str) -> Rules {
    let thinking = if model.contains("gpt-oss") { ThinkingStyle::Effort } else { ThinkingStyle::None };
    Rules { thinking, ..Rules::CAREFUL }
}

impl Vendor {
    /// The format a model is called in for a client of format `client`: the client's own if the vendor serves it.
    /// `None` if the vendor serves no conversation format.
    pub fn format_for(&self, client: Format, model: &str) -> Option<Format> {
        let rules = (self.rules)(model);
        let wanted = if rules.responses_only { Format::Responses } else { client };
        let otherwise = if rules.prefers_responses { Format::Responses } else { self.format };
        let formats = [wanted, otherwise, self.format];
        formats.into_iter().find(|format| self.paths.of(*format, false).is_some())
    }
}

pub fn list() -> &'static [&'static Vendor] {
    VENDORS
}

pub fn find(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().copied().find(|vendor| vendor.name == name)
}

/// The closest vendor name, for misspelt ones.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let distance = |vendor: &&&Vendor| strsim::damerau_levenshtein(vendor.name, &name);
    let vendor = VENDORS.iter().min_by_key(distance)?;
    (distance(&vendor) <= 1 + name.len() / 4).then_some(vendor.name)
}

#[cfg(test)]
mod tests;
