//! The parser of the textual form.

use std::time::Duration;

use super::{
    FaultAction, FaultPoint, FaultStep, FramingFault, Leak, Malformed, ParsedScript, Resumable, RetryHint,
    Schedule, ScriptedContent, ScriptedResponse, UnknownScript,
};

/// Number of content pieces before a mid-stream fault.
const MID_STREAM: FaultPoint = FaultPoint::AfterPieces(3);
const DEFAULT_RETRY_SECONDS: u64 = 30;
const TEN_YEARS: u64 = 315_360_000;

const CONTENTS: [(&str, ScriptedContent); 26] = [
    ("text", ScriptedContent::Text),
    ("strict", ScriptedContent::Strict),
    ("long", ScriptedContent::Long(100)),
    ("tools", ScriptedContent::Tools(1)),
    ("parallel-tools", ScriptedContent::Tools(2)),
    ("agent", ScriptedContent::Agent),
    ("reasoning", ScriptedContent::Reasoning),
    ("redacted", ScriptedContent::Redacted),
    ("cached", ScriptedContent::Cached),
    ("echo", ScriptedContent::Echo),
    ("empty", ScriptedContent::Empty),
    ("see", ScriptedContent::Images),
    ("schema", ScriptedContent::Schema),
    ("stop", ScriptedContent::StopSequence),
    ("max-tokens", ScriptedContent::MaxTokens),
    ("refusal", ScriptedContent::Refusal),
    ("content-filter", ScriptedContent::ContentFilter),
    ("no-usage", ScriptedContent::NoUsage),
    ("weird-usage", ScriptedContent::WeirdUsage),
    ("usage-every-chunk", ScriptedContent::UsageEveryChunk),
    ("azure-first", ScriptedContent::AzureFirst),
    ("resumable-repeat", ScriptedContent::Resumable(Resumable::Repeat)),
    ("resumable-restart", ScriptedContent::Resumable(Resumable::Restart)),
    ("resumable-reasoning", ScriptedContent::Resumable(Resumable::Reasoning)),
    ("resumable-calls", ScriptedContent::Resumable(Resumable::Calls(2))),
    ("resumable-call", ScriptedContent::Resumable(Resumable::Calls(1))),
];

const FAULTS: [(&str, FaultAction, FaultPoint); 16] = [
    ("hang", FaultAction::Hang, FaultPoint::BeforeHead),
    ("hang-after-head", FaultAction::Hang, FaultPoint::AfterHead),
    ("hang-before-content", FaultAction::Hang, FaultPoint::BeforeContent),
    ("hang-mid-stream", FaultAction::Hang, MID_STREAM),
    ("reset-before-head", FaultAction::Reset, FaultPoint::BeforeHead),
    ("reset-before-content", FaultAction::Reset, FaultPoint::BeforeContent),
    ("reset-mid-stream", FaultAction::Reset, MID_STREAM),
    ("cut-before-head", FaultAction::Cut, FaultPoint::BeforeHead),
    ("cut-before-content", FaultAction::Cut, FaultPoint::BeforeContent),
    ("cut-mid-stream", FaultAction::Cut, MID_STREAM),
    ("eof-before-content", FaultAction::Eof, FaultPoint::BeforeContent),
    ("eof-mid-stream", FaultAction::Eof, MID_STREAM),
    ("error-in-stream", FaultAction::Error, FaultPoint::BeforeContent),
    ("error-after-content", FaultAction::Error, MID_STREAM),
    ("bad-event-mid-stream", FaultAction::BadEvent, MID_STREAM),
    ("truncated-json", FaultAction::TruncatedEvent, MID_STREAM),
];

const ACTIONS: [(&str, FaultAction); 5] = [
    ("hang-", FaultAction::Hang),
    ("reset-", FaultAction::Reset),
    ("cut-", FaultAction::Cut),
    ("eof-", FaultAction::Eof),
    ("error-", FaultAction::Error),
];

const FRAMINGS: [(&str, FramingFault); 14] = [
    ("bytewise", FramingFault::Bytewise(Duration::ZERO)),
    ("wrong-type", FramingFault::WrongType),
    ("swapped", FramingFault::Swapped),
    ("sse-crlf", FramingFault::Crlf),
    ("sse-cr", FramingFault::Cr),
    ("sse-bom", FramingFault::ByteOrderMark),
    ("sse-lines", FramingFault::TwoLines),
    ("sse-comments", FramingFault::Comments),
    ("pings", FramingFault::Pings),
    ("ping-events", FramingFault::PingEvents),
    ("ping-flood", FramingFault::PingFlood),
    ("endless", FramingFault::Endless),
    ("huge-event", FramingFault::HugeEvent(64 * 1024)),
    ("gzip-bomb", FramingFault::GzipBomb),
];

const OTHERS: [(&str, ScriptedResponse); 8] = [
    ("unauthorized", ScriptedResponse::Error { status: 401, hint: RetryHint::None }),
    ("insufficient-quota", ScriptedResponse::InsufficientQuota),
    ("html", ScriptedResponse::Malformed(Malformed::Html)),
    ("bad-json", ScriptedResponse::Malformed(Malformed::Json)),
    ("bad-sse", ScriptedResponse::Malformed(Malformed::Sse)),
    ("empty-body", ScriptedResponse::Malformed(Malformed::EmptyBody)),
    ("leak-page", ScriptedResponse::Leak(Leak::Page)),
    ("leak-stream", ScriptedResponse::Leak(Leak::Stream)),
];

impl ParsedScript {
    pub fn parse(text: &str) -> Result<Self, UnknownScript> {
        let unknown = || UnknownScript(text.to_owned());
        let (schedule, mut rest) = schedule(text);
        let mut delay = Duration::ZERO;
        while let Some((millis, Some(delayed))) = numbered(rest, "late-") {
            delay += Duration::from_millis(millis);
            rest = delayed;
        }
        if let Some((millis, None)) = numbered(rest, "slow-") {
            delay += Duration::from_millis(millis);
            rest = "text";
        }
        Ok(Self { schedule, delay, response: response(rest).ok_or_else(unknown)? })
    }
}

/// The schedule, and the script that it applies to.
fn schedule(text: &str) -> (Schedule, &str) {
    if let Some((count, script)) = numbered(text, "flaky-") {
        return (Schedule::FirstCalls(count), script.unwrap_or("error-500"));
    }
    if let Some((interval, script)) = numbered(text, "every-") {
        return (Schedule::EveryNthCall(interval), script.unwrap_or("error-500"));
    }
    if let Some((millis, script)) = numbered(text, "recovers-") {
        return (Schedule::Until(Duration::from_millis(millis)), script.unwrap_or("error-503"));
    }
    (Schedule::Always, text)
}

/// The number after a prefix, and the text after the next hyphen.
fn numbered<'t>(text: &'t str, prefix: &str) -> Option<(u64, Option<&'t str>)> {
    let rest = text.strip_prefix(prefix)?;
    let (number, rest) = match rest.split_once('-') {
        Some((number, rest)) => (number, Some(rest)),
        None => (rest, None),
    };
    Some((number.parse().ok()?, rest))
}

fn find<T: Clone>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
}

fn response(text: &str) -> Option<ScriptedResponse> {
    let framing = || find(&FRAMINGS, text).or_else(|| numbered_framing(text)).map(ScriptedResponse::Framed);
    let other = || find(&OTHERS, text).or_else(|| error(text)).or_else(|| leak(text));
    reply(text).or_else(framing).or_else(other)
}

fn reply(text: &str) -> Option<ScriptedResponse> {
    if let Some(content) = find(&CONTENTS, text).or_else(|| numbered_content(text)) {
        return Some(ScriptedResponse::Reply { content, fault: None });
    }
    if let Some(rest) = text.strip_prefix("resumable") {
        return resumable(text, rest);
    }
    Some(ScriptedResponse::Reply { content: ScriptedContent::Text, fault: Some(FaultStep::parse(text)?) })
}

/// `resumable[-VARIANT][-FAULT]`; a variant without a fault is in the table of contents.
fn resumable(text: &str, rest: &str) -> Option<ScriptedResponse> {
    let mut variants = CONTENTS.iter().filter(|(name, _)| name.starts_with("resumable-"));
    let variant = variants.find_map(|(name, content)| Some((*content, text.strip_prefix(name)?)));
    let (content, rest) = variant.unwrap_or((ScriptedContent::Resumable(Resumable::Continue), rest));
    let fault = if rest.is_empty() { None } else { Some(FaultStep::parse(rest.strip_prefix('-')?)?) };
    Some(ScriptedResponse::Reply { content, fault })
}

fn numbered_content(text: &str) -> Option<ScriptedContent> {
    if let Some((count, None)) = numbered(text, "long-") {
        return Some(ScriptedContent::Long(count as usize));
    }
    let (attempt, _) = numbered(text, "requested-")?;
    Some(ScriptedContent::Requested(attempt as usize))
}

fn numbered_framing(text: &str) -> Option<FramingFault> {
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
    let millis = |prefix: &str| number(prefix).map(Duration::from_millis);
    let drip = || millis("drip-").map(FramingFault::Drip);
    let bytewise = || millis("bytewise-").map(FramingFault::Bytewise);
    drip().or_else(bytewise).or_else(|| number("huge-event-").map(FramingFault::HugeEvent))
}

/// `error-NNN` and `error-NNN-HINT`.
fn error(text: &str) -> Option<ScriptedResponse> {
    let (status, hint) = numbered(text, "error-")?;
    let status = u16::try_from(status).ok().filter(|status| (400..600).contains(status))?;
    let hint = match hint {
        Some(hint) => retry_hint(hint)?,
        None if status == 429 => RetryHint::Seconds(DEFAULT_RETRY_SECONDS),
        None => RetryHint::None,
    };
    Some(ScriptedResponse::Error { status, hint })
}

fn retry_hint(text: &str) -> Option<RetryHint> {
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
    match text {
        "none" => Some(RetryHint::None),
        "past" => Some(RetryHint::Date(-3600)),
        "absurd" => Some(RetryHint::Seconds(TEN_YEARS)),
        "garbage" => Some(RetryHint::Garbage),
        _ => {
            let millis = || number("ms-").map(RetryHint::Milliseconds);
            let date = || number("date-").map(|seconds| RetryHint::Date(seconds as i64));
            number("").map(RetryHint::Seconds).or_else(millis).or_else(date)
        }
    }
}

fn leak(text: &str) -> Option<ScriptedResponse> {
    let status = text.strip_prefix("leak-")?.parse().ok()?;
    Some(ScriptedResponse::Leak(Leak::Status(status)))
}

impl FaultStep {
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, action, point)) = FAULTS.iter().find(|(name, ..)| *name == text) {
            return Some(Self { action: *action, point: *point, torn: 0 });
        }
        let (action, point) =
            ACTIONS.iter().find_map(|(name, action)| Some((*action, text.strip_prefix(name)?)))?;
        let (point, torn) = counted_point(point)?;
        Some(Self { action, point, torn })
    }
}

/// `after-NNN`, `after-NNN-pieces`, `at-NNN` and `at-NNN-torn-MM`.
fn counted_point(text: &str) -> Option<(FaultPoint, usize)> {
    if let Some((count, unit)) = numbered(text, "after-") {
        return match unit {
            None => Some((FaultPoint::AfterCharacters(count as usize), 0)),
            Some("pieces") => Some((FaultPoint::AfterPieces(count as usize), 0)),
            Some(_) => None,
        };
    }
    let (offset, torn) = numbered(text, "at-")?;
    let torn = match torn {
        None => 0,
        Some(torn) => torn.strip_prefix("torn-")?.parse().ok()?,
    };
    Some((FaultPoint::AtOffset(offset as usize), torn))
}

impl TryFrom<String> for FaultStep {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| UnknownScript(text).to_string())
    }
}
