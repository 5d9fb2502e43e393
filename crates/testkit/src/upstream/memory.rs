//! Issued values that the upstream must recognise later: seals on reasoning, and stored responses.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use serde_json::Value;

const KEPT_RESPONSES: usize = 10_000;

#[derive(Default)]
pub(super) struct Memory {
    /// Text by signature, encrypted content or thought signature.
    seals: Mutex<HashMap<String, String>>,
    responses: Mutex<Responses>,
}

#[derive(Default)]
struct Responses {
    order: VecDeque<String>,
    by_id: HashMap<String, Stored>,
}

/// A stored response.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub document: Value,
    /// The input as received, with ids.
    pub input: Vec<Value>,
    /// The whole conversation including this response's output, for the next response.
    pub conversation: Vec<Value>,
    /// Number of reads of a background response: first in progress, then completed.
    pub reads: u32,
}

impl Memory {
    pub fn seal(&self, seal: &str, text: &str) {
        self.seals.lock().insert(seal.to_owned(), text.to_owned());
    }

    pub fn matches_seal(&self, seal: &str, text: &str) -> bool {
        self.seals.lock().get(seal).is_some_and(|known| known == text)
    }

    pub fn issued(&self, seal: &str) -> bool {
        self.seals.lock().contains_key(seal)
    }

    pub fn store(&self, id: &str, stored: Stored) {
        let mut responses = self.responses.lock();
        if responses.order.len() == KEPT_RESPONSES
            && let Some(oldest) = responses.order.pop_front()
        {
            responses.by_id.remove(&oldest);
        }
        if responses.by_id.insert(id.to_owned(), stored).is_none() {
            responses.order.push_back(id.to_owned());
        }
    }

    pub fn stored(&self, id: &str) -> Option<Stored> {
        self.responses.lock().by_id.get(id).cloned()
    }

    pub fn forget(&self, id: &str) -> bool {
        let mut responses = self.responses.lock();
        responses.order.retain(|known| known != id);
        responses.by_id.remove(id).is_some()
    }

    /// An item of a stored response's conversation.
    pub fn item(&self, id: &str) -> Option<Value> {
        let responses = self.responses.lock();
        let mut items = responses.by_id.values().flat_map(|stored| &stored.conversation);
        items.find(|item| item["id"] == id).cloned()
    }
}
