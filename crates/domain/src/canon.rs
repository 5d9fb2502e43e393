//! The canonical model: what any client can ask and any provider can answer, in one set of words.
//!
//! Each format reads into it and writes from it, so that n dialects need n codecs and not n². Typed where the gateway
//! acts on it; what only one format knows is kept as raw JSON under that format's name and never crosses to another.

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
pub use part::{CacheMark, Content, Media, Part, Place, Source, Thinking, ToolCall, ToolResult};
pub use prompt::{Effort, OutputFormat, Prompt, Reasoning, Role, Sampling, Turn};
pub use reply::{Collector, Reply, StopReason};
pub use tool::{CustomTool, ForeignTool, FunctionTool, Tool, ToolChoice, flat_name};
