//! Legacy completions: a prompt, and the text that follows it.

use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::chat::{self, usage_of};
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::openai::{invalid, range, texts};
use super::super::parsed_request::ParsedRequest;
use super::super::rejection::{UpstreamRejection, given};
use super::super::reply::{Reply, Stop, UsageStyle};
use super::super::upstream_request::{AcceptedRequest, UpstreamRequest};

const FIELDS: [&str; 18] = [
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "model",
    "n",
    "presence_penalty",
    "prompt",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "top_p",
    "user",
];

struct CompletionsRenderer {
    id: String,
    created: u64,
    include_usage: bool,
}

pub(in super::super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    let parsed = super::admit(context, request, &FIELDS)?;
    range(request, "temperature", 0.0, 2.0)?;
    range(request, "top_p", 0.0, 1.0)?;
    let prompts = texts(&request["prompt"]);
    if given(request, "prompt").is_some_and(|prompt| !prompt.is_string() && !prompt.is_array()) {
        return Err(invalid("prompt", &request["prompt"]));
    }
    let stop = texts(&request["stop"]);
    if stop.len() > 4 {
        return Err(invalid("stop", &request["stop"]));
    }
    let parsed = ParsedRequest {
        streams: request["stream"] == true,
        last_text: prompts.join(" "),
        texts: prompts,
        stop,
        limit: request["max_tokens"].as_u64(),
        ..parsed
    };
    let include_usage = request["stream_options"]["include_usage"] == true;
    let renderer = CompletionsRenderer { id: context.id.clone(), created: context.created, include_usage };
    Ok(AcceptedRequest { parsed, renderer: Box::new(renderer) })
}

impl CompletionsRenderer {
    fn envelope(&self, reply: &Reply, choices: Value) -> Value {
        json!({
            "id": self.id, "object": "text_completion", "created": self.created, "model": reply.model,
            "system_fingerprint": "fp_scripted", "choices": choices,
        })
    }

    fn choice(text: &str, finish: Option<&str>) -> Value {
        json!([{"text": text, "index": 0, "logprobs": null, "finish_reason": finish}])
    }
}

fn finish(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::End | Stop::Sequence(_) | Stop::Refusal => "stop",
    }
}

fn usage(reply: &Reply) -> Value {
    usage_of(reply, reply.completion_tokens(), reply.reasoning_tokens())
}

impl ResponseRenderer for CompletionsRenderer {
    fn dialect(&self) -> Dialect {
        Dialect::Completions
    }

    fn document(&self, reply: &Reply) -> Value {
        let mut document = self.envelope(reply, Self::choice(&reply.text(), Some(finish(reply))));
        if reply.usage != UsageStyle::Absent {
            document["usage"] = usage(reply);
        }
        document
    }

    fn events(&self, reply: &Reply) -> Vec<Step> {
        let tells = self.include_usage && reply.usage != UsageStyle::Absent;
        let chunk = |choices: Value, reported: Value| {
            let mut chunk = self.envelope(reply, choices);
            if tells {
                chunk["usage"] = reported;
            }
            chat::event(&chunk)
        };
        let piece = |piece: &String| Step::send_billed(chunk(Self::choice(piece, None), Value::Null), 1, 0);
        let mut steps: Vec<Step> = reply.content.iter().map(piece).collect();
        steps.push(Step::send(chunk(Self::choice("", Some(finish(reply))), Value::Null)));
        if tells {
            steps.push(Step::send(chunk(json!([]), usage(reply))));
        }
        steps.push(Step::send("data: [DONE]\n\n"));
        steps
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        Step::send(chat::event(&Dialect::Completions.error(&Dialect::Completions.overloaded())))
    }
}
