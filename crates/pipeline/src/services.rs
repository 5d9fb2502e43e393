//! Process-wide services that calls share. None of them knows the gateway or a call.

pub mod audit;
pub mod body_work;
pub mod change_signals;
pub mod console;
pub(crate) mod content_encoding;
pub mod embedder;
pub mod feed;
pub mod injection_scorer;
pub mod json_document;
pub mod key_uses;
pub mod live_value;
pub mod metrics;
pub mod pending_receipts;
pub mod prompt_affinity;
pub mod reasoning_state;
pub mod recorded_answer;
pub mod response_cache;
pub mod retry_budget;
pub mod semantic_cache;
pub mod token_issuers;
pub mod traces;
pub mod webhooks;
