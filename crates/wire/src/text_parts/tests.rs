//! Tests of the texts of every format and surface, and of the parts that are not text.

mod capitals;

use super::*;
use crate::json;

const CHAT: Surface = Surface::Converse(Format::Chat);
const MESSAGES: Surface = Surface::Converse(Format::Messages);
const RESPONSES: Surface = Surface::Converse(Format::Responses);
const GEMINI: Surface = Surface::Converse(Format::Gemini);

/// Compares texts as `role kind value`.
#[track_caller]
fn check_parts(body: &str, parts: &[TextPart], expected: &[&str]) {
    let show = |part: &TextPart| format!("{:?} {:?} {}", part.role, part.kind, &body[part.value.clone()]);
    assert_eq!(parts.iter().map(show).collect::<Vec<_>>(), expected, "{body}");
}

#[track_caller]
fn check_request(surface: Surface, body: &str, expected: &[&str]) {
    let object = json::scan(body.as_bytes()).unwrap();
    check_parts(body, &request_texts(surface, body.as_bytes(), &object).parts, expected);
}

#[test]
fn chat_requests() {
    let body = r#"{"model":"m","messages":[
        {"role":"system","content":"a"},
        {"content":[{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"data:x"}},"B"],"role":"user"},
        {"role":"assistant","content":null,"reasoning_content":"c","tool_calls":[
            {"id":"1","function":{"name":"f","arguments":"{\"x\":\"d\"}"}},{"custom":{"name":"g","input":"e"}}]},
        {"role":"tool","tool_call_id":"1","content":"f"},
        {"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"g"}]}],
            "reasoning_details":[{"text":"h","signature":"s"},{"text":"i"},{"summary":"j"},{"data":"x"}],
            "function_call":{"name":"f","arguments":"{}"}}],
        "prediction":{"type":"content","content":"k"}}"#;
    let expected = [
        r#"System Text "a""#,
        r#"User Text "b""#,
        r#"User Text "B""#,
        r#"Assistant Text "c""#,
        r#"Assistant JsonText "{\"x\":\"d\"}""#,
        r#"Assistant Text "e""#,
        r#"Tool Text "f""#,
        r#"Assistant Text "g""#,
        r#"Assistant Signed "h""#,
        r#"Assistant Text "i""#,
        r#"Assistant Text "j""#,
        r#"Assistant JsonText "{}""#,
        r#"User Text "k""#,
    ];
    check_request(CHAT, body, &expected);
    let body = r#"{"messages":[{"role":"assistant","content":"a","refusal":null},
        {"role":"assistant","refusal":"b","audio":{"id":"x","transcript":"c"}}]}"#;
    let expected = [r#"Assistant Text "a""#, r#"Assistant Text "b""#, r#"Assistant Text "c""#];
    check_request(CHAT, body, &expected);
}

#[test]
fn messages_requests() {
    let body = r#"{"system":[{"type":"text","text":"a"}],"messages":[
        {"role":"user","content":"b"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"c","signature":"s"},
            {"type":"thinking","thinking":"d"},{"type":"tool_use","id":"1","name":"f","input":{"x":"e"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"f"}]},
            {"type":"tool_result","tool_use_id":"2","content":"g"},
            {"type":"document","title":"h","source":{"type":"text","media_type":"text/plain","data":"i"}},
            {"type":"document","source":{"type":"base64","data":"j"}},
            {"type":"document","source":{"type":"content","content":[{"type":"text","text":"k"}]}},
            {"type":"search_result","source":"u","title":"l","content":[{"type":"text","text":"m"}]}]},
        {"role":"system","content":"n"}]}"#;
    let expected = [
        r#"System Text "a""#,
        r#"User Text "b""#,
        r#"Assistant Signed "c""#,
        r#"Assistant Text "d""#,
        r#"Assistant Json {"x":"e"}"#,
        r#"Tool Text "f""#,
        r#"Tool Text "g""#,
        r#"User Text "h""#,
        r#"User Text "i""#,
        r#"User Text "k""#,
        r#"User Text "u""#,
        r#"User Text "l""#,
        r#"User Text "m""#,
        r#"System Text "n""#,
    ];
    check_request(MESSAGES, body, &expected);
    let body = r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","input":{}},
        {"type":"bash_code_execution_tool_result","content":{"type":"bash_code_execution_result","stdout":"b","stderr":""}},
        {"type":"web_fetch_tool_result","content":{"type":"web_fetch_result","content":
            {"type":"document","source":{"type":"text","data":"c"}}}}]}]}"#;
    let expected = [
        r#"Assistant Text "a""#,
        "Assistant Json {}",
        r#"Tool Text "b""#,
        r#"Tool Text """#,
        r#"Tool Text "c""#,
    ];
    check_request(MESSAGES, body, &expected);
}

#[test]
fn messages_citations() {
    let body = r#"{"messages":[
        {"role":"assistant","content":[{"type":"text","text":"a","citations":[
            {"type":"char_location","cited_text":"b","document_index":0},
            {"type":"search_result_location","cited_text":"c","source":"x"}]},
            {"type":"text","text":"d","citations":null}]},
        {"role":"user","content":[{"type":"tool_result","content":[{"type":"search_result","source":"e","title":"f",
            "content":[{"type":"text","text":"g"}],"citations":{"enabled":true}}]},
            {"type":"unknown","citations":[{"cited_text":"h"}]}]}]}"#;
    let expected = [
        r#"Assistant Text "a""#,
        r#"Assistant Text "b""#,
        r#"Assistant Text "c""#,
        r#"Assistant Text "d""#,
        r#"Tool Text "e""#,
        r#"Tool Text "f""#,
        r#"Tool Text "g""#,
        r#"User Text "h""#,
    ];
    check_request(MESSAGES, body, &expected);
    check_unreadable(MESSAGES, body, true);
    check_unreadable(MESSAGES, &body.replace("unknown", "redacted_thinking"), false);
}

#[test]
fn responses_requests_and_stored_items() {
    let body = r#"{"instructions":"a","input":"b","prompt":{"id":"p","variables":{
        "x":"c","y":{"type":"input_text","text":"d"},"z":null}}}"#;
    let expected = [r#"System Text "a""#, r#"User Text "c""#, r#"User Text "d""#, r#"User Text "b""#];
    check_request(RESPONSES, body, &expected);
    let body = r#"{"input":[
        {"role":"user","content":[{"type":"input_text","text":"a"}]},
        {"type":"message","role":"assistant","content":"b"},
        {"type":"reasoning","summary":[{"type":"summary_text","text":"c"}]},
        {"type":"function_call","name":"f","arguments":"{}"},
        {"type":"function_call_output","output":"d"},
        {"type":"function_call_output","output":[{"type":"input_text","text":"e"}]},
        {"type":"custom_tool_call","input":"f"},
        {"type":"shell_call_output","output":[{"stdout":"g","stderr":"h"}]},
        {"type":"web_search_call","action":{"query":"i"}},
        {"type":"computer_call","action":{"type":"type","text":"I"}},
        {"type":"computer_call","actions":[{"type":"click","x":1},{"type":"type","text":"J"}]},
        {"type":"image_generation_call","result":"x","revised_prompt":"K"},
        {"type":"code_interpreter_call","code":"j","outputs":[{"type":"logs","logs":"k"}]},
        {"type":"file_search_call","queries":["l"],"results":[{"text":"m"}]},
        {"role":"developer","content":"n"}]}"#;
    let expected = [
        r#"User Text "a""#,
        r#"Assistant Text "b""#,
        r#"Assistant Text "c""#,
        r#"Assistant JsonText "{}""#,
        r#"Tool Text "d""#,
        r#"Tool Text "e""#,
        r#"Assistant Text "f""#,
        r#"Tool Text "g""#,
        r#"Tool Text "h""#,
        r#"Assistant Json {"query":"i"}"#,
        r#"Assistant Json {"type":"type","text":"I"}"#,
        r#"Assistant Json [{"type":"click","x":1},{"type":"type","text":"J"}]"#,
        r#"Assistant Text "K""#,
        r#"Assistant Text "j""#,
        r#"Tool Text "k""#,
        r#"Assistant Json ["l"]"#,
        r#"Tool Text "m""#,
        r#"Developer Text "n""#,
    ];
    check_request(RESPONSES, body, &expected);
    let items = body.strip_prefix(r#"{"input":"#).and_then(|items| items.strip_suffix('}')).unwrap();
    check_parts(items, &item_texts(items.as_bytes()).parts, &expected);
}

#[test]
fn stored_items_are_an_array() {
    check_parts(" [ ] ", &item_texts(b" [ ] ").parts, &[]);
    check_parts("{}", &item_texts(b"{}").parts, &[]);
    check_parts("", &item_texts(b"").parts, &[]);
}

#[test]
fn gemini_requests() {
    let body = r#"{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[
        {"parts":[{"text":"b"},{"inlineData":{"data":"x"}}]},
        {"role":"model","parts":[{"text":"c","thought":true,"thoughtSignature":"s"},
            {"text":"C","thought":false,"thought_signature":"s"},
            {"functionCall":{"name":"f","args":{"x":"d"}}},{"executableCode":{"code":"D"}}]},
        {"role":"user","parts":[{"function_response":{"name":"f","response":{"y":"e"}}}]}]}"#;
    let expected = [
        r#"System Text "a""#,
        r#"User Text "b""#,
        r#"Assistant Signed "c""#,
        r#"Assistant Text "C""#,
        r#"Assistant Json {"x":"d"}"#,
        r#"Assistant Text "D""#,
        r#"Tool Json {"y":"e"}"#,
    ];
    check_request(GEMINI, body, &expected);
    // A single content or part is a list of one.
    let body = r#"{"system_instruction":"a","contents":{"parts":{"text":"b"}}}"#;
    check_request(GEMINI, body, &[r#"System Text "a""#, r#"User Text "b""#]);
}

#[test]
fn requests_without_a_conversation() {
    let (single, batch) = (Surface::EmbedContent { batch: false }, Surface::EmbedContent { batch: true });
    for (surface, body, expected) in [
        (Surface::Completions, r#"{"prompt":"a","suffix":"b"}"#, "a b"),
        (Surface::Completions, r#"{"prompt":["a","b"],"suffix":null}"#, "a b"),
        (Surface::Completions, r#"{"prompt":[1,2]}"#, ""),
        (Surface::Completions, r#"{"prompt":[[1],[2]]}"#, ""),
        (Surface::Embeddings, r#"{"input":"a"}"#, "a"),
        (Surface::Embeddings, r#"{"input":["a",{"text":"b"},{"image":"x"}]}"#, "a b"),
        (single, r#"{"content":{"parts":[{"text":"a"},{"text":"b"}]}}"#, "a b"),
        (single, r#"{"requests":[{"content":{"parts":[{"text":"a"}]}}]}"#, ""),
        (
            batch,
            r#"{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}"#,
            "a b",
        ),
        (Surface::Rerank, r#"{"query":"a","documents":["b",{"text":"c","id":"x"}]}"#, "a b c"),
    ] {
        let expected: Vec<String> =
            expected.split_whitespace().map(|text| format!("User Text \"{text}\"")).collect();
        check_request(surface, body, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn other_values_in_place_of_texts_are_left_out() {
    check_request(CHAT, r#"{"messages":[1,{"content":5},{"content":[7,{"text":[]}]}]}"#, &[]);
    check_request(MESSAGES, r#"{"messages":{},"system":{}}"#, &[]);
    check_request(RESPONSES, r#"{"input":[{"type":"unknown"}],"instructions":1}"#, &[]);
    check_request(GEMINI, r#"{"contents":[{"parts":[{"text":null}]}]}"#, &[]);
}

#[test]
fn objects_and_arrays_in_place_of_strings_are_added_as_json() {
    let body = r#"{"messages":[{"role":"assistant","refusal":["a"],"reasoning":5,
        "reasoning_details":[{"text":{"x":"b"},"signature":"s"},{"text":true}],
        "tool_calls":[{"function":{"arguments":{"x":"c"}}},{"function":{"arguments":["d"]}},
            {"function":{"arguments":6}},{"function":{"arguments":false}},{"function":{"arguments":null}}]}]}"#;
    let expected = [
        r#"Assistant Json ["a"]"#,
        r#"Assistant Json {"x":"b"}"#,
        r#"Assistant Json {"x":"c"}"#,
        r#"Assistant Json ["d"]"#,
    ];
    check_request(CHAT, body, &expected);
    let body = r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":{"x":"a"},"signature":"s"},
        {"type":"text","text":["b"],"citations":[{"cited_text":{"x":"c"}},{"cited_text":7}]}]}]}"#;
    let expected = [r#"Assistant Json {"x":"a"}"#, r#"Assistant Json ["b"]"#, r#"Assistant Json {"x":"c"}"#];
    check_request(MESSAGES, body, &expected);
    let body = r#"{"instructions":["a"],"input":[{"type":"mcp_call","arguments":{"x":"b"},"output":{"y":"c"}},
        {"type":"image_generation_call","revised_prompt":8}]}"#;
    let expected = [r#"System Json ["a"]"#, r#"Assistant Json {"x":"b"}"#, r#"Tool Json {"y":"c"}"#];
    check_request(RESPONSES, body, &expected);
    let body =
        r#"{"contents":[{"role":"model","parts":[{"text":{"x":"a"}},{"executableCode":{"code":["b"]}}]}]}"#;
    check_request(GEMINI, body, &[r#"Assistant Json {"x":"a"}"#, r#"Assistant Json ["b"]"#]);
}

#[test]
fn objects_with_repeated_keys_are_added_as_json() {
    let message = r#"{"role":"user","content":"a","content":"b"}"#;
    let body = format!(r#"{{"messages":[{message},{{"role":"system","content":"c"}}]}}"#);
    check_request(CHAT, &body, &[&format!("User Json {message}"), r#"System Text "c""#]);
    check_unreadable(CHAT, &body, true);
}

#[track_caller]
fn check_unreadable(surface: Surface, body: &str, expected: bool) {
    let object = json::scan(body.as_bytes()).unwrap();
    let texts = request_texts(surface, body.as_bytes(), &object);
    assert_eq!(texts.has_unreadable_parts, expected, "{body}");
}

#[test]
fn unreadable_content_of_messages() {
    for (part, expected) in [
        (r#"{"type":"text","text":"a"}"#, false),
        (r#"{"type":"refusal","refusal":"a"}"#, false),
        (r#"{"type":"image_url","image_url":{"url":"https://x"}}"#, true),
        (r#"{"type":"input_audio","input_audio":{"data":"x"}}"#, true),
        (r#"{"type":"file","file":{"file_id":"x"},"text":"a"}"#, true),
        (r#"{"type":"unknown","text":"a"}"#, false),
        (r#"{"type":"unknown","url":"a"}"#, true),
    ] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
        check_unreadable(CHAT, &body, expected);
    }
    check_unreadable(CHAT, r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}"#, false);
    check_unreadable(CHAT, r#"{"messages":[{"role":"assistant","audio":{"id":"x"}}]}"#, true);
    for (block, expected) in [
        (r#"{"type":"text","text":"a"}"#, false),
        (r#"{"type":"image","source":{"type":"base64","data":"x"}}"#, true),
        (r#"{"type":"document","source":{"type":"text","data":"a"}}"#, false),
        (r#"{"type":"document","source":{"type":"content","content":"a"}}"#, false),
        (r#"{"type":"document","title":"a","source":{"type":"base64","data":"x"}}"#, true),
        (r#"{"type":"document","source":{"type":"url","url":"x"}}"#, true),
        (r#"{"type":"document","source":{"type":"file","file_id":"x"}}"#, true),
        (r#"{"type":"container_upload","file_id":"x"}"#, true),
        (r#"{"type":"redacted_thinking","data":"x"}"#, false),
        (r#"{"type":"tool_use","input":{}}"#, false),
        (r#"{"type":"search_result","source":"u","title":"a","content":[]}"#, false),
    ] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{block}]}}]}}"#);
        check_unreadable(MESSAGES, &body, expected);
        let result = format!(r#"{{"type":"tool_result","content":[{block}]}}"#);
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{result}]}}]}}"#);
        check_unreadable(MESSAGES, &body, expected);
    }
    check_unreadable(MESSAGES, r#"{"messages":[{"content":[{"type":"tool_result"}]}]}"#, false);
}

#[test]
fn unreadable_items_and_parts() {
    for (part, expected) in [
        (r#"{"type":"input_text","text":"a"}"#, false),
        (r#"{"type":"output_text","text":"a"}"#, false),
        (r#"{"type":"input_image","image_url":"https://x"}"#, true),
        (r#"{"type":"input_file","file_id":"x"}"#, true),
        (r#"{"type":"input_audio","input_audio":{"data":"x"}}"#, true),
    ] {
        check_unreadable(
            RESPONSES,
            &format!(r#"{{"input":[{{"role":"user","content":[{part}]}}]}}"#),
            expected,
        );
        let output = format!(r#"{{"type":"function_call_output","output":[{part}]}}"#);
        check_unreadable(RESPONSES, &format!(r#"{{"input":[{output}]}}"#), expected);
    }
    for (item, expected) in [
        (r#"{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"x"}}"#, true),
        (r#"{"type":"image_generation_call","result":"x"}"#, true),
        (r#"{"type":"image_generation_call","result":"x","revised_prompt":"a"}"#, true),
        (r#"{"type":"computer_call","actions":[]}"#, false),
        (r#"{"type":"item_reference","id":"x"}"#, true),
        (r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#, false),
        (r#"{"type":"compaction","encrypted_content":"x"}"#, false),
        (r#"{"type":"function_call","arguments":"{}"}"#, false),
    ] {
        check_unreadable(RESPONSES, &format!(r#"{{"input":[{item}]}}"#), expected);
    }
    for (part, expected) in [
        (r#"{"text":"a"}"#, false),
        (r#"{"thoughtSignature":"x"}"#, false),
        (r#"{"functionCall":{"name":"f"}}"#, false),
        (r#"{"inlineData":{"data":"x"}}"#, true),
        (r#"{"inline_data":{"data":"x"},"text":"a"}"#, true),
        (r#"{"fileData":{"fileUri":"x"}}"#, true),
        (r#"{"file_data":{"file_uri":"x"}}"#, true),
        (r#"{"functionResponse":{"response":{},"parts":[{"inlineData":{"data":"x"}}]}}"#, true),
        (r#"{"unknown":{}}"#, true),
    ] {
        check_unreadable(GEMINI, &format!(r#"{{"contents":[{{"parts":[{part}]}}]}}"#), expected);
        let surface = Surface::EmbedContent { batch: false };
        check_unreadable(surface, &format!(r#"{{"content":{{"parts":[{part}]}}}}"#), expected);
    }
}

#[test]
fn unreadable_inputs() {
    for (surface, body, expected) in [
        (Surface::Completions, r#"{"prompt":["a"],"suffix":null}"#, false),
        (Surface::Completions, r#"{"prompt":[1,2]}"#, true),
        (Surface::Embeddings, r#"{"input":"a"}"#, false),
        (Surface::Embeddings, r#"{"input":[[1],[2]]}"#, true),
        (Surface::Rerank, r#"{"query":"a","documents":["b",{"text":"c"}]}"#, false),
        (Surface::Rerank, r#"{"query":"a","documents":[{"image":"x"}]}"#, true),
    ] {
        check_unreadable(surface, body, expected);
    }
}
