//! Tests that events recognised by a template have the class that they would get otherwise.

use bytes::Bytes;
use domain::call::{Format, Surface};
use proptest::prelude::*;

use super::*;
use crate::formats;
use crate::sse::Splitter;

const CHAT: &str = r#"data: {"id":"c-1","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}],"usage":null}"#;
const TOOL: &str =
    r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":TEXT}}]}}]}"#;
const MESSAGES: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":TEXT}}";

fn event(pattern: &str, text: &str) -> Event {
    let mut splitter = Splitter::new(1 << 20);
    let raw = pattern.replace("TEXT", &serde_json::to_string(text).unwrap()) + "\n\n";
    splitter.push(Bytes::from(raw));
    splitter.next().unwrap().unwrap()
}

fn classify(format: Format, event: &Event) -> Seen {
    formats::native(Surface::Converse(format)).classify(event)
}

/// The text bytes that the template finds in `second` after `first` was classified, and the class of `second` without it.
fn compare(format: Format, first: &Event, second: &Event) -> (Option<usize>, Seen) {
    let mut template = ContentTemplate::default();
    template.learn(first, &classify(format, first));
    (content_bytes(&template, second), classify(format, second))
}

fn content_bytes(template: &ContentTemplate, event: &Event) -> Option<usize> {
    let run = template.matching_run(&event.raw);
    assert!(run == ContentRun::default() || (run.length, run.events) == (event.raw.len(), 1), "{run:?}");
    (run.events == 1).then_some(run.content_bytes)
}

#[test]
fn events_that_differ_in_their_text_are_recognised() {
    for (format, pattern) in [(Format::Chat, CHAT), (Format::Messages, MESSAGES)] {
        let (found, seen) = compare(format, &event(pattern, "a"), &event(pattern, "b \"c\" \n"));
        assert_eq!(found, Some(seen.content_bytes), "{pattern}");
    }
}

#[test]
fn other_events_are_not() {
    let first = event(CHAT, "a");
    for other in [
        event(CHAT, ""),
        event(&CHAT.replace("c-1", "c-2"), "b"),
        event(&CHAT.replace("null}],", "\"stop\"}],"), "b"),
        event(&CHAT.replace("\"usage\":null", "\"usage\":{\"total_tokens\":5}"), "b"),
        event("data: [DONE]", ""),
    ] {
        assert_eq!(compare(Format::Chat, &first, &other).0, None, "{other:?}");
    }
}

#[test]
fn a_line_break_in_the_text_is_not_text() {
    for (format, pattern) in [(Format::Chat, CHAT), (Format::Messages, MESSAGES)] {
        for text in ["\"a\nevent: error\nb\"", "\"a\rb\"", "\"a\ndata: b\""] {
            let mut splitter = Splitter::new(1 << 20);
            splitter.push(Bytes::from(pattern.replace("TEXT", text) + "\n\n"));
            let other = splitter.next().unwrap().unwrap();
            assert_eq!(compare(format, &event(pattern, "a"), &other).0, None, "{other:?}");
        }
    }
}

#[test]
fn a_run_ends_before_the_first_other_event() {
    let mut template = ContentTemplate::default();
    let first = event(CHAT, "a");
    template.learn(&first, &classify(Format::Chat, &first));
    let same: Vec<u8> = ["b", "c \"d\"", "\u{e9}"].iter().flat_map(|text| event(CHAT, text).raw).collect();
    let expected = ContentRun { length: same.len(), events: 3, content_bytes: 1 + 5 + 2 };
    let partial = &event(CHAT, "last").raw[..first.raw.len()];
    let escape = CHAT.split("TEXT").next().unwrap().to_owned() + "\"a\\";
    for rest in [b"".as_slice(), b": comment\n\n", b"data: [DONE]\n\n", b"\n", partial, escape.as_bytes()] {
        assert_eq!(template.matching_run(&[&same, rest].concat()), expected, "{}", rest.escape_ascii());
    }
}

#[test]
fn events_that_end_in_a_carriage_return_are_no_template() {
    let mut splitter = Splitter::new(1 << 20);
    splitter.push(Bytes::from(CHAT.replace("TEXT", "\"a\"") + "\r\rdata: b"));
    let first = splitter.next().unwrap().unwrap();
    assert_eq!(compare(Format::Chat, &first, &first).0, None);
}

#[test]
fn events_whose_class_depends_on_more_are_no_template() {
    for pattern in
        [TOOL, &CHAT.replace("null}],", "\"stop\"}],"), &CHAT.replace("\"usage\":null", "\"usage\":{}")]
    {
        let first = event(pattern, "a");
        assert_eq!(compare(Format::Chat, &first, &first).0, None, "{pattern}");
    }
}

#[test]
fn the_number_of_templates_is_bounded() {
    let mut template = ContentTemplate::default();
    for number in 0..=MAX_TEMPLATES {
        let event = event(&CHAT.replace("c-1", &number.to_string()), "a");
        template.learn(&event, &classify(Format::Chat, &event));
        assert_eq!(content_bytes(&template, &event).is_some(), number < MAX_TEMPLATES);
    }
}

proptest! {
    #[test]
    fn the_template_agrees_with_the_classification(
        pair in ("\\PC{0,12}|.{0,12}|\"usage\":5|\"delta\":\\{|\\\\u0022", "\\PC{0,12}|.{0,12}|\"usage\":5|\"finish_reason\":\"stop\""),
    ) {
        for (format, pattern) in [(Format::Chat, CHAT), (Format::Chat, TOOL), (Format::Messages, MESSAGES)] {
            let (found, seen) = compare(format, &event(pattern, &pair.0), &event(pattern, &pair.1));
            if let Some(content_bytes) = found {
                let expected = Seen { content_bytes, text: seen.text.clone(), ..Seen::of(Class::Content) };
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
