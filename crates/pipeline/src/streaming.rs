//! Reading of a provider's stream: forwarded unchanged, or translated event by event.

mod continuation_buffer;
mod continuation_joiner;
mod overlap;
mod response_mode;
mod response_path;
mod resumable;
mod tool_call_buffer;
mod translated;
mod upstream_body;
mod upstream_stream;

pub use overlap::Overlap;
pub use response_mode::{Continuity, ResponseMode, Translation};
pub use response_path::{PathInputs, ResponsePath, WhyCanonical};
pub use resumable::Resumable;
pub(crate) use upstream_body::blame;
pub use upstream_body::{UpstreamBody, interrupted};
pub use upstream_stream::UpstreamStream;
