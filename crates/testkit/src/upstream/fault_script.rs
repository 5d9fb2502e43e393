//! The fault script language: what the upstream does with a call.
//!
//! There is one textual form with one parser. Model names use it, and so do [`Upstream::push`](super::Upstream::push),
//! the control route `POST /fault` and the faults that a prompt specifies.
//!
//! ```text
//! script   = [schedule] [delay] response
//! schedule = flaky-N- | every-N- | recovers-MS-
//! delay    = late-MS-
//! response = CONTENT | FAULT | resumable[-VARIANT][-FAULT] | FRAMING | ERROR | MALFORMED | LEAK
//! FAULT    = ACTION-POINT
//! ```
//!
//! | Schedule, delay | Effect |
//! |---|---|
//! | `flaky-N`, `flaky-N-SCRIPT` | the first N calls of this model are `error-500` (that script), the others `text` |
//! | `every-N`, `every-N-SCRIPT` | every N-th call of this model is `error-500` (that script), the others `text` |
//! | `recovers-NNN`, `recovers-NNN-SCRIPT` | `error-503` (that script) until NNN ms after the model's first call, then `text` |
//! | `slow-NNN`, `late-NNN-SCRIPT` | `text` (that script) with the first byte after NNN ms |
//!
//! | Content | Effect |
//! |---|---|
//! | `text` | greets, repeats the last text, with usage |
//! | `long`, `long-NNN` | 100 (NNN) pieces of content |
//! | `tools`, `parallel-tools` | one or two calls of the first (or the forced) tool; `The tools said: …` once the last turn is results |
//! | `reasoning` | reasoning before the text. Chat: always as `reasoning_content`, except for `gpt-5…~` and `o…~`, where it is counted but not shown; other formats: if requested, as also before the calls of `tools`, `agent` and `schema` |
//! | `redacted` | unreadable reasoning (Messages: `redacted_thinking`) |
//! | `cached` | half of the prompt read from a cache; Messages: also some 5-minute and 1-hour cache writes |
//! | `echo` | the request's body, as JSON text in the content |
//! | `empty` | a valid answer without content |
//! | `schema` | the smallest value that satisfies the request's JSON schema, or the forced tool's |
//! | `see` | `I see 2 images: image/png 68 bytes, …` |
//! | `agent` | on `write the file NAME with CONTENT`, calls the agent's own file or shell tool; `Done.` once there are results; text without tools |
//! | `stop`, `max-tokens` | ended by the first stop sequence, by the limit |
//! | `refusal`, `content-filter` | a refusal by the model; an answer cut by a filter (Gemini: a blocked prompt, a blocked candidate) |
//! | `strict` | like `text`, but an unknown top-level field of the chat format is 400 |
//! | `no-usage`, `weird-usage` | no usage; negative and implausible counts |
//! | `usage-every-chunk`, `azure-first` | chat: running usage on every chunk; a first chunk without choices and id |
//! | `resumable`, `resumable-repeat`, `resumable-restart` | a fixed text; a request to continue it gets the rest, the rest with the quoted words repeated, or the text from the beginning |
//! | `resumable-reasoning`, `resumable-call`, `resumable-calls` | the text with reasoning before it; one or two calls after a text |
//! | `requested-N` | the text and the N-th fault that the prompt specifies: see `answer_builder/resumable.rs`; any suffix creates more such models |
//!
//! | Fault | Effect |
//! |---|---|
//! | `hang`, `hang-after-head`, `hang-before-content`, `hang-mid-stream` | no more bytes: at once, after the head, right before the content, after some content |
//! | `reset-before-head`, `…-before-content`, `…-mid-stream` | connection reset |
//! | `cut-before-head`, `…-before-content`, `…-mid-stream` | connection closed without the chunk terminator |
//! | `eof-before-content`, `eof-mid-stream` | clean end of the body without the format's terminal event |
//! | `error-in-stream` | 200, then an error before any content (Messages: after `message_start`; Responses: an `error` event after `response.in_progress`) |
//! | `error-after-content` | some content, then an error (Responses: `response.failed`) |
//! | `truncated-json`, `bad-event-mid-stream` | half of the document (some content, then half an event) and a clean end; some content, then an event of malformed JSON |
//! | `ACTION-after-NNN` | `hang`, `reset`, `cut`, `eof` or `error` after NNN characters sent by this call |
//! | `ACTION-after-NNN-pieces` | the same after NNN events with content, reasoning included |
//! | `ACTION-at-NNN`, `ACTION-at-NNN-torn-MM` | the same at this offset of the whole text and its calls' arguments, counted over all attempts; then MM bytes of the next event |
//!
//! | Framing | Effect |
//! |---|---|
//! | `drip-NNN` | NNN ms before every event |
//! | `bytewise`, `bytewise-NNN` | a separate write for every byte, NNN ms apart |
//! | `wrong-type`, `swapped` | a valid answer as `text/plain`; a document instead of a stream and vice versa |
//! | `sse-crlf`, `sse-cr`, `sse-bom`, `sse-lines`, `sse-comments` | the same events with other line ends, a byte order mark, data on two lines, comments between them |
//! | `pings`, `ping-events`, `ping-flood` | only comments, or ping events, every 20 ms, or as fast as they are read; documents: spaces |
//! | `endless` | a stream of the same word, as fast as it is read |
//! | `huge-event`, `huge-event-NNN` | one text of 64 MiB (NNN KiB) in one event (one body) |
//! | `gzip-bomb` | 256 MiB of spaces, compressed to 1.7 MB |
//!
//! | Error, malformed answer, leak | Effect |
//! |---|---|
//! | `error-NNN` | that status with the format's error body; 429 has `Retry-After: 30` |
//! | `error-NNN-HINT` | the same with `Retry-After` as a number of seconds, `date-SS` (a date that far ahead), `past`, `absurd` (ten years), `garbage` or `none`; with `ms-MM`, `retry-after-ms: MM` |
//! | `insufficient-quota` | non-retryable 429 (Messages: 400) |
//! | `unauthorized` | 401 |
//! | `html`, `bad-json`, `bad-sse`, `empty-body` | 200 with a web page, a malformed document, neither events nor a document, an empty body |
//! | `leak-NNN`, `leak-page`, `leak-stream` | an error that repeats every request header, including the credential, in its message and its own headers: with that status, as a web page, inside a 200 |

mod parse;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::answer::{Answer, Step};
use super::call_counts::CallCount;

/// The answer to a call, prepared in advance.
#[derive(Clone, Debug)]
pub enum FaultScript {
    /// A script of the language above, rendered in the format of the call.
    Parsed(ParsedScript),
    /// Exactly these steps, whatever the format.
    Exact(Answer),
}

impl FaultScript {
    /// Parses the textual form.
    ///
    /// # Panics
    ///
    /// If it is not in the language.
    pub fn named(text: &str) -> Self {
        Self::Parsed(ParsedScript::parse(text).expect("a script of the language"))
    }

    /// A status with a complete body.
    pub fn status(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::Exact(Answer { status, content_type: content_type.to_owned(), ..Answer::whole(body) })
    }

    /// An event stream with status 200 that sends each of these parts in its own write.
    pub fn stream(parts: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        Self::Exact(Answer::stream(parts.into_iter().map(|part| Step::send(part)).collect()))
    }
}

/// A parsed script; the default is `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedScript {
    pub schedule: Schedule,
    /// Time before the head.
    pub delay: Duration,
    pub response: ScriptedResponse,
}

impl ParsedScript {
    pub const TEXT: Self = Self {
        schedule: Schedule::Always,
        delay: Duration::ZERO,
        response: ScriptedResponse::Reply { content: ScriptedContent::Text, fault: None },
    };

    pub fn is_strict(&self) -> bool {
        self.response == ScriptedResponse::Reply { content: ScriptedContent::Strict, fault: None }
    }
}

impl Default for ParsedScript {
    fn default() -> Self {
        Self::TEXT
    }
}

/// The text is not in the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScript(pub String);

impl fmt::Display for UnknownScript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown fault script `{}`", self.0)
    }
}

/// The calls of a model that a script applies to; the others are answered with `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    Always,
    FirstCalls(u64),
    EveryNthCall(u64),
    /// Until this long after the first call.
    Until(Duration),
}

impl Schedule {
    pub(super) fn applies(self, call: CallCount) -> bool {
        match self {
            Self::Always => true,
            Self::FirstCalls(count) => call.number <= count,
            Self::EveryNthCall(interval) => interval > 0 && call.number.is_multiple_of(interval),
            Self::Until(duration) => call.since_first < duration,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedResponse {
    /// A valid reply, which may break off.
    Reply {
        content: ScriptedContent,
        fault: Option<FaultStep>,
    },
    /// A valid reply in an unusual frame, or a flood.
    Framed(FramingFault),
    Error {
        status: u16,
        hint: RetryHint,
    },
    InsufficientQuota,
    Malformed(Malformed),
    Leak(Leak),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedContent {
    Text,
    Strict,
    /// This many pieces.
    Long(usize),
    /// This many calls.
    Tools(usize),
    Agent,
    Reasoning,
    Redacted,
    Cached,
    Echo,
    Empty,
    Images,
    Schema,
    StopSequence,
    MaxTokens,
    Refusal,
    ContentFilter,
    NoUsage,
    WeirdUsage,
    UsageEveryChunk,
    AzureFirst,
    Resumable(Resumable),
    /// The reply that the prompt specifies, with the fault of this attempt.
    Requested(usize),
}

impl ScriptedContent {
    /// Whether it has reasoning if the request asks for it.
    pub fn reasons_on_request(self) -> bool {
        matches!(self, Self::Reasoning | Self::Redacted | Self::Tools(_) | Self::Agent | Self::Schema)
    }
}

/// The fixed reply that can be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumable {
    Continue,
    Repeat,
    Restart,
    Reasoning,
    /// This many calls after the text.
    Calls(usize),
}

/// A break in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FaultStep {
    pub action: FaultAction,
    pub point: FaultPoint,
    /// Bytes of the next event that are still sent.
    pub torn: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    Hang,
    Reset,
    /// Connection closed without the chunk terminator.
    Cut,
    /// Clean end of the body without the answer's end.
    Eof,
    /// An error event.
    Error,
    /// An event of malformed JSON.
    BadEvent,
    /// Half an event.
    TruncatedEvent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    BeforeHead,
    AfterHead,
    BeforeContent,
    /// After this many events with content.
    AfterPieces(usize),
    /// After this many characters sent by this call.
    AfterCharacters(usize),
    /// At this offset of the whole text and the arguments after it, counted over all attempts.
    AtOffset(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingFault {
    Drip(Duration),
    Bytewise(Duration),
    WrongType,
    Swapped,
    Crlf,
    Cr,
    ByteOrderMark,
    TwoLines,
    Comments,
    Pings,
    PingEvents,
    PingFlood,
    Endless,
    /// A text of this many KiB.
    HugeEvent(u64),
    GzipBomb,
}

/// The retry header of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryHint {
    None,
    Seconds(u64),
    Milliseconds(u64),
    /// A date this many seconds ahead.
    Date(i64),
    Garbage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Html,
    Json,
    Sse,
    EmptyBody,
}

/// The place where the request's headers are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    Status(u16),
    Page,
    Stream,
}
