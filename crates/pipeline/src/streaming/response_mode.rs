//! The mode in which a provider's answer is read: passed on as bytes, or translated.

use domain::call::Format;
use wire::codec::{AnswerReader, ClientCodec, Decoding, Native, Rendering, UpstreamCodec};
use wire::renames::Renames;

use super::forwarding_mode::{ForwardingMode, TranslationReason};
use crate::guardrails::AnswerFilter;

/// The handling of the response on its way to the client: forwarded unchanged (`Native`) or translated.
pub enum ResponseMode {
    /// The provider's bytes are passed on.
    Native(&'static dyn Native),
    Translated(Box<Translation>),
}

/// The codecs and state for an answer that is translated between two API formats.
pub struct Translation {
    pub upstream: &'static dyn UpstreamCodec,
    pub client: &'static dyn ClientCodec,
    pub client_format: Format,
    pub decoding: Decoding,
    pub rendering: Rendering,
    pub renames: Renames,
    pub why: TranslationReason,
    pub continuity: Continuity,
    /// Inspects and changes the answer before it is sent; `None` if that is not needed.
    pub filter: Option<Box<AnswerFilter>>,
}

/// Whether a stream can continue at another provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    Single,
    Resumable,
    /// It continues a response that another provider began.
    Continuation,
}

impl ResponseMode {
    pub fn forwarding(&self) -> ForwardingMode {
        match self {
            Self::Native(_) => ForwardingMode::Bytes,
            Self::Translated(translation) => ForwardingMode::Translated(translation.why),
        }
    }

    /// Reads the provider's bytes.
    pub fn upstream(&self) -> &'static dyn AnswerReader {
        match self {
            Self::Native(native) => *native,
            Self::Translated(translation) => translation.upstream,
        }
    }
}
