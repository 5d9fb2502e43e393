//! Reading of a provider's stream: forwarded unchanged, or decoded, passed through stages and rendered for the client.

mod event_stage;
mod forwarding_mode;
mod recorded_stream;
mod response_mode;
pub(crate) mod resume;
mod stages;
mod translated;
mod upstream_body;
mod upstream_stream;

pub use forwarding_mode::{ForwardingInputs, ForwardingMode, TranslationReason};
pub(crate) use recorded_stream::read_stream;
pub use response_mode::{Continuity, ResponseMode, Translation};
pub(crate) use translated::Translated;
pub(crate) use upstream_body::blame;
pub use upstream_body::{UpstreamBody, interrupted};
pub use upstream_stream::UpstreamStream;
