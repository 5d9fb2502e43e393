//! Reading of a provider's stream: forwarded unchanged, or translated event by event.

mod continuation_buffer;
mod continuation_joiner;
mod overlap;
mod tool_call_buffer;
mod translated;
mod upstream_stream;

pub use overlap::Overlap;
pub use upstream_stream::UpstreamStream;
