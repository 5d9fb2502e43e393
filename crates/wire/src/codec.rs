//! The two sides of a format. `RequestReader` and `ClientCodec` serve a client; `AnswerReader` and `UpstreamCodec` call
//! a provider. `Native` joins the byte sides of both for pass-through. A format that only clients or only providers use
//! has one side.

mod client;
mod content_template;
mod fields;
mod id_generator;
mod native;
mod prompt_cache_mode;
mod request;
pub mod shape;
mod upstream;

pub use client::{Broken, ClientCodec, Renderer, Rendering, RequestReader};
pub use content_template::{ContentRun, ContentTemplate};
pub use fields::{Fields, number};
pub use id_generator::IdGenerator;
pub use native::{Native, Served, carries_sealed_state};
pub use prompt_cache_mode::PromptCacheMode;
pub use request::{EchoedRequest, MemberIndexes, Request};
pub use shape::RequestShape;
pub use upstream::{Answer, AnswerReader, Class, Decoder, Decoding, Encoded, Seen, Target, UpstreamCodec};
