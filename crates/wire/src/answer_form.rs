//! Answers that only one of their two forms, document and stream, can carry in full.

use domain::call::Format;
use memchr::memmem::Finder;

use crate::json;

/// The members of an answer, with quotes, that the canonical model does not have.
fn members(format: Format) -> &'static [&'static str] {
    match format {
        Format::Chat => &[
            "\"annotations\"",
            "\"citations\"",
            "\"search_results\"",
            "\"function_call\"",
            "\"reasoning_details\"",
            "\"logprobs\"",
            "\"audio\"",
            "\"images\"",
        ],
        Format::Responses => &["\"annotations\"", "\"logprobs\""],
        Format::Messages => &["\"citations\"", "\"container\"", "\"server_tool_use\""],
        Format::Gemini => &[
            "\"groundingMetadata\"",
            "\"citationMetadata\"",
            "\"urlContextMetadata\"",
            "\"promptFeedback\"",
            "\"safetyRatings\"",
            "\"inlineData\"",
        ],
    }
}

/// Whether an answer, a document or a stream, would lose something if it were converted to the other form.
pub fn is_bound(format: Format, body: &[u8]) -> bool {
    members(format).iter().any(|member| {
        let (finder, mut from) = (Finder::new(member), 0);
        while let Some(value) = json::find_key(body, from, &finder) {
            if !is_empty(&body[value..]) {
                return true;
            }
            from = value;
        }
        false
    })
}

/// Whether a value is null, or has nothing in it.
fn is_empty(value: &[u8]) -> bool {
    let value = value.trim_ascii_start();
    value.starts_with(b"null")
        || [(b'[', b']'), (b'{', b'}')].iter().any(|(open, close)| {
            value.strip_prefix(&[*open]).is_some_and(|rest| rest.trim_ascii_start().first() == Some(close))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_a_counterpart_bind_an_answer_to_its_form() {
        for (format, body, expected) in [
            (
                Format::Chat,
                r#"{"choices":[{"message":{"content":"a","annotations":[ ]},"logprobs": null}]}"#,
                false,
            ),
            (
                Format::Chat,
                r#"{"choices":[{"message":{"annotations":[]}},{"message":{"annotations":[{}]}}]}"#,
                true,
            ),
            (Format::Chat, r#"{"choices":[{"message":{"content":"\"citations\": [1]"}}]}"#, false),
            (Format::Chat, "data: {\"citations\":[\"x\"]}\n\n", true),
            (Format::Responses, r#"{"output":[{"content":[{"annotations":[],"logprobs":[]}]}]}"#, false),
            (Format::Responses, r#"{"output":[{"content":[{"logprobs":[{"token":"a"}]}]}]}"#, true),
            (Format::Messages, r#"{"content":[{"type":"text","text":"a","citations":null}]}"#, false),
            (Format::Messages, r#"{"usage":{"server_tool_use":{"web_search_requests":1}}}"#, true),
            (Format::Gemini, r#"{"candidates":[{"safetyRatings":[{"category":"x"}]}]}"#, true),
            (Format::Gemini, r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#, false),
        ] {
            assert_eq!(is_bound(format, body.as_bytes()), expected, "{body}");
        }
    }
}
