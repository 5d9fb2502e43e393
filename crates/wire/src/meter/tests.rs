//! Tests of metering in every format, with any chunking, in bounded memory.

use super::*;
use domain::usage::Tokens;
use proptest::prelude::*;

fn metered(content_type: &str, body: &[u8]) -> Metered {
    let mut meter = Meter::new(content_type);
    meter.feed(body);
    meter.finish()
}

fn tokens(content_type: &str, body: &str) -> Option<Tokens> {
    metered(content_type, body.as_bytes()).usage.map(|usage| usage.tokens)
}

const JSON: &str = "application/json; charset=utf-8";
const EVENTS: &str = "text/event-stream";

const CHAT: &str = concat!(
    ": hello\n\n",
    "data: {\"id\":\"\",\"choices\":[],\"usage\":null}\n\n",
    "data: {\"id\":\"chatcmpl-1\",\"model\":\"gpt-4o\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n",
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"o3\",\"usage\":null}}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"abcd\"}\n\n",
    "event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"text\":\"abcd\"}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"output\":[{\"content\":[{\"text\":\"abcd\"}]}],",
    "\"usage\":{\"input_tokens\":11,\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":16}}}\n\n",
);

const MESSAGES: &str = concat!(
    "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude\",",
    "\"usage\":{\"input_tokens\":25,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\r\n\r\n",
    "event: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\r\n\r\n",
    "event: message_delta\r\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":15}}\r\n\r\n",
);

const GEMINI: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}],\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":4}}\r\n\r\n",
    "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":9,\"totalTokenCount\":13},",
    "\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"r1\"}\r\n\r\n",
);

#[test]
fn whole_answers_of_every_dialect_are_read() {
    let read = metered(
        JSON,
        br#" {"id":"chatcmpl-9","model":"m","choices":[{"message":{"content":"four"},"usage":{"prompt_tokens":99}}],
            "usage" : {"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}} }"#,
    );
    let usage = read.usage.unwrap();
    assert_eq!((usage.tokens.input, usage.tokens.cache_read, usage.tokens.output), (5, 2, 3));
    assert_eq!((read.id.as_deref(), read.model.as_deref()), (Some("chatcmpl-9"), Some("m")));
    assert_eq!(read.content_bytes, 4);
    assert!(read.raw.unwrap().starts_with(b"{\"prompt_tokens\":7"));

    let messages =
        tokens(JSON, r#"{"type":"message","usage":{"input_tokens":5,"output_tokens":6}}"#).unwrap();
    assert_eq!((messages.input, messages.output), (5, 6));
    let embedded =
        tokens(JSON, r#"{"data":[{"embedding":[0.1,-2e3]}],"usage":{"prompt_tokens":8,"total_tokens":8}}"#);
    assert_eq!(embedded.unwrap().input, 8);
    let wrapped =
        tokens(JSON, r#"{"response":{"usage":{"input_tokens":5,"output_tokens":6,"total_tokens":11}}}"#);
    assert_eq!(wrapped.unwrap().total(), 11);
}

#[test]
fn streams_of_every_dialect_are_read() {
    let chat = metered(EVENTS, CHAT.as_bytes());
    assert_eq!(chat.usage.unwrap().tokens, Tokens { input: 7, output: 3, ..Tokens::default() });
    assert_eq!((chat.id.as_deref(), chat.model.as_deref()), (Some("chatcmpl-1"), Some("gpt-4o")));
    assert_eq!(chat.content_bytes, 5);

    let responses = metered(EVENTS, RESPONSES.as_bytes());
    let counted = Tokens { input: 11, output: 3, reasoning: 2, ..Tokens::default() };
    assert_eq!(responses.usage.unwrap().tokens, counted);
    assert_eq!((responses.id.as_deref(), responses.content_bytes), (Some("resp_1"), 4));

    let messages = metered(EVENTS, MESSAGES.as_bytes());
    let counted = Tokens { input: 25, cache_read: 4, output: 15, ..Tokens::default() };
    assert_eq!(messages.usage.unwrap().tokens, counted);
    assert_eq!((messages.id.as_deref(), messages.model.as_deref()), (Some("msg_1"), Some("claude")));

    let gemini = metered(EVENTS, GEMINI.as_bytes());
    assert_eq!(gemini.usage.unwrap().tokens, Tokens { input: 4, output: 9, ..Tokens::default() });
    assert_eq!((gemini.id.as_deref(), gemini.model.as_deref()), (Some("r1"), Some("gemini-2.5-pro")));
}

#[test]
fn a_stream_sent_as_an_array_or_as_lines_is_read() {
    let array = r#"[{"usageMetadata":{"promptTokenCount":4}},
        {"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":9,"totalTokenCount":13}}]"#;
    assert_eq!(tokens(JSON, array).unwrap().total(), 13);
    let lines =
        "{\"usage\":null}\n{\"model\":\"m\",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n";
    assert_eq!(tokens("application/x-ndjson", lines).unwrap().total(), 3);
}

#[test]
fn members_named_like_usage_are_ignored() {
    for body in [
        r#"{"text":"\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}"}"#,
        r#"{"a":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}"#,
        r#"{"response":[{"usage":{"prompt_tokens":1,"completion_tokens":1}}]}"#,
        r#"{"response":{"output":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}}"#,
        r#"{"message":"x","a":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}"#,
        r#"{"usage":"prompt_tokens"}"#,
        r#"{"usage":{"prompt_tokens":1,"completion_tokens":1}"#.trim_end_matches('}'),
        "[[{\"usage\":1}]]]]}}}{{{",
    ] {
        assert_eq!(tokens(JSON, body), None, "{body}");
    }
    assert_eq!(tokens("image/png", r#"{"usage":{"prompt_tokens":1}}"#), None);
    let escaped = r#"{"\u0075sage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    assert_eq!(tokens(JSON, escaped).unwrap().total(), 2);
}

#[test]
fn memory_is_bounded_whatever_passes() {
    const MEBIBYTE: usize = 1024 * 1024;
    let filler = vec![b'x'; MEBIBYTE];
    for (kind, prefix) in [(JSON, ""), (EVENTS, "data: ")] {
        let mut meter = Meter::new(kind);
        meter.feed(prefix.as_bytes());
        meter.feed(b"{\"choices\":[{\"message\":{\"content\":\"");
        for _ in 0..100 {
            meter.feed(&filler);
            assert!(meter.extractor.held() <= 64 * 1024);
        }
        meter.feed(b"\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n");
        let read = meter.finish();
        assert_eq!(read.usage.unwrap().tokens.total(), 10);
        assert_eq!(read.content_bytes, 100 * MEBIBYTE as u64);
    }
    let mut meter = Meter::new(JSON);
    meter.feed(b"{\"usage\":{\"a\":\"");
    for _ in 0..4 {
        meter.feed(&filler);
        assert!(meter.extractor.held() <= 64 * 1024);
    }
    meter.feed(b"\"},\"id\":\"x\"}");
    assert_eq!(meter.finish().id.as_deref(), Some("x"));
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_change_the_result(
        which in 0usize..6,
        cuts in proptest::collection::vec(0usize..2000, 0..60),
    ) {
        let (kind, body) = [
            (EVENTS, CHAT.to_owned()),
            (EVENTS, RESPONSES.replace('\n', "\r")),
            (EVENTS, format!("\u{feff}{MESSAGES}")),
            (EVENTS, GEMINI.to_owned()),
            (JSON, r#"{"id":"é\"","model":"a\\","x":"\\\"","usage":{"prompt_tokens":7,"completion_tokens":3}}"#.to_owned()),
            (JSON, r#"[{"usageMetadata":{"promptTokenCount":4}},{"message":{"id":"m","content":["a","b"]}}]"#.to_owned()),
        ][which].clone();
        let whole = metered(kind, body.as_bytes());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let mut meter = Meter::new(kind);
        for pair in cuts.windows(2) {
            meter.feed(&body.as_bytes()[pair[0]..pair[1]]);
        }
        prop_assert_eq!(meter.finish(), whole);
    }

    #[test]
    fn any_bytes_are_survived(body in proptest::collection::vec(prop_oneof![
        Just(b'"'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b':'), Just(b','), Just(b'\\'), any::<u8>(),
    ], 0..400)) {
        metered(JSON, &body);
        metered(EVENTS, &body);
    }
}

#[test]
fn every_single_cut_reads_the_same() {
    for (kind, body) in [(EVENTS, CHAT), (EVENTS, RESPONSES), (EVENTS, MESSAGES), (EVENTS, GEMINI)] {
        let whole = metered(kind, body.as_bytes());
        for cut in 0..body.len() {
            let mut meter = Meter::new(kind);
            meter.feed(&body.as_bytes()[..cut]);
            meter.feed(&body.as_bytes()[cut..]);
            assert_eq!(meter.finish(), whole, "{cut}");
        }
    }
}

#[test]
fn an_oversized_value_is_reported_without_its_text() {
    let padded = format!(r#"{{"model":"a","model":{}"b","n":1}}"#, " ".repeat(20_000));
    let mut found = Vec::new();
    JsonFieldExtractor::default().feed(padded.as_bytes(), |member| {
        found.push((member.name, member.value.map(<[u8]>::to_vec)));
    });
    let expected = [("model", Some(b"\"a\"".to_vec())), ("model", None), ("n", Some(b"1".to_vec()))];
    assert_eq!(found, expected);
}

#[test]
fn references_are_found_at_any_depth_in_any_chunks() {
    let body = r#"{"previous_response_id":"resp_1","conversation":{"id":"conv_x"},"input":[{"content":[
        {"type":"input_file","fil\u0065_id":"file-\u0032"},{"text":"\"file_id\":\"file-no\""}]}],
        "tools":[{"vector_store_ids":["vs_3","vs_4"]}],"FILE_ID":"file-5","file_id":7,"container":null}"#;
    for split in 0..body.len() {
        let mut extractor = JsonFieldExtractor::with_references();
        let (first, second) = body.as_bytes().split_at(split);
        extractor.feed(first, |_| {});
        extractor.feed(second, |_| {});
        assert_eq!(extractor.take_references(), ["resp_1", "file-2", "vs_3", "vs_4", "file-5"], "at {split}");
    }
}

#[test]
fn an_answer_is_complete_once_only_usage_can_follow() {
    let answered = |content_type: &str, body: &str| {
        let mut meter = Meter::new(content_type);
        meter.feed(body.as_bytes());
        meter.is_answered()
    };
    let chat = |reason: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}},\"finish_reason\":{reason}}}]}}\n\n")
    };
    assert!(!answered(EVENTS, &chat("null")));
    assert!(answered(EVENTS, &chat("\"stop\"")));
    let stopped = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let more = "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"y\"}}\n\n";
    assert!(answered(EVENTS, stopped));
    assert!(!answered(EVENTS, &format!("{stopped}{more}")));
    assert!(answered(EVENTS, "data: {\"type\":\"response.output_item.done\",\"item\":{\"text\":\"x\"}}\n\n"));
    assert!(answered(JSON, "{\"choices\":["));
    assert!(!answered(JSON, "[{\"candidates\":["));
    assert!(answered(JSON, "[{\"candidates\":[{\"finishReason\":\"STOP\"}"));
    assert!(!answered("audio/mpeg", "x"));
}

#[test]
fn a_response_has_its_status_and_created_objects() {
    let queued = metered(JSON, br#"{"id":"resp_1","status":"queued","conversation":{"id":"conv_1"}}"#);
    assert_eq!((queued.id.as_deref(), queued.status.as_deref()), (Some("resp_1"), Some("queued")));
    let batch = metered(JSON, br#"{"id":"batch_1","output_file_id":"file-1","error_file_id":null}"#);
    assert_eq!((batch.id.as_deref(), batch.made), (Some("batch_1"), vec!["file-1".to_owned()]));
    let upload = metered(JSON, br#"{"id":"upload_1","file":{"id":"file-2"}}"#);
    assert_eq!((upload.id.as_deref(), upload.made), (Some("upload_1"), vec!["file-2".to_owned()]));
}
