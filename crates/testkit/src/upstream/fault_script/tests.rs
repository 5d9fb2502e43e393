//! Tests of the textual form.

use std::time::Duration;

use super::super::call_counts::CallCount;
use super::*;

fn parsed(text: &str) -> ParsedScript {
    ParsedScript::parse(text).unwrap()
}

fn reply(content: ScriptedContent, fault: Option<FaultStep>) -> ScriptedResponse {
    ScriptedResponse::Reply { content, fault }
}

fn fault(action: FaultAction, point: FaultPoint, torn: usize) -> Option<FaultStep> {
    Some(FaultStep { action, point, torn })
}

#[test]
fn parses_schedule_delay_and_response() {
    let whole = parsed("flaky-2-late-300-late-20-error-503");
    assert_eq!(whole.schedule, Schedule::FirstCalls(2));
    assert_eq!(whole.delay, Duration::from_millis(320));
    assert_eq!(whole.response, ScriptedResponse::Error { status: 503, hint: RetryHint::None });
    let defaults = [("flaky-1", 500), ("every-4", 500), ("recovers-60000", 503)];
    for (text, status) in defaults {
        assert_eq!(
            parsed(text).response,
            ScriptedResponse::Error { status, hint: RetryHint::None },
            "{text}"
        );
    }
    assert_eq!(
        parsed("slow-20"),
        ParsedScript { delay: Duration::from_millis(20), ..ParsedScript::default() }
    );
}

#[test]
fn parses_faults_at_every_point() {
    for (text, expected) in [
        ("hang", fault(FaultAction::Hang, FaultPoint::BeforeHead, 0)),
        ("cut-mid-stream", fault(FaultAction::Cut, FaultPoint::AfterPieces(3), 0)),
        ("error-in-stream", fault(FaultAction::Error, FaultPoint::BeforeContent, 0)),
        ("error-after-40", fault(FaultAction::Error, FaultPoint::AfterCharacters(40), 0)),
        ("eof-after-4-pieces", fault(FaultAction::Eof, FaultPoint::AfterPieces(4), 0)),
        ("reset-at-7-torn-9", fault(FaultAction::Reset, FaultPoint::AtOffset(7), 9)),
    ] {
        assert_eq!(parsed(text).response, reply(ScriptedContent::Text, expected), "{text}");
    }
    let resumable = |variant, fault| reply(ScriptedContent::Resumable(variant), fault);
    let cut = |point| fault(FaultAction::Cut, point, 0);
    for (text, expected) in [
        ("resumable", resumable(Resumable::Continue, None)),
        ("resumable-cut-after-40", resumable(Resumable::Continue, cut(FaultPoint::AfterCharacters(40)))),
        ("resumable-calls", resumable(Resumable::Calls(2), None)),
        (
            "resumable-call-cut-after-3-pieces",
            resumable(Resumable::Calls(1), cut(FaultPoint::AfterPieces(3))),
        ),
    ] {
        assert_eq!(parsed(text).response, expected, "{text}");
    }
}

#[test]
fn parses_every_retry_hint() {
    for (text, status, hint) in [
        ("error-429", 429, RetryHint::Seconds(30)),
        ("error-429-none", 429, RetryHint::None),
        ("error-503-7", 503, RetryHint::Seconds(7)),
        ("error-429-ms-1500", 429, RetryHint::Milliseconds(1500)),
        ("error-429-date-60", 429, RetryHint::Date(60)),
        ("error-429-past", 429, RetryHint::Date(-3600)),
        ("error-429-garbage", 429, RetryHint::Garbage),
    ] {
        assert_eq!(parsed(text).response, ScriptedResponse::Error { status, hint }, "{text}");
    }
}

#[test]
fn parses_numbers_and_suffixes() {
    assert_eq!(parsed("long-20").response, reply(ScriptedContent::Long(20), None));
    assert_eq!(parsed("requested-2-17").response, reply(ScriptedContent::Requested(2), None));
    assert_eq!(parsed("huge-event-100").response, ScriptedResponse::Framed(FramingFault::HugeEvent(100)));
    assert_eq!(
        parsed("drip-5").response,
        ScriptedResponse::Framed(FramingFault::Drip(Duration::from_millis(5)))
    );
    assert_eq!(parsed("leak-401").response, ScriptedResponse::Leak(Leak::Status(401)));
    assert!(parsed("strict").is_strict() && !parsed("text").is_strict());
}

#[test]
fn invalid_scripts_are_rejected() {
    for text in [
        "",
        "unknown",
        "error-200",
        "error-429-sometime",
        "cut-after-x",
        "resumable-x",
        "recovers-x",
        "slow-",
    ] {
        assert_eq!(ParsedScript::parse(text), Err(UnknownScript(text.to_owned())));
    }
}

#[test]
fn schedules_select_calls() {
    let call = |number, millis| CallCount { number, since_first: Duration::from_millis(millis) };
    let applied = |schedule: Schedule| -> Vec<u64> {
        (1..=6).filter(|number| schedule.applies(call(*number, 0))).collect()
    };
    assert_eq!(applied(Schedule::Always), [1, 2, 3, 4, 5, 6]);
    assert_eq!(applied(Schedule::FirstCalls(2)), [1, 2]);
    assert_eq!(applied(Schedule::EveryNthCall(3)), [3, 6]);
    assert!(applied(Schedule::EveryNthCall(0)).is_empty());
    let until = Schedule::Until(Duration::from_millis(500));
    assert!(until.applies(call(2, 499)) && !until.applies(call(2, 500)));
}
