//! Stream resumption: an answer that its provider breaks off is continued by another target, and the client sees one
//! answer.
//!
//! With `RESUME_STREAMS` on, `is_resumable` decides for each call whether its stream can be resumed: one answer, whose
//! whole request is known here and is not bound to one provider. Such a stream takes the canonical path even if the
//! formats are the same (`WhyCanonical::ResumableStream`), because only canonical events can be joined.
//!
//! **While the first provider answers,** the stream carries a `Resumable` (the call, its targets, its reservation), and
//! its events pass two stages: `ToolCallBuffer` holds back each tool call until it is complete, so that an interrupted
//! one can be started again; `BlockTracker` records which blocks are open for the client. If the provider fails after
//! the finish reason, only the end event is missing, and `BlockTracker` adds it: nothing is resumed.
//!
//! **When the provider fails earlier,** `UpstreamStream::break_off` reports the usage so far and hands out the
//! `Resumable`. `resume` asks the other targets first and the failed one last, within one deadline and as far as the
//! budget covers it, at most three times per stream. `continuation_prompt` builds the request: the answer so far as the
//! beginning of the model's own turn, or an instruction that quotes the last words. `dispatch::request_continuation`
//! sends it; `resume` is given that function, because `dispatch` is the layer above. An empty continuation of an answer
//! that looks incomplete is kept aside while another target may have more.
//!
//! **While the second provider has not sent content,** its events stay in a `ContinuationBuffer`, so that a failure can
//! still be answered by the next target.
//!
//! **`UpstreamStream::join` then connects** the decoder of the continuation to the renderer of the old stream. Open
//! blocks other than text are closed, and a `ContinuationJoiner` between the two stages above maps the continuation to
//! the joined answer: `Overlap` removes text that it repeats, repeated tool calls and its reasoning are dropped, blocks
//! are renumbered, and usage is added to that of the first provider. The joined stream can break off again and is
//! handled in the same way.

mod block_tracker;
mod continuation_buffer;
mod continuation_joiner;
pub mod continuation_prompt;
mod overlap;
mod resumable;
mod resumption;
mod stages;
mod tool_call_buffer;

pub use overlap::Overlap;
pub use resumable::{Resumable, is_resumable, targets};
pub use resumption::{Continuation, ContinuationReply, ContinuationRequest, Resumed, Resuming, resume};
pub use stages::ResumeStages;
