//! The restoration of reversible placeholders in an answer, from the request's own values.

use std::collections::HashMap;
use std::sync::Arc;

use ::guardrails::placeholder::PlaceholderMap;
use ::guardrails::restore::{RestoreTarget, Restorer, restore};
use domain::canon::{Block, Content, Delta, Event, Reply};
use serde_json::Value;

use super::answer_block::ContentKind;

/// Replaces the placeholders of one call by the values that they stand for. Thinking keeps its placeholders, because
/// a signature covers it.
pub struct PlaceholderRestorer {
    map: Arc<PlaceholderMap>,
    /// The open blocks, by index.
    blocks: HashMap<u32, (ContentKind, Restorer)>,
    /// Whether texts are JSON.
    is_json: bool,
}

/// The form of the text in which placeholders are restored; `None` where they stay.
fn target(kind: ContentKind) -> Option<RestoreTarget> {
    match kind {
        ContentKind::Text | ContentKind::CustomInput => Some(RestoreTarget::Text),
        ContentKind::Arguments | ContentKind::JsonText => Some(RestoreTarget::Json),
        ContentKind::Thinking => None,
    }
}

impl PlaceholderRestorer {
    pub fn new(map: Arc<PlaceholderMap>, is_json: bool) -> Self {
        Self { map, blocks: HashMap::new(), is_json }
    }

    /// Restores a whole answer in place.
    pub fn restore_reply(&self, reply: &mut Reply) {
        for part in &mut reply.parts {
            if let Content::Foreign { value, .. } = &mut part.content {
                self.restore_value(value);
            }
            if let Some((kind, text)) = ContentKind::of_content(&mut part.content, self.is_json)
                && let Some(target) = target(kind)
            {
                self.restore_text(text, target);
            }
        }
    }

    fn restore_text(&self, text: &mut String, target: RestoreTarget) {
        let restored = restore(text, &self.map, target);
        if restored.restored > 0 {
            *text = restored.text;
        }
    }

    fn restore_value(&self, value: &mut Value) {
        let restored = restore(&value.to_string(), &self.map, RestoreTarget::Json);
        if let Some(restored) =
            (restored.restored > 0).then(|| serde_json::from_str(&restored.text).ok()).flatten()
        {
            *value = restored;
        }
    }

    /// Restores events in place; text that may be a part of a placeholder follows with later ones.
    pub fn push(&mut self, events: &mut Vec<Event>) {
        for event in std::mem::take(events) {
            self.push_event(event, events);
        }
    }

    fn push_event(&mut self, mut event: Event, out: &mut Vec<Event>) {
        match &mut event {
            Event::Open { index, block } => self.open(*index, block),
            Event::Delta { index, delta: Delta::Text(text) | Delta::Arguments(text) } => {
                if let Some((_, restorer)) = self.blocks.get_mut(index) {
                    let mut restored = String::with_capacity(text.len());
                    restorer.push(text, &mut restored);
                    if restored.is_empty() {
                        return;
                    }
                    *text = restored;
                }
            }
            Event::Close { index } => {
                if let Some((kind, mut restorer)) = self.blocks.remove(index) {
                    let mut rest = String::new();
                    restorer.finish(&mut rest);
                    if !rest.is_empty() {
                        out.push(Event::Delta { index: *index, delta: kind.delta(rest) });
                    }
                }
            }
            _ => {}
        }
        out.push(event);
    }

    fn open(&mut self, index: u32, block: &mut Block) {
        if let Block::Foreign { value, .. } = block {
            self.restore_value(value);
        }
        let Some(kind) = ContentKind::of_block(block, self.is_json) else { return };
        if let Some(target) = target(kind) {
            self.blocks.insert(index, (kind, Restorer::new(self.map.clone(), target)));
        }
    }
}
