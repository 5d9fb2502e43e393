//! The parser of the textual form.

use std::time::Duration;

use super::Response;
use super::{
    Behaviour, Content, Fault, FaultKind, FaultPoint, Framing, Leak, Malformed, Resumable, RetryHint,
    Schedule, UnknownBehaviour,
};

/// Number of content pieces before a mid-stream fault.
const MID_STREAM: FaultPoint = FaultPoint::AfterPieces(3);
const DEFAULT_RETRY_SECONDS: u64 = 30;
const TEN_YEARS: u64 = 315_360_000;

const CONTENTS: [(&str, Content); 26] = [
    ("text", Content::Text),
    ("strict", Content::Strict),
    ("long", Content::Long(100)),
    ("tools", Content::Tools(1)),
    ("parallel-tools", Content::Tools(2)),
    ("agent", Content::Agent),
    ("reasoning", Content::Reasoning),
    ("redacted", Content::Redacted),
    ("cached", Content::Cached),
    ("echo", Content::Echo),
    ("empty", Content::Empty),
    ("see", Content::Images),
    ("schema", Content::Schema),
    ("stop", Content::StopSequence),
    ("max-tokens", Content::MaxTokens),
    ("refusal", Content::Refusal),
    ("content-filter", Content::ContentFilter),
    ("no-usage", Content::NoUsage),
    ("weird-usage", Content::WeirdUsage),
    ("usage-every-chunk", Content::UsageEveryChunk),
    ("azure-first", Content::AzureFirst),
    ("resumable-repeat", Content::Resumable(Resumable::Repeat)),
    ("resumable-restart", Content::Resumable(Resumable::Restart)),
    ("resumable-reasoning", Content::Resumable(Resumable::Reasoning)),
    ("resumable-calls", Content::Resumable(Resumable::Calls(2))),
    ("resumable-call", Content::Resumable(Resumable::Calls(1))),
];

const FAULTS: [(&str, FaultKind, FaultPoint); 16] = [
    ("hang", FaultKind::Hang, FaultPoint::BeforeHead),
    ("hang-after-head", FaultKind::Hang, FaultPoint::AfterHead),
    ("hang-before-content", FaultKind::Hang, FaultPoint::BeforeContent),
    ("hang-mid-stream", FaultKind::Hang, MID_STREAM),
    ("reset-before-head", FaultKind::Reset, FaultPoint::BeforeHead),
    ("reset-before-content", FaultKind::Reset, FaultPoint::BeforeContent),
    ("reset-mid-stream", FaultKind::Reset, MID_STREAM),
    ("cut-before-head", FaultKind::Cut, FaultPoint::BeforeHead),
    ("cut-before-content", FaultKind::Cut, FaultPoint::BeforeContent),
    ("cut-mid-stream", FaultKind::Cut, MID_STREAM),
    ("eof-before-content", FaultKind::Eof, FaultPoint::BeforeContent),
    ("eof-mid-stream", FaultKind::Eof, MID_STREAM),
    ("error-in-stream", FaultKind::Error, FaultPoint::BeforeContent),
    ("error-after-content", FaultKind::Error, MID_STREAM),
    ("bad-event-mid-stream", FaultKind::BadEvent, MID_STREAM),
    ("truncated-json", FaultKind::TruncatedEvent, MID_STREAM),
];

const KINDS: [(&str, FaultKind); 5] = [
    ("hang-", FaultKind::Hang),
    ("reset-", FaultKind::Reset),
    ("cut-", FaultKind::Cut),
    ("eof-", FaultKind::Eof),
    ("error-", FaultKind::Error),
];

const FRAMINGS: [(&str, Framing); 14] = [
    ("bytewise", Framing::Bytewise(Duration::ZERO)),
    ("wrong-type", Framing::WrongType),
    ("swapped", Framing::Swapped),
    ("sse-crlf", Framing::Crlf),
    ("sse-cr", Framing::Cr),
    ("sse-bom", Framing::ByteOrderMark),
    ("sse-lines", Framing::TwoLines),
    ("sse-comments", Framing::Comments),
    ("pings", Framing::Pings),
    ("ping-events", Framing::PingEvents),
    ("ping-flood", Framing::PingFlood),
    ("endless", Framing::Endless),
    ("huge-event", Framing::HugeEvent(64 * 1024)),
    ("gzip-bomb", Framing::GzipBomb),
];

const OTHERS: [(&str, Response); 8] = [
    ("unauthorized", Response::Error { status: 401, hint: RetryHint::None }),
    ("insufficient-quota", Response::InsufficientQuota),
    ("html", Response::Malformed(Malformed::Html)),
    ("bad-json", Response::Malformed(Malformed::Json)),
    ("bad-sse", Response::Malformed(Malformed::Sse)),
    ("empty-body", Response::Malformed(Malformed::EmptyBody)),
    ("leak-page", Response::Leak(Leak::Page)),
    ("leak-stream", Response::Leak(Leak::Stream)),
];

impl Behaviour {
    pub fn parse(text: &str) -> Result<Self, UnknownBehaviour> {
        let unknown = || UnknownBehaviour(text.to_owned());
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

fn response(text: &str) -> Option<Response> {
    let framing = || find(&FRAMINGS, text).or_else(|| numbered_framing(text)).map(Response::Framed);
    let other = || find(&OTHERS, text).or_else(|| error(text)).or_else(|| leak(text));
    reply(text).or_else(framing).or_else(other)
}

fn reply(text: &str) -> Option<Response> {
    if let Some(content) = find(&CONTENTS, text).or_else(|| numbered_content(text)) {
        return Some(Response::Reply { content, fault: None });
    }
    if let Some(rest) = text.strip_prefix("resumable") {
        return resumable(text, rest);
    }
    Some(Response::Reply { content: Content::Text, fault: Some(Fault::parse(text)?) })
}

/// `resumable[-VARIANT][-FAULT]`; a variant without a fault is in the table of contents.
fn resumable(text: &str, rest: &str) -> Option<Response> {
    let mut variants = CONTENTS.iter().filter(|(name, _)| name.starts_with("resumable-"));
    let variant = variants.find_map(|(name, content)| Some((*content, text.strip_prefix(name)?)));
    let (content, rest) = variant.unwrap_or((Content::Resumable(Resumable::Continue), rest));
    let fault = if rest.is_empty() { None } else { Some(Fault::parse(rest.strip_prefix('-')?)?) };
    Some(Response::Reply { content, fault })
}

fn numbered_content(text: &str) -> Option<Content> {
    if let Some((count, None)) = numbered(text, "long-") {
        return Some(Content::Long(count as usize));
    }
    let (attempt, _) = numbered(text, "requested-")?;
    Some(Content::Requested(attempt as usize))
}

fn numbered_framing(text: &str) -> Option<Framing> {
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
    let millis = |prefix: &str| number(prefix).map(Duration::from_millis);
    let drip = || millis("drip-").map(Framing::Drip);
    let bytewise = || millis("bytewise-").map(Framing::Bytewise);
    drip().or_else(bytewise).or_else(|| number("huge-event-").map(Framing::HugeEvent))
}

/// `error-NNN` and `error-NNN-HINT`.
fn error(text: &str) -> Option<Response> {
    let (status, hint) = numbered(text, "error-")?;
    let status = u16::try_from(status).ok().filter(|status| (400..600).contains(status))?;
    let hint = match hint {
        Some(hint) => retry_hint(hint)?,
        None if status == 429 => RetryHint::Seconds(DEFAULT_RETRY_SECONDS),
        None => RetryHint::None,
    };
    Some(Response::Error { status, hint })
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

fn leak(text: &str) -> Option<Response> {
    let status = text.strip_prefix("leak-")?.parse().ok()?;
    Some(Response::Leak(Leak::Status(status)))
}

impl Fault {
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, kind, point)) = FAULTS.iter().find(|(name, ..)| *name == text) {
            return Some(Self { kind: *kind, point: *point, torn: 0 });
        }
        let (kind, point) = KINDS.iter().find_map(|(name, kind)| Some((*kind, text.strip_prefix(name)?)))?;
        let (point, torn) = counted_point(point)?;
        Some(Self { kind, point, torn })
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

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| UnknownBehaviour(text).to_string())
    }
}
