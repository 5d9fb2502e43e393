//! Legacy completions: a prompt, and the text that follows it.

use serde_json::{Value, json};

use super::super::asked::Asked;
use super::super::chat::{self, usage_of};
use super::super::desk::{Desk, Visit};
use super::super::dialect::{Dialect, Voice};
use super::super::openai::{invalid, range, texts};
use super::super::refusal::{Refusal, given};
use super::super::reply::{Reply, Stop, UsageStyle};
use super::super::script::Step;

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

struct CompletionsVoice {
    id: String,
    created: u64,
    include_usage: bool,
}

pub(in super::super) fn open<'a>(visit: &Visit<'a>, request: &Value) -> Result<Desk<'a>, Refusal> {
    let asked = super::admit(visit, request, &FIELDS)?;
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
    let asked = Asked {
        streams: request["stream"] == true,
        last_text: prompts.join(" "),
        texts: prompts,
        stop,
        limit: request["max_tokens"].as_u64(),
        ..asked
    };
    let include_usage = request["stream_options"]["include_usage"] == true;
    let voice = CompletionsVoice { id: visit.id.clone(), created: visit.created, include_usage };
    Ok(Desk { asked, voice: Box::new(voice) })
}

impl CompletionsVoice {
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

impl Voice for CompletionsVoice {
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
        let chunk = |choices: Value, told: Value| {
            let mut chunk = self.envelope(reply, choices);
            if tells {
                chunk["usage"] = told;
            }
            chat::event(&chunk)
        };
        let piece = |piece: &String| Step::costing(chunk(Self::choice(piece, None), Value::Null), 1, 0);
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
