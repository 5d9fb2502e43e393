//! The mock stream in Anthropic's format, to measure the cost of translation.

use super::{STREAM_HEAD, Script, chunk, pace};

pub(super) fn stream_script(model: &str) -> Script {
    let (events, gap) = pace(model);
    let start = event(
        "message_start",
        &format!(
            r#"{{"type":"message_start","message":{{"id":"msg_bench","type":"message","role":"assistant","model":"{model}","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":10,"output_tokens":1}}}}}}"#
        ),
    ) + &event(
        "content_block_start",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    );
    let mut parts = vec![STREAM_HEAD.to_owned(), start];
    for _ in 0..events {
        parts.push(event(
            "content_block_delta",
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}"#,
        ));
    }
    let mut tail = event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#);
    tail += &event(
        "message_delta",
        &format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{{"output_tokens":{events}}}}}"#
        ),
    );
    tail += &event("message_stop", r#"{"type":"message_stop"}"#);
    tail += "0\r\n\r\n";
    Script { gap, tail, ..Script::default() }.arrange(parts)
}

fn event(name: &str, data: &str) -> String {
    chunk(&format!("event: {name}\ndata: {data}\n\n"))
}
