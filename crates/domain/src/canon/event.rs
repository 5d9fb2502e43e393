//! Canonical stream events. Blocks open, grow and close by index; indexes count up from 0 in the order in which blocks
//! open.

use bytes::Bytes;
use serde_json::Value;

use super::{Opaque, StopReason};
use crate::call::Format;
use crate::usage::Usage;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Start of the response, before any content. First event, sent once.
    Begin {
        id: Option<String>,
        model: Option<String>,
    },
    Open {
        index: u32,
        block: Block,
    },
    Delta {
        index: u32,
        delta: Delta,
    },
    Close {
        index: u32,
    },
    /// Usage so far, and the provider's own usage object; the last event counts.
    Usage {
        usage: Box<Usage>,
        raw: Bytes,
    },
    /// The stop reason. Sent once; every block is closed before it.
    Finish {
        reason: StopReason,
    },
    /// End of the stream. Sent once, after `Finish`.
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text,
    Thinking,
    ToolCall {
        id: String,
        name: String,
        custom: bool,
        opaque: Option<Opaque>,
    },
    Refusal,
    /// A complete block that exists in one format only.
    Foreign {
        format: Format,
        value: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text of a text, thinking or refusal block.
    Text(String),
    /// More of a tool call's arguments: fragments of JSON text, in order.
    Arguments(String),
    /// Opaque state of a thinking block or a tool call; replaces the previous one.
    Opaque(Opaque),
}

impl Event {
    /// True for events that a client would miss: once one has been sent, no other provider can take over.
    pub fn is_content(&self) -> bool {
        match self {
            Self::Begin { .. } | Self::Usage { .. } | Self::Close { .. } => false,
            Self::Open { block, .. } => matches!(block, Block::ToolCall { .. } | Block::Foreign { .. }),
            Self::Delta { delta, .. } => match delta {
                Delta::Text(text) | Delta::Arguments(text) => !text.is_empty(),
                Delta::Opaque(_) => true,
            },
            Self::Finish { .. } | Self::End => true,
        }
    }

    /// Bytes of generated content, from which tokens are estimated.
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Open { block: Block::ToolCall { name, .. }, .. } => name.len(),
            Self::Delta { delta: Delta::Text(text) | Delta::Arguments(text), .. } => text.len(),
            _ => 0,
        }
    }
}
