//! The stages of a stream that can be resumed, and of one that continues another.

#[cfg(test)]
mod tests;

use domain::canon::{Event, Reply};
use domain::usage::Tokens;

use super::block_tracker::BlockTracker;
use super::continuation_buffer::ContinuationBuffer;
use super::continuation_joiner::{Break, ContinuationJoiner};
use super::overlap::Overlap;
use super::tool_call_buffer::ToolCallBuffer;
use crate::streaming::Continuity;
use crate::streaming::event_stage::{EventStage, push_through};

pub enum ResumeStages {
    NotResumable,
    Resumable(Box<ResumableStages>),
    Continuation(ContinuationBuffer),
}

#[derive(Default)]
pub struct ResumableStages {
    tool_calls: ToolCallBuffer,
    /// Present once another provider has continued the stream.
    joiner: Option<ContinuationJoiner>,
    blocks: BlockTracker,
}

impl ResumeStages {
    pub fn new(continuity: Continuity) -> Self {
        match continuity {
            Continuity::Single => Self::NotResumable,
            Continuity::Resumable => Self::Resumable(Box::default()),
            Continuity::Continuation => Self::Continuation(ContinuationBuffer::default()),
        }
    }

    /// The stages in their order: tool calls reach the joiner complete, and the tracker sees what the client sees.
    pub fn in_order(&mut self) -> [Option<&mut dyn EventStage>; 3] {
        match self {
            Self::NotResumable => [None, None, None],
            Self::Continuation(buffer) => [Some(buffer), None, None],
            Self::Resumable(stages) => {
                let ResumableStages { tool_calls, joiner, blocks } = &mut **stages;
                let joiner = joiner.as_mut().map(|joiner| joiner as &mut dyn EventStage);
                [Some(tool_calls), joiner, Some(blocks)]
            }
        }
    }

    /// Whether another target could continue the answer so far.
    pub fn can_continue(&self) -> bool {
        matches!(self, Self::Resumable(stages) if stages.blocks.can_continue())
    }

    /// Whether this is a continuation of which the client will see something, if only the end.
    pub fn has_content(&self) -> bool {
        self.buffer().is_some_and(ContinuationBuffer::has_content)
    }

    /// Whether this is a continuation that is complete before it is joined.
    pub fn has_ended(&self) -> bool {
        self.buffer().is_some_and(ContinuationBuffer::has_ended)
    }

    /// Whether this is a continuation without any answer so far.
    pub fn is_empty_continuation(&self) -> bool {
        self.buffer().is_some_and(|buffer| !buffer.has_answer())
    }

    fn buffer(&self) -> Option<&ContinuationBuffer> {
        match self {
            Self::Continuation(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// The id of the last continuation at its provider.
    pub fn provider_id(&self) -> Option<&str> {
        match self {
            Self::Resumable(stages) => stages.joiner.as_ref().and_then(ContinuationJoiner::provider_id),
            _ => None,
        }
    }

    /// Joins the buffered events of a continuation to the answer so far. An open reasoning block is closed; text goes
    /// on in its block.
    pub fn join(
        &mut self,
        next: Self,
        so_far: &Reply,
        overlap: Overlap,
        earlier: Tokens,
        number: u32,
    ) -> Vec<Event> {
        let (Self::Resumable(stages), Self::Continuation(buffer)) = (&mut *self, next) else {
            return Vec::new();
        };
        let ResumableStages { joiner, blocks, .. } = &mut **stages;
        let broken_text = blocks.open_text();
        let state = Break { broken_text, next: blocks.next_index(), earlier, number };
        *joiner = Some(ContinuationJoiner::new(so_far, overlap, state));
        let mut joined = Vec::new();
        blocks.close_all_but(broken_text, &mut joined);
        let mut rest = buffer.into_events();
        push_through(self.in_order().into_iter().flatten(), &mut rest, &mut Vec::new());
        joined.append(&mut rest);
        joined
    }
}
