//! Decodes a provider's stream of chunks; events are emitted as soon as a chunk is read.

mod blocks;
mod calls;

use bytes::Bytes;
use domain::canon::{Event, StopReason};
use domain::fault::{self, Fault};
use serde_json::value::RawValue;

use super::details::Detail;
use super::stop::{self, Held};
use super::wire_types::{Call, Choice, Chunk, ContentValue, DetailMembers, Message, Piece, Text};
use crate::codec::{Decoder, Decoding, IdGenerator};
use crate::sse;
use blocks::{BlockKind, Blocks};
use calls::Calls;

pub struct StreamDecoder {
    decoding: Decoding,
    begun: bool,
    finished: bool,
    ended: bool,
    refused: bool,
    blocks: Blocks,
    calls: Calls,
}

impl Decoder for StreamDecoder {
    fn decode_event(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault> {
        let data = event.data();
        let data = data.trim_ascii();
        if data.is_empty() || self.ended {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.end(out);
            return Ok(());
        }
        match serde_json::from_slice::<Chunk<'_>>(data) {
            Ok(chunk) if !chunk.is_error() => self.take(chunk, out),
            _ => Err(self.unreadable(data)),
        }
    }

    /// Accepts a stream without `[DONE]`: some servers end with their last chunk.
    fn close(&mut self, out: &mut Vec<Event>) -> Result<(), Fault> {
        if !self.ended && !self.finished {
            return Err(fault::upstream_interrupted(&self.decoding.provider));
        }
        self.end(out);
        Ok(())
    }
}

impl StreamDecoder {
    pub fn new(decoding: Decoding) -> Self {
        let calls = Calls::new(decoding.schema_tool.clone());
        Self {
            decoding,
            begun: false,
            finished: false,
            ended: false,
            refused: false,
            blocks: Blocks::default(),
            calls,
        }
    }

    /// A decoder for a complete answer, where every call and every reasoning detail is separate.
    pub fn whole(decoding: Decoding) -> Self {
        let mut decoder = Self::new(decoding);
        decoder.calls.whole = true;
        decoder
    }

    pub fn into_ids(self) -> IdGenerator {
        self.decoding.ids
    }

    pub fn take(&mut self, chunk: Chunk<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        let usage = chunk.usage();
        // Azure's first chunk and the comments of some servers have no content, id or model.
        if usage.is_none() && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        self.begin(Text::filled(&chunk.id), Text::filled(&chunk.model), out);
        // Other formats can only carry the first of several choices.
        let choice = chunk.choices.into_iter().flatten().find(|choice| choice.index.unwrap_or_default() == 0);
        let mut reason = None;
        if let Some(choice) = choice {
            reason = self.choice(choice, out)?;
        }
        if let Some(usage) = usage {
            read_usage(usage, out);
        }
        match reason {
            Some(reason) if !self.finished => self.finish(reason, out),
            _ => {}
        }
        Ok(())
    }

    /// Ends the answer and emits the events that are still missing.
    pub fn end(&mut self, out: &mut Vec<Event>) {
        if self.ended {
            return;
        }
        self.begin(None, None, out);
        if !self.finished {
            let reason = if self.calls.made { StopReason::ToolCalls } else { StopReason::EndTurn };
            self.finish(reason, out);
        }
        self.ended = true;
        out.push(Event::End);
    }

    fn begin(&mut self, id: Option<&str>, model: Option<&str>, out: &mut Vec<Event>) {
        if !self.begun {
            self.begun = true;
            out.push(Event::Begin { id: id.map(str::to_owned), model: model.map(str::to_owned) });
        }
    }

    fn finish(&mut self, reason: StopReason, out: &mut Vec<Event>) {
        self.finished = true;
        self.blocks.close(out);
        out.push(Event::Finish { reason });
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<Event>) -> Result<Option<StopReason>, Fault> {
        let before = out.len();
        if let Some(message) = choice.delta.or(choice.message) {
            self.read_message(message, out)?;
        }
        if self.finished && out.len() > before {
            return Err(self.invalid("it went on after its end"));
        }
        let Some(word) = Text::filled(&choice.finish_reason) else { return Ok(None) };
        let held = Held { calls: self.calls.made, refusal: self.refused };
        let reason = stop::read(word, held, &self.decoding.provider)?;
        let met = choice.stop_reason.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        Ok(Some(match (reason, met) {
            (StopReason::EndTurn, Some(met)) => StopReason::StopSequence(Some(met)),
            (reason, _) => reason,
        }))
    }

    fn read_message(&mut self, message: Message<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        let details = message.reasoning_details.unwrap_or_default();
        let plain = Text::filled(&message.reasoning_content).or(Text::filled(&message.reasoning));
        let calls = message.tool_calls.unwrap_or_default();
        self.thoughts(plain, &details, &calls, out)?;
        match message.content {
            Some(ContentValue::Text(text)) => self.blocks.text(BlockKind::Text, &text, out),
            Some(ContentValue::Pieces(pieces)) => self.pieces(&pieces, out),
            None => {}
        }
        if let Some(refusal) = Text::filled(&message.refusal) {
            self.refused = true;
            self.blocks.text(BlockKind::Refusal, refusal, out);
        }
        for call in &calls {
            self.calls.take(call, &mut self.blocks, &mut self.decoding, out)?;
        }
        if let Some(function) = message.function_call {
            self.calls.take_function(function, &mut self.blocks, &mut self.decoding, out)?;
        }
        for detail in std::mem::take(&mut self.calls.states) {
            self.state_of_call(&detail, out);
        }
        Ok(())
    }

    /// Emits reasoning. Providers may send it both as text and as details; details with text take precedence because
    /// they are divided into parts.
    fn thoughts(
        &mut self,
        plain: Option<&str>,
        details: &[&RawValue],
        calls: &[Call<'_>],
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let parsed: Vec<DetailMembers<'_>> =
            details.iter().map(|raw| serde_json::from_str(raw.get()).unwrap_or_default()).collect();
        let has_text = |members: &DetailMembers<'_>| {
            Text::filled(&members.text).or(Text::filled(&members.summary)).is_some()
        };
        if let Some(plain) = plain.filter(|_| !parsed.iter().any(has_text)) {
            self.blocks.thought(plain, out);
        }
        for (members, raw) in parsed.iter().zip(details) {
            let text = Text::filled(&members.text).or(Text::filled(&members.summary));
            let state = Text::filled(&members.signature).or(Text::filled(&members.data));
            if let Some(text) = text {
                if self.calls.whole {
                    self.blocks.close_thought(out);
                }
                self.blocks.thought(text, out);
            }
            if state.is_none() {
                continue;
            }
            let entry = serde_json::from_str(raw.get()).map_err(|_| {
                fault::upstream_invalid_response(&self.decoding.provider, "a detail is no object")
            })?;
            let detail = Detail::read(entry);
            match detail.id.as_deref().is_some_and(|id| self.calls.contains(id, calls)) {
                true => self.calls.states.push(detail),
                false => self.blocks.state(&detail, &self.decoding.model, out),
            }
        }
        Ok(())
    }

    /// Attaches state that arrived after the start of its tool call.
    fn state_of_call(&mut self, detail: &Detail, out: &mut Vec<Event>) {
        let block = detail.id.as_deref().and_then(|id| self.calls.block_of(id));
        if let (Some(block), Some(opaque)) = (block, detail.opaque_of_call(&self.decoding.model)) {
            self.blocks.state_of(block, opaque, out);
        }
    }

    fn pieces(&mut self, pieces: &[Piece<'_>], out: &mut Vec<Event>) {
        for piece in pieces {
            match &piece.thinking {
                Some(ContentValue::Text(text)) => self.blocks.thought(text, out),
                Some(ContentValue::Pieces(thoughts)) => {
                    for text in thoughts.iter().filter_map(|thought| Text::filled(&thought.text)) {
                        self.blocks.thought(text, out);
                    }
                }
                None => {}
            }
            if let Some(text) = Text::filled(&piece.text) {
                self.blocks.text(BlockKind::Text, text, out);
            }
            if let Some(text) = Text::filled(&piece.refusal) {
                self.refused = true;
                self.blocks.text(BlockKind::Refusal, text, out);
            }
        }
    }

    fn invalid(&self, reason: &str) -> Fault {
        fault::upstream_invalid_response(&self.decoding.provider, reason)
    }

    fn unreadable(&self, data: &[u8]) -> Fault {
        match serde_json::from_slice::<Chunk<'_>>(data) {
            Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok() => {
                self.invalid("a chunk has an unknown shape")
            }
            _ => crate::provider_error::read_stream_error(data, &self.decoding.provider),
        }
    }
}

fn read_usage(raw: &RawValue, out: &mut Vec<Event>) {
    let raw = raw.get().as_bytes();
    if let Some(usage) = super::read_usage(raw) {
        out.push(Event::Usage { usage: Box::new(usage), raw: Bytes::copy_from_slice(raw) });
    }
}
