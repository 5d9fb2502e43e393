//! Token counts that providers reported for earlier requests, by a hash of the conversation. An agent sends the same
//! prefix with every step, so that only the new part has to be bounded by its bytes.

use std::hash::{BuildHasher as _, Hasher};

use foldhash::HashMap;
use parking_lot::Mutex;
use wire::conversation::{Conversation, without_cache_marks};

/// Entries per generation; two generations are kept.
const GENERATION: usize = 4096;
/// Longer bodies are not looked up: hashing them takes too long.
const LONGEST: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub struct ReportedPrefixes {
    entries: Mutex<Generations>,
    hasher: foldhash::quality::RandomState,
}

type Hashes<'a> = (&'a [u8], Vec<(u64, usize)>);

#[derive(Default)]
struct Generations {
    young: HashMap<u64, u64>,
    old: HashMap<u64, u64>,
}

/// The part of a request whose tokens a provider has reported before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<'a> {
    pub tokens: u64,
    /// The turns that follow it, as raw JSON.
    pub rest: &'a [u8],
}

impl ReportedPrefixes {
    /// Records the input tokens that a target, given by instance and model, reported for this request.
    pub fn record(&self, target: (&str, &str), body: &[u8], tokens: u64) {
        let Some((_, hashes)) = self.hashes(target, body) else { return };
        let Some((hash, _)) = hashes.last() else { return };
        let mut entries = self.entries.lock();
        if entries.young.len() >= GENERATION {
            entries.old = std::mem::take(&mut entries.young);
        }
        entries.young.insert(*hash, tokens);
    }

    /// Finds the longest known prefix of this request.
    pub fn find<'a>(&self, target: (&str, &str), body: &'a [u8]) -> Option<Prefix<'a>> {
        let (turns, hashes) = self.hashes(target, body)?;
        let entries = self.entries.lock();
        hashes.into_iter().rev().find_map(|(hash, end)| {
            let tokens = *entries.young.get(&hash).or_else(|| entries.old.get(&hash))?;
            Some(Prefix { tokens, rest: turns.get(end..)? })
        })
    }

    /// The array of turns as raw JSON; the hash of everything up to each turn, and the offset in the array where that turn
    /// ends.
    fn hashes<'a>(&self, (instance, model): (&str, &str), body: &'a [u8]) -> Option<Hashes<'a>> {
        if body.len() > LONGEST {
            return None;
        }
        let Conversation { settings, list, turns } = Conversation::read(body)?;
        let mut hasher = self.hasher.build_hasher();
        write_part(&mut hasher, instance.as_bytes());
        write_part(&mut hasher, model.as_bytes());
        for (name, value) in settings {
            write_part(&mut hasher, name);
            write_part(&mut hasher, value);
        }
        let hashed = turns.into_iter().map(|turn| {
            write_part(&mut hasher, &list[turn.clone()]);
            (hasher.finish(), turn.end)
        });
        Some((list, hashed.collect()))
    }
}

/// Hashes one part. It is written in one piece, because a hasher distinguishes one write from two of the same bytes.
fn write_part(hasher: &mut impl Hasher, part: &[u8]) {
    hasher.write(&without_cache_marks(part));
    hasher.write_u8(0xff);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: (&str, &str) = ("anthropic", "claude");

    fn body(turns: &str, bound: u64) -> Vec<u8> {
        format!(r#"{{"system":"s","max_tokens":{bound},"messages":[{turns}],"tools":[1]}}"#).into_bytes()
    }

    #[test]
    fn a_continued_conversation_has_a_known_prefix() {
        let prefixes = ReportedPrefixes::default();
        let first =
            r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#;
        let unmarked = r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#;
        let rest = r#",{"role":"assistant","content":"b"}, {"role":"user","content":"c"}"#;
        prefixes.record(TARGET, &body(first, 32_000), 1234);
        let same = prefixes.find(TARGET, &body(first, 6_000)).map(|found| (found.tokens, found.rest.len()));
        assert_eq!(same, Some((1234, 1)), "only the end of the array follows");
        let longer = body(&format!("{unmarked}{rest}"), 32_000);
        let found = prefixes.find(TARGET, &longer).unwrap();
        assert_eq!((found.tokens, std::str::from_utf8(found.rest).unwrap()), (1234, &*format!("{rest}]")));
        prefixes.record(TARGET, &longer, 1300);
        assert_eq!(prefixes.find(TARGET, &longer).unwrap().tokens, 1300, "the longest that is known");
    }

    #[test]
    fn another_prompt_is_not_known() {
        let prefixes = ReportedPrefixes::default();
        let turn = r#"{"role":"user","content":"a"}"#;
        prefixes.record(TARGET, &body(turn, 9), 1234);
        assert_eq!(prefixes.find(("other", "claude"), &body(turn, 9)), None);
        assert_eq!(prefixes.find(TARGET, &body(r#"{"role":"user","content":"b"}"#, 9)), None);
        let tools = String::from_utf8(body(turn, 9)).unwrap().replace("[1]", "[1,2]");
        assert_eq!(prefixes.find(TARGET, tools.as_bytes()), None);
        assert_eq!(prefixes.find(TARGET, b"{}"), None);
        assert_eq!(prefixes.find(TARGET, b"not json"), None);
    }

    #[test]
    fn memory_is_bounded() {
        let prefixes = ReportedPrefixes::default();
        for number in 0..3 * GENERATION {
            prefixes.record(TARGET, &body(&number.to_string(), 9), 1);
        }
        let entries = prefixes.entries.lock();
        assert!(entries.young.len() + entries.old.len() <= 2 * GENERATION);
    }
}
