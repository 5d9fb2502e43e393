//! Tables of request shapes per surface, with spellings that are meant to hide a fact.

use bytes::Bytes;
use domain::call::{Format, Surface};

use super::*;
use crate::formats;

const CHAT: Surface = Surface::Converse(Format::Chat);
const RESPONSES: Surface = Surface::Converse(Format::Responses);
const MESSAGES: Surface = Surface::Converse(Format::Messages);
const GEMINI: Surface = Surface::Converse(Format::Gemini);

/// The member that a request of this surface must have.
fn required(surface: Surface) -> &'static str {
    match surface {
        Surface::Converse(Format::Chat | Format::Messages) => r#""messages":[{}]"#,
        Surface::Converse(Format::Responses) | Surface::Embeddings => r#""input":"a""#,
        Surface::Converse(Format::Gemini) => r#""contents":[{}]"#,
        Surface::Completions => r#""prompt":"a""#,
        Surface::EmbedContent { .. } => r#""content":{"parts":[{"text":"a"}]}"#,
        Surface::Rerank => r#""query":"a","documents":["b"]"#,
    }
}

#[track_caller]
fn request(surface: Surface, members: &str) -> Request {
    let comma = if members.is_empty() { "" } else { "," };
    // A member that the table sets replaces the required one.
    let required = required(surface);
    let body = match (surface, members.contains("\"prompt\"")) {
        (Surface::Completions, true) => format!("{{{members}}}"),
        _ => format!("{{{required}{comma}{members}}}"),
    };
    formats::native(surface).peek(Bytes::from(body)).unwrap()
}

#[track_caller]
fn check<T: PartialEq + std::fmt::Debug>(
    surface: Surface,
    read: impl Fn(&RequestShape<'_>) -> T,
    table: &[(&str, T)],
) {
    for (members, expected) in table {
        let request = request(surface, members);
        let shape = formats::native(surface).shape(&request);
        assert_eq!(read(&shape), *expected, "{surface:?} {members}");
    }
}

#[test]
fn the_largest_output_limit_counts_under_the_names_of_every_format() {
    let top_level = [
        (r#""max_tokens":9"#, Some(9)),
        (r#""max_output_tokens":7"#, Some(7)),
        (r#""max_completion_tokens":7"#, Some(7)),
        (r#""max\u005ftokens":9"#, Some(9)),
        (r#""max_tokens":5,"max_output_tokens":9000"#, Some(9000)),
        (r#""max_tokens":9000,"max_completion_tokens":5"#, Some(9000)),
        (r#""max_tokens":5,"max_output\u005ftokens":9000"#, Some(9000)),
        (r#""max_tokens":null"#, None),
        ("", None),
    ];
    for surface in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        check(surface, |shape| shape.max_output, &top_level);
    }
    // A name of another format is not validated: what could be a number counts.
    check(
        CHAT,
        |shape| shape.max_output,
        &[
            (r#""max_tokens":5,"max_output_tokens":1e6"#, Some(1_000_000)),
            (r#""max_tokens":5,"max_output_tokens":8.5"#, Some(9)),
            (r#""max_tokens":5,"max_output_tokens":99999999999999999999999"#, Some(u64::MAX)),
            (r#""max_tokens":5,"max_output_tokens":-1"#, Some(5)),
            (r#""max_tokens":5,"max_output_tokens":"many""#, Some(5)),
        ],
    );
    check(
        GEMINI,
        |shape| shape.max_output,
        &[
            (r#""generationConfig":{"maxOutputTokens":9}"#, Some(9)),
            (r#""generation_config":{"max_output_tokens":9}"#, Some(9)),
            (r#""generationConfig":{"maxOutput\u0054okens":9}"#, Some(9)),
            (r#""generationConfi\u0067":{"max_output_tokens":9}"#, Some(9)),
            (r#""generationConfig":{"maxOutputTokens":9,"max_output_tokens":90}"#, Some(90)),
            (
                r#""generationConfig":{"maxOutputTokens":9},"generation_config":{"maxOutputTokens":90}"#,
                Some(90),
            ),
            (r#""generationConfig":{"maxOutputTokens":9},"max_tokens":90"#, Some(90)),
        ],
    );
    check(
        Surface::Completions,
        |shape| shape.max_output,
        &[
            ("", Some(16)),
            (r#""max_tokens":9"#, Some(9)),
            (r#""max_tokens":9,"max_output_tokens":90"#, Some(90)),
        ],
    );
}

#[test]
fn a_name_that_occurs_twice_is_refused() {
    for (surface, members) in [
        (CHAT, r#""max_tokens":5,"max_tokens":9000"#),
        (CHAT, r#""max_tokens":5,"max\u005ftokens":9000"#),
        (CHAT, r#""n":1,"\u006e":9"#),
        (RESPONSES, r#""conversation":null,"conversatio\u006e":"c""#),
        (MESSAGES, r#""max_tokens":5,"max_tokens":9000"#),
        (GEMINI, r#""generationConfig":{"maxOutputTokens":5,"maxOutputTokens":9000}"#),
        (GEMINI, r#""generationConfig":{"candidateCount":1,"candidate\u0043ount":9}"#),
    ] {
        let body = format!("{{{},{members}}}", required(surface));
        assert!(formats::native(surface).peek(Bytes::from(body)).is_err(), "{surface:?} {members}");
    }
}

#[test]
fn every_answer_is_counted() {
    check(
        CHAT,
        |shape| shape.choices,
        &[
            ("", 1),
            (r#""n":3"#, 3),
            (r#""\u006e":3"#, 3),
            (r#""n":3,"best_of":8"#, 8),
            (r#""best\u005fof":8"#, 8),
        ],
    );
    check(RESPONSES, |shape| shape.choices, &[("", 1), (r#""best_of":8"#, 8)]);
    check(MESSAGES, |shape| shape.choices, &[("", 1), (r#""best_of":8"#, 8)]);
    check(
        GEMINI,
        |shape| shape.choices,
        &[
            ("", 1),
            (r#""generationConfig":{"candidateCount":3}"#, 3),
            (r#""generationConfig":{"candidateCount":3,"candidate_count":4}"#, 4),
            (r#""generationConfig":{},"generation_config":{"candidate_count":4}"#, 4),
        ],
    );
    check(
        Surface::Completions,
        |shape| shape.choices,
        &[
            ("", 1),
            (r#""n":2,"best_of":5"#, 5),
            (r#""prompt":["a","b","c"],"n":2"#, 6),
            (r#""prompt":[[1,2],[3]]"#, 2),
            (r#""prompt":[1,2,3]"#, 1),
        ],
    );
}

#[test]
fn reasoning_tools_and_stored_context_are_seen_in_every_format() {
    let reasoning = [
        ("", false),
        (r#""reasoning_effort":"low""#, true),
        (r#""reasoning":{}"#, true),
        (r#""thinking":{"type":"enabled"}"#, true),
        (r#""thinkin\u0067":{"type":"enabled"}"#, true),
        (r#""generation_config":{}"#, true),
    ];
    let tools = [("", false), (r#""tools":[]"#, true), (r#""too\u006cs":[]"#, true)];
    let stored = [
        ("", false),
        (r#""previous_response_id":"r""#, true),
        (r#""previous\u005fresponse\u005fid":"r""#, true),
        (r#""conversation":{"id":"c"}"#, true),
        (r#""cachedContent":"c""#, true),
        (r#""cached_content":"c""#, true),
        (r#""mcp_servers":[]"#, true),
    ];
    let bound = [("", false), (r#""background":true"#, true), (r#""c\u006fnversation":"c""#, true)];
    for surface in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        check(surface, |shape| shape.reasoning, &reasoning);
        check(surface, |shape| shape.tools, &tools);
        check(surface, |shape| shape.stored_context, &stored);
        check(surface, |shape| shape.bound_to_provider, &bound);
    }
    // A stored template; in the other formats the name means nothing, or a text.
    check(
        RESPONSES,
        |shape| shape.stored_context,
        &[(r#""prompt":{"id":"p"}"#, true), (r#""pr\u006fmpt":{}"#, true)],
    );
    check(CHAT, |shape| shape.stored_context, &[(r#""prompt":{"id":"p"}"#, false)]);
    check(Surface::Completions, |shape| shape.stored_context, &[(r#""prompt":"p""#, false)]);
}

#[test]
fn only_generation_has_an_output_to_limit() {
    let plain = [Surface::Embeddings, Surface::EmbedContent { batch: false }, Surface::Rerank]
        .map(|surface| (surface, false));
    let generating = [CHAT, RESPONSES, MESSAGES, GEMINI, Surface::Completions].map(|surface| (surface, true));
    for (surface, generates) in plain.into_iter().chain(generating) {
        let native = formats::native(surface);
        let request = request(surface, "");
        assert_eq!(native.shape(&request).generates, generates, "{surface:?}");
        assert_eq!(native.limit_output(&request, 5).is_some(), generates, "{surface:?}");
    }
}

#[test]
fn reasoning_budgets_are_read_from_their_paths() {
    for (surface, members, expected) in [
        (MESSAGES, r#""thinking":{"type":"enabled","budget_tokens":2000}"#, Some(2000)),
        (MESSAGES, r#""thinking":{"budget\u005ftokens":2000}"#, Some(2000)),
        (CHAT, r#""thinking":{"budget_tokens":2000}"#, Some(2000)),
        (GEMINI, r#""generationConfig":{"thinkingConfig":{"thinkingBudget":300}}"#, Some(300)),
        (GEMINI, r#""generation_config":{"thinking_config":{"thinking_budget":300}}"#, Some(300)),
        (GEMINI, r#""generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}"#, None),
        (MESSAGES, r#""thinking":"on""#, None),
        (MESSAGES, "", None),
    ] {
        assert_eq!(reasoning_budget(&request(surface, members)), expected, "{members}");
    }
}

#[test]
fn every_name_of_external_context_and_images_is_found_in_every_format() {
    for surface in [CHAT, RESPONSES, MESSAGES, GEMINI, Surface::Completions] {
        let content = |members: &str| {
            let request = request(surface, members);
            let shape = formats::native(surface).shape(&request);
            (shape.content.images_of_whole_input(), shape.content.has_images())
        };
        assert_eq!(content(""), (Some(0), false));
        for name in names::EXTERNAL_CONTEXT {
            let name = name.trim_matches('"');
            assert_eq!(content(&format!(r#""x":[{{"{name}":1}}]"#)).0, None, "{name}");
            assert_eq!(content(&format!(r#""x":{{"type":"{name}"}}"#)).0, None, "{name}");
            // The same with its first letter as an escape.
            let escaped = format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..]);
            assert_eq!(content(&format!(r#""x":[{{"{escaped}":1}}]"#)).0, None, "{escaped}");
        }
        for name in names::IMAGES {
            let name = name.trim_matches('"');
            assert_eq!(
                content(&format!(r#""x":[{{"{name}":1}},{{"{name}":2}}]"#)),
                (Some(2), true),
                "{name}"
            );
            // A hidden image may be anything.
            let escaped = format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..]);
            assert_eq!(content(&format!(r#""x":[{{"{escaped}":1}}]"#)).0, None, "{escaped}");
        }
    }
}

#[test]
fn billing_facts_are_found_in_the_body() {
    let content = |body: &'static str| {
        let content = Content::of(body.as_bytes());
        (content.cache_write(), content.cache_lifetime(), content.audio(), content.json_schema())
    };
    assert_eq!(content(r#"{"a":1}"#), (false, false, false, false));
    assert_eq!(content(r#"{"cache_control":{"ttl":"1h"}}"#), (true, true, false, false));
    assert_eq!(content(r#"{"modalities":["audio"]}"#), (false, false, true, false));
    assert_eq!(content(r#"{"type":"json_schema"}"#), (false, false, false, true));
}

#[test]
fn a_body_of_unknown_format_is_read_under_every_spelling() {
    let facts = |body: &'static str| {
        let shape = RequestShape::of_any_format(body.as_bytes())?;
        Some((shape.max_output, shape.choices, shape.stored_context))
    };
    for (body, expected) in [
        (r#"{}"#, Some((None, 1, false))),
        (r#"[{"n":9}]"#, Some((None, 1, false))),
        ("not json", None),
        (r#"{"max_tokens":5,"n":2}"#, Some((Some(5), 2, false))),
        (r#"{"MAX_TOKENS":5,"N":2}"#, Some((Some(5), 2, false))),
        (r#"{"n":1,"N":9}"#, Some((None, 9, false))),
        (r#"{"n":0}"#, Some((None, 1, false))),
        (r#"{"max_tokens":9000,"max_tokens":1}"#, Some((Some(9000), 1, false))),
        (r#"{"max\u005ftokens":9000}"#, Some((Some(9000), 1, false))),
        (r#"{"max_tokens":5,"max_output_tokens":7,"maxOutputTokens":8}"#, Some((Some(8), 1, false))),
        (r#"{"generationConfig":{"maxOutputTokens":8,"candidateCount":3}}"#, Some((Some(8), 3, false))),
        (
            r#"{"generationConfig":{"candidateCount":3},"GENERATION_CONFIG":{"candidate_count":4}}"#,
            Some((None, 4, false)),
        ),
        (r#"{"best_of":3,"num_generations":4}"#, Some((None, 4, false))),
        (r#"{"prompt":["a","b"],"n":3}"#, Some((None, 6, false))),
        (r#"{"prompt":[1,2]}"#, Some((None, 1, false))),
        (r#"{"prompt":{"id":"p"}}"#, Some((None, 1, true))),
        (r#"{"previous_response_id":"r"}"#, Some((None, 1, true))),
        (r#"{"previous_response_id":null}"#, Some((None, 1, false))),
        (r#"{"conversatio\u006e":"c"}"#, Some((None, 1, true))),
    ] {
        assert_eq!(facts(body), expected, "{body}");
    }
}
