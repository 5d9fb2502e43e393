//! Decodes a Gemini stream. Events contain complete parts: consecutive text or thoughts extend one block, a call
//! arrives whole.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Block, Delta, Event, Opaque, Origin, StopReason};
use domain::fault::{self, Fault};
use serde_json::Value;
use serde_json::value::RawValue;

use super::stop::{self, Ending};
use super::wire_types::{Candidate, Chunk, FunctionCall, Part};
use super::{error, names, usage};
use crate::codec::{Decoder, Decoding};
use crate::json;
use crate::sse;

pub struct StreamDecoder {
    pub(super) decoding: Decoding,
    started: bool,
    /// The open block, and whether it holds thoughts.
    open: Option<(u32, bool)>,
    next: u32,
    /// Whether content was emitted.
    has_content: bool,
    has_tool_call: bool,
    usage: Bytes,
    ending: Option<StopReason>,
    finished: bool,
}

impl Decoder for StreamDecoder {
    fn decode_event(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault> {
        let data = event.data();
        match data.trim_ascii() {
            b"" | b"[DONE]" => Ok(()),
            data => self.take(data, out),
        }
    }

    /// Ends the answer with the body, because there is no terminal event; a finish reason must have been seen.
    fn close(&mut self, out: &mut Vec<Event>) -> Result<(), Fault> {
        if self.ending.is_none() {
            return Err(fault::upstream_interrupted(&self.decoding.provider));
        }
        self.finish(out);
        out.push(Event::End);
        Ok(())
    }
}

impl StreamDecoder {
    pub fn new(decoding: Decoding) -> Self {
        Self {
            decoding,
            started: false,
            open: None,
            next: 0,
            has_content: false,
            has_tool_call: false,
            usage: Bytes::new(),
            ending: None,
            finished: false,
        }
    }

    pub(super) fn take(&mut self, data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|error| self.unreadable(&error))?;
        if chunk.error.is_some() {
            return Err(error::read_stream_error(data, &self.decoding.provider));
        }
        if !self.started {
            self.started = true;
            let owned =
                |text: &Option<super::wire_types::Text<'_>>| text.as_ref().map(|text| text.0.to_string());
            out.push(Event::Begin { id: owned(&chunk.response_id), model: owned(&chunk.model_version) });
        }
        if self.finished {
            return Ok(());
        }
        for candidate in chunk.candidates.into_iter().flatten() {
            if candidate.index.unwrap_or(0) == 0 {
                self.candidate(candidate, out)?;
            }
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.ending.get_or_insert(StopReason::ContentFilter);
        }
        if self.ending.is_some() {
            self.close_block(out);
        }
        if let Some(raw) = chunk.usage_metadata {
            self.count(raw, out);
            // Usage and finish reason arrive together; otherwise the finish reason is delayed until the usage arrives.
            if self.ending.is_some() {
                self.finish(out);
            }
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: Candidate<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        for raw in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(raw, out)?;
        }
        let Some(reason) = candidate.finish_reason else { return Ok(()) };
        let ending = match stop::read(&reason.0) {
            Ending::Stop(StopReason::EndTurn) if self.has_tool_call => StopReason::ToolCalls,
            Ending::Stop(reason) => reason,
            // Without emitted content the attempt can be retried; otherwise the answer ends with what was sent.
            Ending::Malformed if !self.has_content => {
                let reason = format!("it ended with {}", reason.0);
                return Err(fault::upstream_invalid_response(&self.decoding.provider, &reason));
            }
            Ending::Malformed if self.has_tool_call => StopReason::ToolCalls,
            Ending::Malformed => StopReason::EndTurn,
        };
        self.ending = Some(ending);
        Ok(())
    }

    fn part(&mut self, raw: &RawValue, out: &mut Vec<Event>) -> Result<(), Fault> {
        let part: Part<'_> = serde_json::from_str(raw.get()).map_err(|error| self.unreadable(&error))?;
        let signature = part.thought_signature.map(|signature| signature.0.into_owned());
        if let Some(call) = part.function_call {
            self.call(call, signature, out);
            return Ok(());
        }
        let Some(text) = part.text else {
            if signature.is_some() && raw_is_state(raw) {
                self.state(signature, out);
                return Ok(());
            }
            return self.foreign(raw, out);
        };
        if !text.0.is_empty() {
            let index = self.open_block(part.thought.unwrap_or(false), out);
            self.has_content = true;
            out.push(Event::Delta { index, delta: Delta::Text(text.0.into_owned()) });
        }
        self.state(signature, out);
        Ok(())
    }

    /// Emits a signature that belongs to no call: in the open thinking block, or in one of its own.
    fn state(&mut self, signature: Option<String>, out: &mut Vec<Event>) {
        let Some(signature) = signature else { return };
        let whole = !matches!(self.open, Some((_, true)));
        let index = self.open_block(true, out);
        let opaque = Opaque { whole, ..self.opaque(signature) };
        self.has_content = true;
        out.push(Event::Delta { index, delta: Delta::Opaque(opaque) });
        self.close_block(out);
    }

    fn call(&mut self, call: FunctionCall<'_>, signature: Option<String>, out: &mut Vec<Event>) {
        let arguments =
            call.args.map_or_else(|| "{}".to_owned(), |args| json::compact(args.get()).into_owned());
        self.has_content = true;
        if self.decoding.schema_tool.as_deref() == Some(&*call.name.0) {
            // Text before the schema tool's call is not part of the JSON answer.
            self.close_block(out);
            let index = self.open_block(false, out);
            out.push(Event::Delta { index, delta: Delta::Text(arguments) });
            return self.state(signature, out);
        }
        self.has_tool_call = true;
        self.close_block(out);
        let id = call.id.map(|id| id.0.into_owned()).filter(|id| !id.is_empty());
        let block = Block::ToolCall {
            id: id.unwrap_or_else(|| self.decoding.ids.item("call_")),
            name: names::restored(&call.name.0).into_owned(),
            custom: false,
            opaque: signature.map(|signature| self.opaque(signature)),
        };
        let index = self.next_index();
        out.push(Event::Open { index, block });
        out.push(Event::Delta { index, delta: Delta::Arguments(arguments) });
        out.push(Event::Close { index });
    }

    fn foreign(&mut self, raw: &RawValue, out: &mut Vec<Event>) -> Result<(), Fault> {
        let value: Value = serde_json::from_str(raw.get()).map_err(|error| self.unreadable(&error))?;
        if value.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        self.has_content = true;
        self.close_block(out);
        let index = self.next_index();
        out.push(Event::Open { index, block: Block::Foreign { format: Format::Gemini, value } });
        out.push(Event::Close { index });
        Ok(())
    }

    fn opaque(&self, data: String) -> Opaque {
        let origin = Origin { format: Format::Gemini, model: self.decoding.model.to_string() };
        Opaque { origin, data, whole: false, text: None }
    }

    fn count(&mut self, raw: &RawValue, out: &mut Vec<Event>) {
        let raw = raw.get().as_bytes();
        if self.usage == raw {
            return;
        }
        if let Some(usage) = usage::read_usage(raw) {
            self.usage = Bytes::copy_from_slice(raw);
            out.push(Event::Usage { usage: Box::new(usage), raw: self.usage.clone() });
        }
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        if let Some(reason) = self.ending.clone().filter(|_| !self.finished) {
            self.finished = true;
            out.push(Event::Finish { reason });
        }
    }

    fn open_block(&mut self, thoughts: bool, out: &mut Vec<Event>) -> u32 {
        match self.open {
            Some((index, kind)) if kind == thoughts => index,
            _ => {
                self.close_block(out);
                let index = self.next_index();
                self.open = Some((index, thoughts));
                let block = if thoughts { Block::Thinking } else { Block::Text };
                out.push(Event::Open { index, block });
                index
            }
        }
    }

    fn close_block(&mut self, out: &mut Vec<Event>) {
        if let Some((index, _)) = self.open.take() {
            out.push(Event::Close { index });
        }
    }

    fn next_index(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn unreadable(&self, error: &serde_json::Error) -> Fault {
        let reason = if error.is_data() { "its shape is not Gemini's" } else { "it is not JSON" };
        fault::upstream_invalid_response(&self.decoding.provider, reason)
    }
}

/// Whether a part has a signature and no content.
fn raw_is_state(raw: &RawValue) -> bool {
    let members: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(raw.get());
    members.is_ok_and(|members| {
        members
            .iter()
            .all(|(key, value)| matches!(key.as_str(), "thought" | "thoughtSignature") || value.is_null())
    })
}
