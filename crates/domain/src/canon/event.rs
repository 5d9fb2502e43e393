//! An answer in pieces. Blocks open, grow and close by index; indexes count up from 0 in the order blocks open.

use bytes::Bytes;
use serde_json::Value;

use super::{Opaque, StopReason};
use crate::call::Format;
use crate::usage::Usage;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The provider has begun; nothing is said yet. First, and once.
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
    /// What was consumed so far, and the provider's own words for it; the last one counts.
    Usage {
        usage: Box<Usage>,
        raw: Bytes,
    },
    /// Why the answer ends. Once; every block is closed before it.
    Finish {
        reason: StopReason,
    },
    /// Nothing follows. Once, after `Finish`.
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
    /// A block only one format knows, whole.
    Foreign {
        format: Format,
        value: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More of a text, a thought or a refusal.
    Text(String),
    /// More of a call's arguments: fragments of JSON text, in order.
    Arguments(String),
    /// State of a thinking block or of a call; replaces what came before.
    Opaque(Opaque),
}

impl Event {
    /// The client could miss it: once this has been sent, no other provider can take over.
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

    /// Bytes of what is said: what an estimate is made of.
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Open { block: Block::ToolCall { name, .. }, .. } => name.len(),
            Self::Delta { delta: Delta::Text(text) | Delta::Arguments(text), .. } => text.len(),
            _ => 0,
        }
    }
}
