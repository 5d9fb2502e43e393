//! Replies that can be interrupted and continued, for tests of stream recovery.
//!
//! One is fixed, see [`RESUMABLE_TEXT`]. The other is specified by the request: a text of the prompt that begins with
//! `SCRIPT ` contains a [`ResumableReply`] as JSON, and model `requested-N` breaks off as the N-th of its `faults`
//! specifies, in the fault script language. A partial answer in the assistant's last turn must be a prefix of the text.
//! A prefill is continued exactly, as models do. A request to continue, which may quote the end of the partial answer,
//! is handled as `continuation` specifies.

mod partial;

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::dialect::Dialect;
use super::super::fault_script::{FaultPoint, FaultStep, Resumable, RetryHint};
use super::super::parsed_request::ParsedRequest;
use super::super::reply::{Reply, ToolCall, words};
use super::AnswerBuilder;
use partial::PartialAnswer;

/// The fixed text. No prefix of it is immediately repeated, and no sixteen characters occur twice.
pub const RESUMABLE_TEXT: &str = "Once upon a time a gate stood between two cities, Zürich and 東京, and its keeper \
wrote every traveller down: who came, who went, what it cost.\n\nNobody was forgotten, “not even the rain”, he said \
🙂. So the years went by,  and the book grew long.";

/// The fixed text before tool calls.
pub const TEXT_BEFORE_CALLS: &str = "Let me look at the weather in both places first.";

const REASONING: &str = "The keeper must come first, then his book. ";
const PIECE: usize = 4;
const MARK: &str = "SCRIPT ";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ResumableReply {
    text: String,
    #[serde(skip)]
    reasoning: Vec<String>,
    /// Characters of each piece, repeated cyclically.
    piece_sizes: Vec<usize>,
    /// Tool calls after the text.
    calls: Vec<Call>,
    /// The fault of each attempt.
    faults: Vec<Option<FaultStep>>,
    continuation: ContinuationStyle,
}

#[derive(Debug, Deserialize)]
struct Call {
    name: String,
    arguments: String,
}

/// The way a request to continue is handled.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContinuationStyle {
    /// Repeats the quoted text first; without a quotation, continues the text.
    #[default]
    RepeatQuote,
    /// Continues the text, ignoring any quotation.
    Continue,
    /// Repeats this many characters, or the quoted text if that is longer.
    Repeat(usize),
    Restart,
}

impl AnswerBuilder<'_> {
    pub(super) fn fixed_reply(&self, variant: Resumable, fault: Option<FaultStep>) -> Answer {
        let reply = ResumableReply::fixed(variant, self.request);
        // A conversation that does not contain a part of the text gets all of it.
        let from = self.continuation_offset(&reply).unwrap_or(0);
        self.resumable_reply(&reply, from, fault)
    }

    pub(super) fn requested_reply(&self, attempt: usize) -> Answer {
        let refused = || self.error(400, RetryHint::None);
        let Some(reply) = ResumableReply::from_prompt(self.request) else { return refused() };
        let Some(from) = self.continuation_offset(&reply) else { return refused() };
        let fault = attempt.checked_sub(1).and_then(|index| *reply.faults.get(index)?);
        self.resumable_reply(&reply, from, fault.filter(|_| self.request.streams))
    }

    /// Index of the first character to send; `None` if the assistant's turn is not a prefix of the text.
    fn continuation_offset(&self, reply: &ResumableReply) -> Option<usize> {
        let body: Value = serde_json::from_slice(&self.request.raw).unwrap_or_default();
        reply.continuation_offset(&body, self.renderer.dialect())
    }

    fn resumable_reply(&self, resumable: &ResumableReply, from: usize, fault: Option<FaultStep>) -> Answer {
        let reply = resumable.reply(Reply::new(self.request), from, fault);
        match fault {
            None => self.render(&reply),
            Some(fault) => self.broken(&reply, fault, from),
        }
    }
}

impl ResumableReply {
    fn fixed(variant: Resumable, request: &ParsedRequest) -> Self {
        let calls = if let Resumable::Calls(count) = variant { count } else { 0 };
        let tool = request.tools.first().map_or("get_weather", |tool| &tool.name);
        let call = |city: &str| Call { name: tool.to_owned(), arguments: json!({"city": city}).to_string() };
        Self {
            text: if calls > 0 { TEXT_BEFORE_CALLS } else { RESUMABLE_TEXT }.to_owned(),
            reasoning: if variant == Resumable::Reasoning { words(REASONING) } else { Vec::new() },
            piece_sizes: vec![PIECE],
            calls: ["Paris", "Zürich"].into_iter().take(calls).map(call).collect(),
            faults: Vec::new(),
            continuation: match variant {
                Resumable::Repeat => ContinuationStyle::RepeatQuote,
                Resumable::Restart => ContinuationStyle::Restart,
                _ => ContinuationStyle::Continue,
            },
        }
    }

    fn from_prompt(request: &ParsedRequest) -> Option<Self> {
        let script = request.texts.iter().find_map(|text| text.strip_prefix(MARK))?;
        // Turns of one role may have been merged, so text may follow.
        serde_json::Deserializer::from_str(script).into_iter().next()?.ok()
    }

    fn continuation_offset(&self, body: &Value, dialect: Dialect) -> Option<usize> {
        let Some(partial) = PartialAnswer::find(body) else { return Some(0) };
        self.text.strip_prefix(partial.text.as_str())?;
        let sent = partial.text.chars().count();
        if partial.request.is_empty() && matches!(dialect, Dialect::Messages | Dialect::Gemini) {
            return Some(sent);
        }
        let quoted = partial.quoted().unwrap_or_default();
        Some(match self.continuation {
            ContinuationStyle::RepeatQuote => sent - quoted,
            ContinuationStyle::Continue => sent,
            ContinuationStyle::Repeat(count) => sent.saturating_sub(count.max(quoted)),
            ContinuationStyle::Restart => 0,
        })
    }

    /// Builds the reply; a piece ends where the fault occurs.
    fn reply(&self, mut reply: Reply, from: usize, fault: Option<FaultStep>) -> Reply {
        let end = match fault.map(|fault| fault.point) {
            Some(FaultPoint::AtOffset(offset)) => offset,
            Some(FaultPoint::AfterCharacters(count)) => from + count,
            _ => usize::MAX,
        };
        reply.reasoning = self.reasoning.clone();
        reply.content = self.pieces(&self.text, from, end.saturating_sub(from));
        let mut before = self.text.chars().count();
        for call in &self.calls {
            let arguments = self.pieces(&call.arguments, 0, end.saturating_sub(before));
            before += call.arguments.chars().count();
            reply.calls.push(ToolCall { name: call.name.clone(), arguments, custom: false });
        }
        reply
    }

    fn pieces(&self, text: &str, from: usize, border: usize) -> Vec<String> {
        let mut rest: &[char] = &text.chars().skip(from).collect::<Vec<_>>();
        let mut border = border;
        let mut sizes = self.piece_sizes.iter().copied().filter(|size| *size > 0).cycle();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let mut size = sizes.next().unwrap_or(5).min(rest.len());
            if border > 0 {
                size = size.min(border);
                border -= size;
            }
            let (piece, more) = rest.split_at(size);
            pieces.push(piece.iter().collect());
            rest = more;
        }
        pieces
    }
}
