//! The vendors: the only list of them. Each is a file of data; nothing else knows their names.

mod anthropic;
mod azure;
mod cerebras;
mod cohere;
mod dashscope;
mod deepseek;
mod demo;
mod fireworks;
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
pub use models::{Discovered, Discovery, read_models};
use paths::OPENAI_LIKE;
pub use paths::{Lifecycle, Paths};
pub use rules::{Rules, ThinkingStyle};
pub use telemetry::otel_provider_name;

/// In the order they are offered to an operator.
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

/// What is known about a kind of provider before any instance of it is configured.
#[derive(Debug)]
pub struct Vendor {
    /// The provider type in settings and records.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    pub base_url: Option<&'static str>,
    pub credential: Credential,
    /// The format its models are called in when a client speaks none that it serves natively.
    pub format: Format,
    pub key_required: bool,
    pub base_url_required: bool,
    pub discovery: Discovery,
    /// Models known without asking, for vendors that cannot be asked.
    pub models: &'static [&'static str],
    /// Sent with every request, beside the credential; names in lower case.
    pub headers: &'static [(&'static str, &'static str)],
    /// Sent as the query `api-version` unless an instance names another.
    pub api_version: Option<&'static str>,
    pub paths: Paths,
    /// What a model of this vendor takes.
    pub rules: fn(&str) -> Rules,
    pub quirks: Quirks,
    /// Answers by itself, with no network.
    pub answer: Option<fn(&[u8]) -> Reply>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    None,
    Bearer,
    Header(&'static str),
    OptionalBearer,
}

/// How a stream comes to carry usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUsage {
    /// When `stream_options.include_usage` asks for it.
    Option,
    /// In any case; what the client wrote stays.
    Always,
    /// Not at all, and `stream_options` is refused.
    Never,
}

/// How ids of tool calls must look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIds {
    Any,
    UpToForty,
    NineLettersOrDigits,
}

/// Where a vendor departs from OpenAI.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    pub stream_usage: StreamUsage,
    /// Models that refuse `max_tokens` and want `max_completion_tokens`.
    pub completion_tokens_rename: fn(&str) -> bool,
    /// Knows only `max_tokens`; the newer name would be ignored and the limit with it.
    pub max_tokens_only: bool,
    /// Takes the role `developer`; otherwise it is sent as `system`.
    pub developer_role: bool,
    pub min_temperature_above_zero: bool,
    /// Reports costs when the body has `"usage":{"include":true}`.
    pub usage_member: bool,
    /// Takes `prompt_cache_key` and its like.
    pub cache_keys: bool,
    /// Takes `top_k`, which OpenAI does not know.
    pub top_k: bool,
    /// How ids of tool calls must look.
    pub call_ids: CallIds,
    /// Parameters that are refused and can be left out without changing the answer's shape.
    pub dropped: &'static [&'static str],
}

/// A careful stranger that speaks OpenAI's dialect: what most vendors are.
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

/// The usual vendor in the cloud; a file names what differs.
const HOSTED: Vendor = Vendor {
    name: "",
    title: "",
    base_url: None,
    credential: Credential::Bearer,
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

/// The usual server of one's own.
const LOCAL: Vendor = Vendor { credential: Credential::OptionalBearer, key_required: false, ..HOSTED };

/// Chat completions and nothing else.
const CHAT: Paths = Paths { embeddings: None, completions: None, ..OPENAI_LIKE };

/// Serves nothing until its file says what.
const NOTHING: Paths = Paths { chat: None, embeddings: None, completions: None, ..OPENAI_LIKE };

/// Of the open models that many serve, gpt-oss takes an effort.
fn open_weights(model: &str) -> Rules {
    let thinking = if model.contains("gpt-oss") { ThinkingStyle::Effort } else { ThinkingStyle::None };
    Rules { thinking, ..Rules::CAREFUL }
}

impl Vendor {
    /// The format a model is called in for a client that speaks `client`: its own wherever the vendor serves that.
    /// None when the vendor serves no conversation at all.
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

/// The vendor a misspelt name was meant for.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let distance = |vendor: &&&Vendor| strsim::damerau_levenshtein(vendor.name, &name);
    let vendor = VENDORS.iter().min_by_key(distance)?;
    (distance(&vendor) <= 1 + name.len() / 4).then_some(vendor.name)
}

#[cfg(test)]
mod tests;
