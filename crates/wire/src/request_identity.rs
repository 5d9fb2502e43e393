//! The identity of a request: the members that decide its answer, in a form that does not depend on how it was written.

use std::borrow::Cow;
use std::ops::Range;

use domain::call::{Format, Surface};

use crate::codec::Request;
use crate::codec::shape::GENERATION_CONFIGS;
use crate::json;

/// The members that choose how an answer is sent, and not what it says.
const TRANSPORT: [&[u8]; 2] = [b"stream", b"stream_options"];
/// Members of the chat format whose results only one of the two forms of an answer can carry.
const FORM_BOUND: [&[u8]; 4] = [b"logprobs", b"top_logprobs", b"audio", b"modalities"];
/// The same in Gemini's format, inside of its configuration.
const FORM_BOUND_CONFIG: [&str; 4] =
    ["responseLogprobs", "response_logprobs", "responseModalities", "response_modalities"];

/// Passes the parts of a request that decide its answer to `visit`, in a fixed order. Members are sorted by name; white
/// space between tokens, members that are null and members that have their default value are left out.
pub fn visit(surface: Surface, request: &Request, visit: impl FnMut(&[u8])) {
    visit_members(surface, request, None, visit);
}

/// As [`visit`], with an empty string in place of the string at `left_out`.
pub fn visit_without(surface: Surface, request: &Request, left_out: &Range<usize>, visit: impl FnMut(&[u8])) {
    visit_members(surface, request, Some(left_out), visit);
}

fn visit_members(
    surface: Surface,
    request: &Request,
    left_out: Option<&Range<usize>>,
    mut visit: impl FnMut(&[u8]),
) {
    let body = &request.body;
    type Bytes<'a> = Cow<'a, [u8]>;
    let mut members: Vec<(Bytes<'_>, Bytes<'_>)> = request
        .object
        .named(body)
        .map(|(name, member)| (name, value_without(body, &member.value, left_out)))
        .collect();
    members.retain(|(name, value)| {
        **value != *b"null" && !TRANSPORT.contains(&&**name) && !is_default(surface, name, value)
    });
    members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (name, value) in members {
        visit(&name);
        match std::str::from_utf8(&value) {
            Ok(text) => visit(json::compact(text).as_bytes()),
            Err(_) => visit(&value),
        }
    }
}

/// The value of a member; if the string that is left out is in it, with an empty one in its place.
fn value_without<'a>(body: &'a [u8], value: &Range<usize>, left_out: Option<&Range<usize>>) -> Cow<'a, [u8]> {
    match left_out.filter(|text| value.start <= text.start && text.end <= value.end) {
        None => Cow::Borrowed(&body[value.clone()]),
        Some(text) => {
            Cow::Owned([&body[value.start..text.start], b"\"\"", &body[text.end..value.end]].concat())
        }
    }
}

/// Whether the whole and the streamed answer to a request cannot be converted into each other without loss.
pub fn is_bound_to_form(surface: Surface, request: &Request) -> bool {
    let Request { body, object, choices, .. } = request;
    let has = |name: &[u8]| std::str::from_utf8(name).is_ok_and(|name| object.value(body, name).is_some());
    *choices > 1
        || match surface {
            Surface::Converse(Format::Chat) => FORM_BOUND.iter().any(|name| has(name)),
            Surface::Converse(Format::Gemini) => {
                let has = |config: &&str, name: &&str| object.value_at(body, &[config, name]).is_some();
                GENERATION_CONFIGS.iter().any(|config| FORM_BOUND_CONFIG.iter().any(|name| has(config, name)))
            }
            // The calls of some tools are written with parts of their definitions.
            Surface::Converse(Format::Responses) => has(b"tools"),
            Surface::Converse(Format::Messages) => false,
            Surface::Completions | Surface::Embeddings | Surface::EmbedContent { .. } | Surface::Rerank => {
                true
            }
        }
}

/// A temperature of 1 is the same as none in OpenAI's formats.
fn is_default(surface: Surface, name: &[u8], value: &[u8]) -> bool {
    matches!(surface, Surface::Converse(Format::Chat | Format::Responses))
        && name == b"temperature"
        && std::str::from_utf8(value).ok().and_then(|text| text.trim().parse::<f64>().ok()) == Some(1.0)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::formats;

    fn identity(surface: Surface, body: &'static str) -> Vec<String> {
        let request = formats::native(surface).peek(Bytes::from_static(body.as_bytes())).unwrap();
        let mut parts = Vec::new();
        visit(surface, &request, |part| parts.push(String::from_utf8(part.to_vec()).unwrap()));
        parts
    }

    const CHAT: Surface = Surface::Converse(Format::Chat);

    #[test]
    fn order_space_transport_and_defaults_do_not_matter() {
        let one = identity(
            CHAT,
            r#"{"model":"m","messages":[{"role":"user","content":"a b"}],"stream":true,"stream_options":{"include_usage":true},"temperature":1.0,"user":null}"#,
        );
        let other = identity(
            CHAT,
            "{ \"messages\": [ {\"role\": \"user\",\n \"content\": \"a b\"} ], \"\\u006dodel\": \"m\" }",
        );
        assert_eq!(one, other);
        assert_eq!(one, ["messages", r#"[{"role":"user","content":"a b"}]"#, "model", "\"m\""]);
    }

    #[test]
    fn every_other_member_matters() {
        let plain = identity(CHAT, r#"{"model":"m","messages":[0]}"#);
        for body in [
            r#"{"model":"n","messages":[0]}"#,
            r#"{"model":"m","messages":[1]}"#,
            r#"{"model":"m","messages":[0],"temperature":0}"#,
            r#"{"model":"m","messages":[0],"seed":1}"#,
            r#"{"model":"m","messages":[0],"tools":[]}"#,
            r#"{"model":"m","messages":[0],"user":"a"}"#,
            r#"{"model":"m","messages":[0],"unknown":false}"#,
        ] {
            assert_ne!(identity(CHAT, body), plain, "{body}");
        }
        let messages = Surface::Converse(Format::Messages);
        let warm = identity(messages, r#"{"model":"m","messages":[0],"max_tokens":1,"temperature":1}"#);
        assert!(warm.contains(&"temperature".to_owned()), "the defaults of another format are not known");
    }

    #[test]
    fn forms_that_lose_something_are_not_converted() {
        let bound = |surface: Surface, body: &'static str| {
            let request = formats::native(surface).peek(Bytes::from_static(body.as_bytes())).unwrap();
            is_bound_to_form(surface, &request)
        };
        assert!(!bound(CHAT, r#"{"model":"m","messages":[0]}"#));
        assert!(!bound(CHAT, r#"{"model":"m","messages":[0],"logprobs":null}"#));
        assert!(bound(CHAT, r#"{"model":"m","messages":[0],"logprobs":true}"#));
        assert!(bound(CHAT, r#"{"model":"m","messages":[0],"n":2}"#));
        let gemini = Surface::Converse(Format::Gemini);
        assert!(!bound(gemini, r#"{"contents":[0],"generationConfig":{"temperature":1}}"#));
        assert!(bound(gemini, r#"{"contents":[0],"generationConfig":{"responseModalities":["AUDIO"]}}"#));
        assert!(bound(Surface::Embeddings, r#"{"model":"m","input":"a"}"#));
    }
}
