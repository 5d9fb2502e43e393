//! Blocks under way: which canonical block each of the provider's became.

use serde_json::{Map, Value};

pub(super) struct Slot {
    /// The provider's index.
    pub(super) index: u32,
    pub(super) state: State,
}

pub(super) enum State {
    Text(u32),
    Thinking(u32),
    /// `began`: some arguments came; `whole`: what stood in the block's beginning, in case none come.
    Call {
        block: u32,
        began: bool,
        whole: String,
    },
    /// The call of the tool that stands in for a schema: its arguments are text.
    StandIn {
        block: u32,
        began: bool,
        whole: String,
    },
    /// Only this format knows it: gathered, and said when it is whole.
    Foreign(Gathered),
}

pub(super) struct Gathered {
    value: Map<String, Value>,
    input: String,
}

impl Gathered {
    pub(super) fn new(value: Map<String, Value>) -> Self {
        Self { value, input: String::new() }
    }

    /// Texts grow, anything else replaces what was there.
    pub(super) fn grow(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("partial_json", Value::String(more)) => self.input.push_str(&more),
                (_, Value::String(more)) => match self.value.get_mut(&name) {
                    Some(Value::String(text)) => text.push_str(&more),
                    _ => {
                        self.value.insert(name, Value::String(more));
                    }
                },
                (_, value) => {
                    self.value.insert(name, value);
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> Value {
        if let Ok(input) = serde_json::from_str(&self.input) {
            self.value.insert("input".into(), input);
        }
        Value::Object(self.value)
    }
}
