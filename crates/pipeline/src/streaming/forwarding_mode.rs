//! The decision whether a call is forwarded as bytes or translated: request and answer are passed on with few edits, or
//! both go through the canonical model.

use domain::call::Format;
use wire::codec;

/// The way of request and answer between client and provider. Dispatch follows it, and explain shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingMode {
    /// The provider's bytes are forwarded; only usage and errors are read.
    Bytes,
    /// The request is translated; the answer is decoded, passes the event stages and is rendered for the client.
    Translated(TranslationReason),
}

/// The reason why bytes cannot be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranslationReason {
    /// The provider does not support the client's format.
    FormatsDiffer,
    /// The stream may be continued at another provider, which only a canonical stream can be.
    ResumableStream,
    /// The answer continues a stream that another provider began, and is joined to it event by event.
    Continuation,
    /// Guardrails inspect the answer, or placeholders are restored in it.
    Guardrails,
    /// The request contains reasoning state that was sealed for the client. It must be opened before it is sent, and
    /// new state must be sealed in the answer.
    SealedState,
}

impl TranslationReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::FormatsDiffer => "formats_differ",
            Self::ResumableStream => "resumable_stream",
            Self::Continuation => "continuation",
            Self::Guardrails => "guardrails",
            Self::SealedState => "sealed_state",
        }
    }
}

/// The facts that decide how a conversation is forwarded. Other operations have no canonical model: their bytes
/// are always forwarded.
pub struct ForwardingInputs<'a> {
    pub client: Format,
    pub upstream: Format,
    /// Another provider may have to continue the stream.
    pub resumable: bool,
    /// The answer is inspected, or changed.
    pub is_inspected: bool,
    /// The request in the client's format, including the history of the conversation where the provider lacks it.
    pub body: &'a [u8],
}

impl ForwardingMode {
    /// Decides whether a call is translated. The body is searched last, because it may be large.
    pub fn decide(inputs: &ForwardingInputs<'_>) -> Self {
        if inputs.client != inputs.upstream {
            Self::Translated(TranslationReason::FormatsDiffer)
        } else if inputs.resumable {
            Self::Translated(TranslationReason::ResumableStream)
        } else if inputs.is_inspected {
            Self::Translated(TranslationReason::Guardrails)
        } else if codec::carries_sealed_state(inputs.body) {
            Self::Translated(TranslationReason::SealedState)
        } else {
            Self::Bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::canon::SEAL_MARK;

    use super::*;

    #[test]
    fn bytes_are_forwarded_unless_there_is_a_reason_to_look_inside() {
        use ForwardingMode::{Bytes, Translated};
        use TranslationReason::{FormatsDiffer, ResumableStream, SealedState};
        let sealed = [b"{\"a\":\"", SEAL_MARK.as_bytes(), b"x\"}"].concat();
        for (client, upstream, resumable, body, expected) in [
            (Format::Chat, Format::Chat, false, &b"{}"[..], Bytes),
            (Format::Messages, Format::Messages, false, b"{}", Bytes),
            (Format::Chat, Format::Messages, false, b"{}", Translated(FormatsDiffer)),
            (Format::Messages, Format::Chat, false, b"{}", Translated(FormatsDiffer)),
            (Format::Chat, Format::Messages, true, b"{}", Translated(FormatsDiffer)),
            (Format::Chat, Format::Messages, true, &sealed, Translated(FormatsDiffer)),
            (Format::Chat, Format::Chat, true, b"{}", Translated(ResumableStream)),
            (Format::Messages, Format::Messages, true, &sealed, Translated(ResumableStream)),
            (Format::Messages, Format::Messages, false, &sealed, Translated(SealedState)),
        ] {
            let inputs = ForwardingInputs { client, upstream, resumable, is_inspected: false, body };
            assert_eq!(ForwardingMode::decide(&inputs), expected, "{client:?} {upstream:?} {resumable}");
        }
        let (client, upstream) = (Format::Chat, Format::Chat);
        let inputs = ForwardingInputs { client, upstream, resumable: false, is_inspected: true, body: b"{}" };
        assert_eq!(ForwardingMode::decide(&inputs), Translated(TranslationReason::Guardrails));
    }
}
