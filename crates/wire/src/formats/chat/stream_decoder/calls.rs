//! Assembles tool calls from fragments, which providers identify by index, id or name.

use std::borrow::Cow;

use domain::canon::{Block, Delta, Event, Opaque};
use domain::fault::{self, Fault};

use super::blocks::Blocks;
use crate::codec::Decoding;
use crate::formats::chat::details::Detail;
use crate::formats::chat::wire_types::{Call, Function, Text};

pub struct Calls {
    /// Whether the answer is complete, so that every entry is a call of its own.
    pub whole: bool,
    /// Whether the model called one of the client's tools.
    pub made: bool,
    /// Reasoning details of this chunk that name the call they belong to.
    pub states: Vec<Detail>,
    schema_tool: Option<String>,
    known: Vec<Known>,
}

struct Known {
    index: Option<u64>,
    /// The provider's id; empty if it sent none.
    id: String,
    /// The call's block; `None` until its name is known.
    block: Option<u32>,
    /// Whether its arguments are the text of the answer.
    as_text: bool,
}

/// One fragment, normalised across functions, custom tools and legacy calls.
struct Fragment<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    custom: bool,
    more: Cow<'a, str>,
}

impl Calls {
    pub fn new(schema_tool: Option<String>) -> Self {
        Self { whole: false, made: false, states: Vec::new(), schema_tool, known: Vec::new() }
    }

    /// Whether a call from an earlier chunk or from this one has this id.
    pub fn contains(&self, id: &str, chunk: &[Call<'_>]) -> bool {
        self.block_of(id).is_some() || chunk.iter().any(|call| Text::filled(&call.id) == Some(id))
    }

    /// The block of the latest call with this id.
    pub fn block_of(&self, id: &str) -> Option<u32> {
        self.known.iter().rev().find(|call| call.id == id).and_then(|call| call.block)
    }

    pub fn take(
        &mut self,
        call: &Call<'_>,
        blocks: &mut Blocks,
        decoding: &mut Decoding,
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let id = Text::filled(&call.id).unwrap_or_default();
        let fragment = match (&call.custom, &call.function) {
            (Some(custom), _) => Fragment {
                index: call.index,
                id,
                name: Text::filled(&custom.name).unwrap_or_default(),
                custom: true,
                more: Cow::Borrowed(Text::filled(&custom.input).unwrap_or_default()),
            },
            (None, Some(function)) => Fragment {
                index: call.index,
                id,
                name: Text::filled(&function.name).unwrap_or_default(),
                custom: false,
                more: function.arguments().unwrap_or_default(),
            },
            (None, None) => {
                Fragment { index: call.index, id, name: "", custom: false, more: Cow::Borrowed("") }
            }
        };
        self.fragment(fragment, blocks, decoding, out)
    }

    pub fn take_function(
        &mut self,
        function: Function<'_>,
        blocks: &mut Blocks,
        decoding: &mut Decoding,
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        self.take(&Call { function: Some(function), ..Call::default() }, blocks, decoding, out)
    }

    fn fragment(
        &mut self,
        fragment: Fragment<'_>,
        blocks: &mut Blocks,
        decoding: &mut Decoding,
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let place = match self.find(&fragment) {
            Some(place) => place,
            None => {
                let (index, id) = (fragment.index, fragment.id.to_owned());
                self.known.push(Known { index, id, block: None, as_text: false });
                self.known.len() - 1
            }
        };
        if self.known[place].block.is_none() && !fragment.name.is_empty() {
            self.open(place, &fragment, blocks, decoding, out);
        }
        if fragment.more.is_empty() {
            return Ok(());
        }
        let call = &self.known[place];
        let Some(block) = call.block else {
            return Err(fault::upstream_invalid_response(&decoding.provider, "a tool call has no name"));
        };
        let more = fragment.more.into_owned();
        let delta = if call.as_text { Delta::Text(more) } else { Delta::Arguments(more) };
        match blocks.grow(block, delta, out) {
            true => Ok(()),
            false => {
                let reason = "a tool call went on after another part of the answer had begun";
                Err(fault::upstream_invalid_response(&decoding.provider, reason))
            }
        }
    }

    /// Position of the call that a fragment continues.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let (id, name) = (fragment.id, fragment.name);
        if self.whole {
            return None;
        }
        if fragment.index.is_some() {
            let place = self.known.iter().rposition(|call| call.index == fragment.index)?;
            // Some servers give every call the index 0: a name with a different id is a new call.
            let other = !id.is_empty() && !name.is_empty() && self.known[place].id != id;
            return (!other || self.known[place].block.is_none()).then_some(place);
        }
        if !id.is_empty()
            && let Some(place) = self.known.iter().rposition(|call| call.id == id)
        {
            return Some(place);
        }
        match name.is_empty() {
            true => self.known.len().checked_sub(1),
            false => self.known.iter().rposition(|call| call.block.is_none()),
        }
    }

    fn open(
        &mut self,
        place: usize,
        fragment: &Fragment<'_>,
        blocks: &mut Blocks,
        decoding: &mut Decoding,
        out: &mut Vec<Event>,
    ) {
        if self.known[place].id.is_empty() {
            fragment.id.clone_into(&mut self.known[place].id);
        }
        if self.schema_tool.as_deref() == Some(fragment.name) {
            self.known[place].as_text = true;
            self.known[place].block = Some(blocks.open_call(Block::Text, out));
            return;
        }
        self.made = true;
        let given = self.known[place].id.clone();
        let taken = self.known.iter().enumerate().any(|(other, call)| other != place && call.id == given);
        if given.is_empty() || taken {
            self.known[place].id = decoding.ids.item("call_");
        }
        let block = Block::ToolCall {
            id: self.known[place].id.clone(),
            name: fragment.name.to_owned(),
            custom: fragment.custom,
            opaque: self.take_state(place, &decoding.model),
        };
        self.known[place].block = Some(blocks.open_call(block, out));
    }

    fn take_state(&mut self, place: usize, model: &str) -> Option<Opaque> {
        let id = Some(self.known[place].id.as_str());
        let found = self.states.iter().position(|state| state.id.as_deref() == id)?;
        self.states.remove(found).opaque_of_call(model)
    }
}
