//! A request split into its turns and the rest of its prompt, to recognise a conversation that goes on.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::{self, Member, Object};

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
static CACHE_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"cache_control\":{"));

/// Members besides the turns that come first in a prompt.
const INSTRUCTIONS: [&str; 5] =
    ["tools", "system", "instructions", "systemInstruction", "system_instruction"];
/// The most turns with instructions that the start of a prompt has.
const MAX_INSTRUCTION_TURNS: usize = 8;
/// The most bytes of each part of the start of a prompt.
const MAX_START_PART: usize = 64 * 1024;

pub struct Conversation<'a> {
    /// The other members that belong to the prompt, sorted by name, as raw JSON.
    pub settings: Vec<(&'a [u8], &'a [u8])>,
    /// The array of turns as raw JSON.
    pub list: &'a [u8],
    /// The position of each turn in `list`.
    pub turns: Vec<Range<usize>>,
}

impl<'a> Conversation<'a> {
    /// Splits a body of valid UTF-8; `None` if it has no array of turns, or escapes in a name.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let (object, mut turns) = json::scan_with_elements(body, &TURNS).ok()?;
        if object.escaped_keys {
            return None;
        }
        let mut settings: Vec<(&[u8], &[u8])> = Vec::with_capacity(object.members.len());
        let mut list = None;
        for Member { key, value, .. } in object.members {
            let name = &body[key];
            let is_one_of = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
            if list.is_none() && is_one_of(&TURNS) && body[value.start] == b'[' {
                list = Some(value);
            } else if !is_one_of(&IGNORED) {
                settings.push((name, &body[value]));
            }
        }
        settings.sort_unstable();
        let list = list?;
        for turn in &mut turns {
            *turn = turn.start - list.start..turn.end - list.start;
        }
        Some(Self { settings, list: &body[list], turns })
    }
}

/// The parts of a prompt that stay the same while its conversation goes on, as raw JSON: tools, instructions, and the turns
/// up to the first one that is not an instruction. `None` if the body has no turns.
pub fn prompt_start<'a>(body: &'a [u8], object: &Object) -> Option<Vec<&'a [u8]>> {
    let cut = |range: Range<usize>| range.start..range.end.min(range.start + MAX_START_PART);
    let instructions = INSTRUCTIONS.iter().filter_map(|name| object.value(body, name));
    let mut parts: Vec<&[u8]> = instructions.map(|value| &body[cut(value)]).collect();
    let turns = cut(TURNS.iter().find_map(|name| object.value(body, name))?);
    let first = json::first_elements(body, turns.clone(), MAX_INSTRUCTION_TURNS);
    // A text instead of turns has no elements, and is the rest as a whole.
    let mut read = turns.start;
    for turn in first {
        parts.push(&body[turn.clone()]);
        if !is_instruction(body, turn.clone()) {
            return Some(parts);
        }
        read = turn.end;
    }
    // The first turn that is not an instruction is longer than a part, or behind many instructions.
    parts.push(&body[read..turns.end]);
    Some(parts)
}

fn is_instruction(body: &[u8], turn: Range<usize>) -> bool {
    let Ok(turn) = json::scan_within(body, turn) else { return false };
    let role = turn.value(body, "role").and_then(|role| json::string_at(body, &role));
    matches!(role.as_deref(), Some("system" | "developer"))
}

/// Removes cache marks, which are not part of the prompt: agents move them from turn to turn.
pub fn without_cache_marks(part: &[u8]) -> Cow<'_, [u8]> {
    let mut kept: Vec<u8> = Vec::new();
    let mut at = 0;
    for mark in CACHE_MARK.find_iter(part) {
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
        assert_eq!(found.settings, [(&b"input"[..], &b"\"x\""[..]), (b"system", b"\"s\"")]);
        let turns: Vec<&[u8]> = found.turns.iter().map(|turn| &found.list[turn.clone()]).collect();
        assert_eq!(turns, [br#"{"a":1}"#, br#"{"b":2}"#]);
        for body in ["{}", "not json", r#"{"messages":"a"}"#, r#"{"mess\u0061ges":[1]}"#] {
            assert!(Conversation::read(body.as_bytes()).is_none(), "{body}");
        }
    }

    #[track_caller]
    fn check_start(body: &str, expected: Option<&[&str]>) {
        let object = json::scan(body.as_bytes()).unwrap();
        let found = prompt_start(body.as_bytes(), &object).map(|parts| {
            parts.iter().map(|part| std::str::from_utf8(part).unwrap().to_owned()).collect::<Vec<_>>()
        });
        let expected = expected.map(|parts| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn a_start_ends_with_the_first_turn_of_the_user() {
        let system = r#"{"role":"system","content":"s"}"#;
        let user = r#"{"role":"user","content":"a"}"#;
        let rest = r#"{"role":"assistant","content":"b"},{"role":"user","content":"c"}"#;
        check_start(&format!(r#"{{"messages":[{system}, {user}]}}"#), Some(&[system, user]));
        check_start(&format!(r#"{{"messages":[{system},{user},{rest}]}}"#), Some(&[system, user]));
        check_start(
            &format!(r#"{{"messages":[{user},{rest}],"system":"s","tools":[1],"max_tokens":9}}"#),
            Some(&["[1]", "\"s\"", user]),
        );
        check_start(r#"{"instructions":"s","input":"a"}"#, Some(&["\"s\"", "\"a\""]));
        check_start(r#"{"contents":[]}"#, Some(&["[]"]));
        check_start("{}", None);
    }

    #[test]
    fn a_long_first_turn_is_cut_off() {
        let long = "x".repeat(2 * MAX_START_PART);
        let body = format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}]}}"#);
        let object = json::scan(body.as_bytes()).unwrap();
        let parts = prompt_start(body.as_bytes(), &object).unwrap();
        assert_eq!((parts.len(), parts[0].len()), (1, MAX_START_PART));
    }
}
