//! Open blocks and the canonical blocks they are mapped to.

use serde_json::{Map, Value};

pub(super) struct Slot {
    /// The provider's block index.
    pub(super) index: u32,
    pub(super) state: State,
}

pub(super) enum State {
    Text(u32),
    Thinking(u32),
    /// `began`: arguments have arrived; `whole`: the input given at the block's start, used if none arrive.
    Call {
        block: u32,
        began: bool,
        whole: String,
    },
    /// A call of the tool that emulates a schema: its arguments are text.
    StandIn {
        block: u32,
        began: bool,
        whole: String,
    },
    /// A block that only this format has: collected, and emitted when complete.
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

    /// Applies a delta: strings are appended, other values replaced.
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
