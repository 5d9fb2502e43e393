//! The canonical request and response model: the union of the API formats.
//!
//! Each format decodes into it and encodes from it, so that n formats need n codecs and not n². Fields that the gateway
//! acts on are typed; fields that only one format has are kept as raw JSON under that format's name and never
//! translated to another.

mod event;
mod fields;
mod opaque;
mod part;
mod prompt;
mod reply;
mod tool;

pub use event::{Block, Delta, Event};
pub use fields::{Dropped, Field};
pub use opaque::{Opaque, Origin, SEAL_MARK};
pub use part::{BodyPath, CacheMark, Content, Media, MediaSource, Part, Thinking, ToolCall, ToolResult};
pub use prompt::{Effort, OutputFormat, Prompt, Reasoning, Role, Sampling, Turn};
pub use reply::{Collector, Reply, StopReason};
pub use tool::{CustomTool, ForeignTool, FunctionTool, Tool, ToolChoice, flat_name};
