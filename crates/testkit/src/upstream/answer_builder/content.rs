//! The reply with each content of the fault script language.

use serde_json::Value;

use super::super::agent;
use super::super::dialect::Dialect;
use super::super::fault_script::ScriptedContent;
use super::super::parsed_request::{Attachment, Choice};
use super::super::reply::{Reply, Stop, ToolCall, UsageStyle, numbered_words, pieces, words};
use super::super::sample::sample;
use super::AnswerBuilder;

impl AnswerBuilder<'_> {
    pub(super) fn reply(&self, content: ScriptedContent) -> Reply {
        let request = self.request;
        let mut reply = Reply::new(request);
        let chat = self.renderer.dialect() == Dialect::Chat;
        if content == ScriptedContent::Reasoning && chat || request.reasons && content.reasons_on_request() {
            reply.reasoning = words("Let me think about that first. ");
        }
        match content {
            ScriptedContent::Text | ScriptedContent::Strict | ScriptedContent::Reasoning => {}
            ScriptedContent::Resumable(_) | ScriptedContent::Requested(_) => {}
            ScriptedContent::Long(count) => reply.content = numbered_words(count),
            ScriptedContent::Tools(count) => self.call_tools(&mut reply, count),
            ScriptedContent::Agent => agent::act(request, &mut reply),
            ScriptedContent::Redacted => reply.redacted = true,
            ScriptedContent::Cached => self.cache(&mut reply),
            ScriptedContent::Echo => reply.content = pieces(&String::from_utf8_lossy(&request.raw), 64),
            ScriptedContent::Empty => reply.content.clear(),
            ScriptedContent::Images => reply.content = words(&described(&request.images)),
            ScriptedContent::Schema => self.satisfy_schema(&mut reply),
            ScriptedContent::StopSequence => self.stop_at_sequence(&mut reply),
            ScriptedContent::MaxTokens => {
                reply.content = numbered_words(request.limit.unwrap_or(16).min(16) as usize);
                reply.stop = Stop::Length;
            }
            ScriptedContent::Refusal => {
                reply.content = words("I cannot help with that.");
                reply.stop = Stop::Refusal;
            }
            ScriptedContent::ContentFilter => {
                reply.content.truncate(2);
                reply.stop = Stop::Filter;
            }
            ScriptedContent::NoUsage => reply.usage = UsageStyle::Absent,
            ScriptedContent::WeirdUsage => reply.usage = UsageStyle::Weird,
            ScriptedContent::UsageEveryChunk => reply.usage = UsageStyle::EveryChunk,
            ScriptedContent::AzureFirst => reply.azure_first = true,
        }
        if self.renderer.dialect().is_silent() {
            (reply.content, reply.calls, reply.reasoning) = Default::default();
        }
        reply
    }

    fn call_tools(&self, reply: &mut Reply, count: usize) {
        if let Some(results) = &self.request.results {
            reply.content = words(&format!("The tools said: {results}"));
            return;
        }
        if self.request.choice == Choice::None {
            return;
        }
        let tool = self.request.forced().or(self.request.tools.first());
        let name = tool.map_or("get_weather", |tool| &tool.name);
        let arguments = [vec!["{\"city\"", ": \"Par", "is\"}"], vec!["{\"city\": ", "\"Zürich\"}"]];
        reply.content.clear();
        reply.calls = arguments
            .into_iter()
            .take(count)
            .map(|arguments| ToolCall {
                name: name.into(),
                arguments: arguments.into_iter().map(str::to_owned).collect(),
                custom: tool.is_some_and(|tool| tool.custom),
            })
            .collect();
    }

    fn cache(&self, reply: &mut Reply) {
        reply.cached_tokens = reply.prompt_tokens.div_ceil(2);
        if self.renderer.dialect() == Dialect::Messages {
            reply.cache_writes = (2, 1);
        }
    }

    /// Answers with a sample of the schema. A forced tool takes precedence, because it emulates a schema in formats
    /// without a field for one.
    fn satisfy_schema(&self, reply: &mut Reply) {
        if let Some(tool) = self.request.forced() {
            let arguments = pieces(&sample(&tool.schema).to_string(), 8);
            reply.content.clear();
            reply.calls = vec![ToolCall { name: tool.name.clone(), arguments, custom: false }];
        } else {
            let value =
                self.request.schema.as_ref().map_or_else(|| Value::Object(Default::default()), sample);
            reply.content = pieces(&value.to_string(), 8);
        }
    }

    fn stop_at_sequence(&self, reply: &mut Reply) {
        if let Some(sequence) = self.request.stop.first() {
            reply.content = words("Hello from the upstream, up to here: ");
            reply.stop = Stop::Sequence(sequence.clone());
        }
    }
}

fn described(images: &[Attachment]) -> String {
    let each = images.iter().map(|seen| match seen.bytes {
        Some(bytes) => format!("{} {bytes} bytes", seen.media_type),
        None => seen.media_type.clone(),
    });
    let each: Vec<String> = each.collect();
    format!("I see {} images: {}", images.len(), each.join(", "))
}
