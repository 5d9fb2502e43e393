//! Answers of every format keep their content through both forms.

use std::sync::Arc;
use std::time::Duration;

use domain::canon::{Content, Part, StopReason, ToolCall};
use domain::usage::{Tokens, Usage};
use wire::codec::{EchoedRequest, IdGenerator};

use super::*;
use crate::services::recorded_answer::{AnswerHead, RecordedAnswer};

fn decoding() -> Decoding {
    let ids = IdGenerator::new("abc");
    Decoding { provider: "east".into(), model: "m".into(), schema_tool: None, ids }
}

fn rendering(include_usage: bool) -> Rendering {
    Rendering {
        ids: IdGenerator::new("abc"),
        created: 7,
        provider: "east".into(),
        model: "m".into(),
        requested_model: "m".into(),
        latency_ms: 0,
        include_usage,
        tools: Arc::default(),
        request: EchoedRequest::default(),
    }
}

fn cached(body: Bytes, is_stream: bool, includes_usage: bool) -> CachedAnswer {
    CachedAnswer {
        answer: RecordedAnswer::new(AnswerHead::default(), body),
        is_stream,
        includes_usage,
        response_id: None,
        usage: Some(usage()),
        cost: None,
        tenant: None,
        user_path: "/".into(),
        expires_at: Duration::MAX,
    }
}

fn usage() -> Usage {
    Usage { tokens: Tokens { input: 11, output: 5, ..Tokens::default() }, ..Usage::default() }
}

fn replies() -> Vec<Reply> {
    let call = ToolCall {
        id: "call_1".into(),
        name: "look_up".into(),
        arguments: r#"{"a":[1,"é"]}"#.into(),
        custom: false,
        opaque: None,
    };
    let reply = |parts: Vec<Part>, stop| Reply {
        id: Some("x1".into()),
        model: Some("m".into()),
        parts,
        stop,
        usage: Some(usage()),
        ..Reply::default()
    };
    vec![
        reply(vec![Part::text("Hello,\nwörld \u{1F600} \"quoted\"")], StopReason::EndTurn),
        reply(vec![Part::text("so far")], StopReason::MaxTokens),
        reply(vec![Part::text("I look."), Content::ToolCall(call).into()], StopReason::ToolCalls),
    ]
}

/// The parts that every format can express.
fn essence(reply: &Reply) -> (Vec<Part>, StopReason, Option<Tokens>) {
    (reply.parts.clone(), reply.stop.clone(), reply.usage.as_ref().map(|usage| usage.tokens))
}

#[test]
fn an_answer_of_every_format_is_the_same_in_both_forms() {
    for format in Format::ALL {
        for reply in replies() {
            let written = write(reply.clone(), format, rendering(true), false);
            let whole = read(&cached(written, false, false), format, decoding()).unwrap();
            for include_usage in [true, false] {
                let stream = write(whole.clone(), format, rendering(include_usage), true);
                let streamed = read(&cached(stream.clone(), true, include_usage), format, decoding());
                let streamed = streamed.unwrap();
                assert_eq!(essence(&streamed), essence(&whole), "{format:?}: {stream:?}");
            }
            let (parts, stop, tokens) = essence(&whole);
            assert_eq!((stop, tokens), (reply.stop.clone(), Some(usage().tokens)), "{format:?}");
            assert_eq!(parts.len(), reply.parts.len(), "{format:?}");
        }
    }
}

#[test]
fn comments_in_a_stream_are_left_out_and_broken_ones_are_refused() {
    let stream = write(replies().remove(0), Format::Chat, rendering(true), true);
    let mut commented = b": keep-alive\n\n".to_vec();
    commented.extend_from_slice(&stream);
    commented.extend_from_slice(b": gatehouse model=east/m attempts=1\n\n");
    let read_stream = |body: Vec<u8>| read(&cached(body.into(), true, true), Format::Chat, decoding());
    assert_eq!(essence(&read_stream(commented).unwrap()), essence(&replies()[0]));
    assert!(read_stream(stream[..stream.len() / 2].to_vec()).is_none());
    assert!(read(&cached(Bytes::from_static(b"{"), false, false), Format::Chat, decoding()).is_none());
}
