//! Cache of reasoning state that providers require back and chat clients do not return, by tool call id.

use std::collections::{HashMap, VecDeque};

use domain::call::Format;
use domain::canon::{Content, Opaque, Part, Prompt, Reply, Role, Thinking};
use parking_lot::Mutex;
use store::Owner;

/// Limits of the cache; the oldest entry is evicted first.
const MOST_CALLS: usize = 20_000;
const MOST_BYTES: usize = 32 << 20;

#[derive(Default)]
pub struct ReasoningStateCache(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    by_call: HashMap<Key, CacheEntry>,
    order: VecDeque<Key>,
    bytes: usize,
}

/// Owner scope and tool call id: callers cannot see each other's state.
type Key = (String, String);

#[derive(Clone)]
struct CacheEntry {
    /// The reasoning before the calls of that turn; stored with the first call only.
    thinking: Vec<Thinking>,
    /// The opaque state of the call itself.
    opaque: Option<Opaque>,
}

impl ReasoningStateCache {
    /// Stores the state that is needed when the results of the reply's tool calls are sent back.
    pub fn remember(&self, owner: &Owner, reply: &Reply) {
        let mut thinking: Vec<Thinking> = Vec::new();
        for part in &reply.parts {
            match &part.content {
                Content::Thinking(thought) if thought.opaque.is_some() => thinking.push(thought.clone()),
                Content::ToolCall(call) if !thinking.is_empty() || call.opaque.is_some() => {
                    let kept =
                        CacheEntry { thinking: std::mem::take(&mut thinking), opaque: call.opaque.clone() };
                    self.0.lock().keep((scope(owner), call.id.clone()), kept);
                }
                _ => {}
            }
        }
    }

    /// Restores state that the client could not return. State that the client did return is left unchanged.
    pub fn restore(&self, mut prompt: Prompt, owner: &Owner) -> Prompt {
        if prompt.format != Format::Chat {
            return prompt;
        }
        for turn in prompt.turns.iter_mut().filter(|turn| turn.role == Role::Assistant) {
            let carried = turn
                .parts
                .iter()
                .any(|part| matches!(&part.content, Content::Thinking(thought) if thought.opaque.is_some()));
            let mut thinking: Vec<Part> = Vec::new();
            for part in &mut turn.parts {
                let Content::ToolCall(call) = &mut part.content else { continue };
                let Some(kept) = self.find(owner, &call.id) else { continue };
                if call.opaque.is_none() {
                    call.opaque = kept.opaque;
                }
                thinking
                    .extend(kept.thinking.into_iter().map(|thought| Part::new(Content::Thinking(thought))));
            }
            if !carried && !thinking.is_empty() {
                // A readable copy of the reasoning that the client kept would be a duplicate.
                turn.parts.retain(|part| !matches!(part.content, Content::Thinking(_)));
                turn.parts.splice(0..0, thinking);
            }
        }
        prompt
    }

    fn find(&self, owner: &Owner, call_id: &str) -> Option<CacheEntry> {
        self.0.lock().by_call.get(&(scope(owner), call_id.to_owned())).cloned()
    }
}

impl Memory {
    fn keep(&mut self, key: Key, kept: CacheEntry) {
        self.bytes += size(&kept);
        if let Some(old) = self.by_call.insert(key.clone(), kept) {
            self.bytes -= size(&old);
        } else {
            self.order.push_back(key);
        }
        while self.order.len() > MOST_CALLS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(old) = self.by_call.remove(&oldest) {
                self.bytes -= size(&old);
            }
        }
    }
}

fn size(kept: &CacheEntry) -> usize {
    let opaque = |opaque: &Option<Opaque>| opaque.as_ref().map_or(0, |opaque| opaque.data.len());
    let thinking: usize =
        kept.thinking.iter().map(|thought| thought.text.len() + opaque(&thought.opaque)).sum();
    64 + thinking + opaque(&kept.opaque)
}

fn scope(owner: &Owner) -> String {
    format!("{}\n{}\n{}", owner.tenant.as_deref().unwrap_or_default(), owner.key, owner.user_path)
}

#[cfg(test)]
mod tests {
    use domain::canon::{Origin, ToolCall};

    use super::*;

    fn reply(id: &str, data: &str) -> Reply {
        let opaque = |data: &str| {
            Some(Opaque {
                origin: Origin { format: Format::Messages, model: "m".into() },
                data: data.to_owned(),
                whole: false,
                text: None,
            })
        };
        let call = ToolCall {
            id: id.into(),
            name: "look".into(),
            arguments: "{}".into(),
            custom: false,
            opaque: opaque("call"),
        };
        Reply {
            parts: vec![
                Content::Thinking(Thinking { text: "hm".into(), opaque: opaque(data) }).into(),
                Content::ToolCall(call).into(),
            ],
            ..Reply::default()
        }
    }

    fn owner(key: &str) -> Owner {
        Owner { key: key.into(), user_path: "/".into(), tenant: None }
    }

    #[test]
    fn state_is_found_by_its_owner_only() {
        let recall = ReasoningStateCache::default();
        recall.remember(&owner("a"), &reply("c1", "sig"));
        let kept = recall.find(&owner("a"), "c1").unwrap();
        assert_eq!((kept.thinking[0].text.as_str(), kept.opaque.unwrap().data.as_str()), ("hm", "call"));
        assert!(recall.find(&owner("b"), "c1").is_none());
        assert!(recall.find(&owner("a"), "c2").is_none());
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let recall = ReasoningStateCache::default();
        let large = "x".repeat(1 << 20);
        for number in 0..40 {
            recall.remember(&owner("a"), &reply(&format!("c{number}"), &large));
        }
        assert!(recall.find(&owner("a"), "c0").is_none());
        assert!(recall.find(&owner("a"), "c39").is_some());
        assert!(recall.0.lock().bytes <= MOST_BYTES);
    }
}
