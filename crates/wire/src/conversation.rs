//! A request split into its turns and the rest of its prompt, to recognise a conversation that goes on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use serde_json::value::RawValue;

use crate::json;

/// The names of the array of turns in the formats.
const TURNS: [&str; 3] = ["messages", "input", "contents"];
/// Members that are not part of the prompt.
const IGNORED: [&str; 9] = [
    "model",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "metadata",
];
const CACHE_MARK: &[u8] = b"\"cache_control\":{";

pub struct Conversation<'a> {
    /// The other members that belong to the prompt, by name, as raw JSON.
    pub settings: Vec<(&'a str, &'a str)>,
    /// The array of turns as raw JSON.
    pub list: &'a str,
    /// The position of each turn in `list`.
    pub turns: Vec<Range<usize>>,
}

impl<'a> Conversation<'a> {
    /// Splits a body; `None` if it has no array of turns, or escapes in a name.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let members: BTreeMap<&str, &RawValue> = serde_json::from_slice(body).ok()?;
        let is_list =
            |(name, value): &(&&str, &&RawValue)| TURNS.contains(name) && value.get().starts_with('[');
        let (list_name, list) = members.iter().find(is_list).map(|(name, list)| (*name, list.get()))?;
        let turns = json::scan_array(list.as_bytes(), 0..list.len()).ok()?;
        let is_setting = |name: &str| name != list_name && !IGNORED.contains(&name);
        let settings = members.iter().filter(|(name, _)| is_setting(name));
        let settings = settings.map(|(name, value)| (*name, value.get())).collect();
        Some(Self { settings, list, turns })
    }
}

/// Removes cache marks, which are not part of the prompt: agents move them from turn to turn.
pub fn without_cache_marks(part: &[u8]) -> Cow<'_, [u8]> {
    let mut kept: Vec<u8> = Vec::new();
    let mut at = 0;
    for mark in memmem::find_iter(part, CACHE_MARK) {
        let Some(length) = memchr::memchr(b'}', &part[mark..]) else { break };
        let (mut start, mut end) = (mark, mark + length + 1);
        // Removes the comma before the mark, or else the one after it.
        if start > at && part[start - 1] == b',' {
            start -= 1;
        } else if part.get(end) == Some(&b',') {
            end += 1;
        }
        kept.extend_from_slice(&part[at..start]);
        at = end;
    }
    if at == 0 {
        return Cow::Borrowed(part);
    }
    kept.extend_from_slice(&part[at..]);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_split_into_turns_and_settings() {
        let body = br#"{"model":"m","max_tokens":5,"system":"s","messages":[{"a":1}, {"b":2}],"input":"x"}"#;
        let found = Conversation::read(body).unwrap();
        // The provider decides which list it reads: one that is not the conversation is part of the rest.
        assert_eq!(found.settings, [("input", "\"x\""), ("system", "\"s\"")]);
        let turns: Vec<&str> = found.turns.iter().map(|turn| &found.list[turn.clone()]).collect();
        assert_eq!(turns, [r#"{"a":1}"#, r#"{"b":2}"#]);
        for body in ["{}", "not json", r#"{"messages":"a"}"#, r#"{"mess\u0061ges":[1]}"#] {
            assert!(Conversation::read(body.as_bytes()).is_none(), "{body}");
        }
    }
}
