//! Session affinity: the target that answered a conversation last, because its prompt cache holds the start of the next
//! prompt. In memory, by a hash of the conversation, and bounded.

use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use domain::call::Target;
use foldhash::HashMap;
use parking_lot::Mutex;

/// The lifetime of an entry after its last use, which is that of a prompt in most prompt caches.
const LIFETIME: Duration = Duration::from_secs(300);
/// Entries per generation; two generations are kept.
const GENERATION: usize = 5_000;

/// Identifies a conversation of one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationKey(u64);

#[derive(Default)]
pub struct PromptAffinity {
    entries: Mutex<Generations>,
    hasher: foldhash::quality::RandomState,
}

#[derive(Default)]
struct Generations {
    young: HashMap<u64, Entry>,
    old: HashMap<u64, Entry>,
}

struct Entry {
    target: Target,
    used_at: Duration,
}

impl PromptAffinity {
    /// The key of the conversation that these parts identify.
    pub fn key<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> ConversationKey {
        let mut hasher = self.hasher.build_hasher();
        for part in parts {
            hasher.write(part);
            hasher.write_usize(part.len());
        }
        ConversationKey(hasher.finish())
    }

    /// The target that answered the conversation last, unless that is too long ago. Changes nothing, so that explanations
    /// can call it.
    pub fn find(&self, key: ConversationKey, now: Duration) -> Option<Target> {
        let entries = self.entries.lock();
        let entry = entries.young.get(&key.0).or_else(|| entries.old.get(&key.0))?;
        (now.saturating_sub(entry.used_at) < LIFETIME).then(|| entry.target.clone())
    }

    /// Records that a target has answered the conversation.
    pub fn record(&self, key: ConversationKey, target: &Target, now: Duration) {
        let entry = Entry { target: target.clone(), used_at: now };
        let mut entries = self.entries.lock();
        if entries.young.len() >= GENERATION && !entries.young.contains_key(&key.0) {
            entries.old = std::mem::take(&mut entries.young);
        }
        entries.young.insert(key.0, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(instance: &str) -> Target {
        Target { instance: instance.into(), provider_type: "openai".into(), model: "gpt-5".into() }
    }

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_last_target_is_known_for_five_minutes() {
        let affinity = PromptAffinity::default();
        let key = affinity.key([&b"owner"[..], b"conversation"]);
        assert_eq!(affinity.find(key, at(0)), None);
        affinity.record(key, &target("east"), at(100));
        affinity.record(key, &target("west"), at(200));
        assert_eq!(affinity.find(key, at(499)), Some(target("west")));
        assert_eq!(affinity.find(key, at(500)), None);
        assert_eq!(affinity.find(affinity.key([&b"owner"[..], b"another"]), at(200)), None);
    }

    #[test]
    fn parts_are_kept_apart() {
        let affinity = PromptAffinity::default();
        assert_eq!(affinity.key([&b"a"[..], b"b"]), affinity.key([&b"a"[..], b"b"]));
        assert_ne!(affinity.key([&b"ab"[..], b""]), affinity.key([&b"a"[..], b"b"]));
    }

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let affinity = PromptAffinity::default();
        let used = affinity.key([&b"used"[..]]);
        for number in 0..3 * GENERATION as u64 {
            affinity.record(affinity.key([&number.to_le_bytes()[..]]), &target("east"), at(1));
            if number % 1_000 == 0 {
                affinity.record(used, &target("west"), at(1));
            }
        }
        assert_eq!(affinity.find(used, at(2)), Some(target("west")));
        let entries = affinity.entries.lock();
        assert!(entries.young.len() + entries.old.len() <= 2 * GENERATION);
    }
}
