//! OpenAI chat completions.

mod answer;
mod classify;
mod encode;
mod error;
mod peek;
mod request;
mod usage;

pub use answer::{Answer, read_answer, splice_answer};
pub use classify::{Class, Seen, classify};
pub use encode::{EncodeOptions, encode};
pub use error::{read_error, read_stream_error};
pub use peek::{event_id, has_choices};
pub use request::{ChatRequest, Places, parse};
pub use usage::read_usage;
