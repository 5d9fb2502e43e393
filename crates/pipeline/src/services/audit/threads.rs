//! Links the requests of a conversation by two hashes over its turns.

use domain::canon::{Content, MediaSource, Part, Prompt, Role, Turn};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Hashes of a conversation: `thread` covers all turns, `parent` those before the last reply of the model. The `parent`
/// of the next request equals the `thread` of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    pub thread: String,
    pub parent: Option<String>,
}

impl Threads {
    /// Hashes the turns of a prompt. Instructions are left out because many clients put the time into them; ids, cache
    /// marks and thinking, because clients omit them when they repeat the history. `owner` separates equal
    /// conversations of different keys.
    pub fn of(prompt: &Prompt, owner: &str) -> Option<Self> {
        let has_content = |turn: &&Turn| {
            !matches!(turn.role, Role::System | Role::Developer)
                && turn.parts.iter().any(|part| !is_thought(part))
        };
        let turns: Vec<&Turn> = prompt.turns.iter().filter(has_content).collect();
        let mut hash = Sha256::new();
        put(&mut hash, b'o', owner);
        let last = turns.iter().rposition(|turn| turn.role == Role::Assistant);
        let before = last.map(|last| {
            let others = turns[..=last].iter().rposition(|turn| turn.role != Role::Assistant);
            others.map_or(0, |other| other + 1)
        });
        let mut parent = None;
        for (index, turn) in turns.iter().enumerate() {
            if Some(index) == before && index > 0 {
                parent = Some(mark(hash.clone()));
            }
            hash.update([b'r', turn.role as u8]);
            turn.parts.iter().for_each(|part| hash_part(&mut hash, part));
        }
        (!turns.is_empty()).then(|| Self { thread: mark(hash), parent })
    }
}

fn is_thought(part: &Part) -> bool {
    matches!(part.content, Content::Thinking(_))
}

fn hash_part(hash: &mut Sha256, part: &Part) {
    match &part.content {
        Content::Text(text) | Content::Refusal(text) => put(hash, b't', text),
        Content::Image(media) | Content::Document(media) | Content::Audio(media) => match &media.source {
            MediaSource::Url(text)
            | MediaSource::Data(text)
            | MediaSource::Text(text)
            | MediaSource::File(text) => put(hash, b'm', text),
        },
        Content::Thinking(_) => {}
        Content::ToolCall(call) => {
            put(hash, b'c', &call.name);
            // Clients repeat the same arguments with different white space.
            let arguments = serde_json::from_str::<Value>(&call.arguments).map(|value| value.to_string());
            put(hash, b'a', arguments.as_deref().unwrap_or(&call.arguments));
        }
        Content::ToolResult(result) => {
            put(hash, b'f', result.name.as_deref().unwrap_or_default());
            result.parts.iter().for_each(|part| hash_part(hash, part));
        }
        Content::Foreign { value, .. } => put(hash, b'x', &value.to_string()),
    }
}

fn put(hash: &mut Sha256, kind: u8, text: &str) {
    hash.update([kind]);
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

fn mark(hash: Sha256) -> String {
    use std::fmt::Write as _;
    hash.finalize()[..16].iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::call::Format;
    use serde_json::json;
    use wire::formats;

    use super::*;

    fn of(format: Format, body: Value, owner: &str) -> Option<Threads> {
        let codec = formats::client(format);
        let request = codec.peek(Bytes::from(body.to_string())).unwrap();
        Threads::of(&codec.parse(&request).unwrap(), owner)
    }

    fn chat(messages: Value) -> Threads {
        of(Format::Chat, json!({"model": "m", "messages": messages}), "key").unwrap()
    }

    #[test]
    fn the_next_turn_names_this_one_as_its_parent() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let model = |text: &str| json!({"role": "assistant", "content": text});
        let first = chat(json!([user("a")]));
        let second = chat(json!([user("a"), model("b"), user("c")]));
        let third = chat(json!([user("a"), model("b"), user("c"), model("d"), user("e")]));
        assert_eq!(first.parent, None);
        assert_eq!(second.parent.as_ref(), Some(&first.thread));
        assert_eq!(third.parent.as_ref(), Some(&second.thread));
        let called = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1}"}}]});
        let looked =
            chat(json!([user("a"), called, {"role": "tool", "tool_call_id": "x", "content": "seen"}]));
        assert_eq!(looked.parent.as_ref(), Some(&first.thread));
        assert_ne!(
            first,
            of(Format::Chat, json!({"model": "m", "messages": [user("a")]}), "another").unwrap()
        );
        assert_ne!(first, chat(json!([user("b")])));
    }

    #[test]
    fn equal_turns_have_equal_hashes() {
        let plain = chat(json!([{"role": "user", "content": "a"}]));
        let system = chat(json!([{"role": "system", "content": "now"}, {"role": "user", "content": "a"}]));
        let parts = chat(json!([{"role": "user", "content": [{"type": "text", "text": "a"}]}]));
        assert_eq!((&plain, &plain), (&system, &parts));
        let marked = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content":
            [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]});
        assert_eq!(of(Format::Messages, marked, "key").unwrap(), plain);
        let input = json!({"model": "m", "input": "a"});
        assert_eq!(of(Format::Responses, input, "key").unwrap(), plain);
    }
}
