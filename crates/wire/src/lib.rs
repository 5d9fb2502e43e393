//! Wire formats, vendors, JSON and event streams as pure functions over bytes: no sockets, no clock, no shared state.

pub mod answer_form;
pub mod codec;
pub mod conversation;
mod count;
pub mod custom;
pub mod demo;
pub mod embedded;
mod fingerprint;
pub mod formats;
mod instruction_edits;
pub mod json;
pub mod last_user_text;
mod members;
pub mod meter;
pub mod prompt_texts;
pub mod provider_error;
pub mod renames;
pub mod request_identity;
pub mod response_facts;
pub mod splice;
pub mod sse;
pub mod system_prompt;
mod text_collector;
pub mod text_parts;
pub mod tool_ids;
pub mod vendors;
