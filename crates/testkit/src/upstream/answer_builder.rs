//! Builds the answer to a request from a fault script, in the request's format.

mod content;
mod errors;
mod fault;
mod framing;
mod leak;
mod resumable;

use super::answer::{Answer, Step};
use super::dialect::ResponseRenderer;
use super::fault_script::{Malformed, ParsedScript, ScriptedContent, ScriptedResponse};
use super::parsed_request::ParsedRequest;
use super::reply::Reply;
use super::upstream_request::UpstreamRequest;

pub use resumable::{RESUMABLE_TEXT, TEXT_BEFORE_CALLS};

/// One request and the format of its answer.
pub(super) struct AnswerBuilder<'a> {
    pub context: &'a UpstreamRequest<'a>,
    pub request: &'a ParsedRequest,
    pub renderer: &'a dyn ResponseRenderer,
}

impl AnswerBuilder<'_> {
    pub fn answer(&self, script: &ParsedScript) -> Answer {
        let mut answer = self.respond(&script.response);
        if !script.delay.is_zero() {
            answer.before.insert(0, Step::Wait(script.delay));
        }
        answer
    }

    fn respond(&self, response: &ScriptedResponse) -> Answer {
        match response {
            ScriptedResponse::Reply { content: ScriptedContent::Resumable(variant), fault } => {
                self.fixed_reply(*variant, *fault)
            }
            ScriptedResponse::Reply { content: ScriptedContent::Requested(attempt), .. } => {
                self.requested_reply(*attempt)
            }
            ScriptedResponse::Reply { content, fault } => {
                let reply = self.reply(*content);
                match fault {
                    None => self.render(&reply),
                    Some(fault) => self.broken(&reply, *fault, 0),
                }
            }
            ScriptedResponse::Framed(framing) => self.framed(*framing),
            ScriptedResponse::Error { status, hint } => self.error(*status, *hint),
            ScriptedResponse::InsufficientQuota => self.insufficient_quota(),
            ScriptedResponse::Malformed(malformed) => self.malformed(*malformed),
            ScriptedResponse::Leak(leak) => self.leak(*leak),
        }
    }

    fn render(&self, reply: &Reply) -> Answer {
        let answer = if self.request.streams {
            Answer::stream(self.renderer.events(reply))
        } else {
            let body = self.renderer.document(reply).to_string();
            let length = Some(body.len() as u64);
            let step = Step::send_billed(body, reply.completion_tokens(), reply.reasoning_tokens());
            Answer { length, steps: vec![step], ..Answer::default() }
        };
        Answer { billed: Some(reply.billed()), ..answer }
    }

    fn malformed(&self, malformed: Malformed) -> Answer {
        let streams = self.request.streams;
        match malformed {
            Malformed::Html => Answer {
                content_type: "text/html".into(),
                ..Answer::whole("<html><h1>Bad gateway</h1></html>")
            },
            Malformed::Json if streams => Answer::stream(vec![Step::send(self.renderer.broken_event())]),
            Malformed::Json => Answer::whole("{\"id\": \"chatcmpl-1\", \"choices\": [{"),
            Malformed::Sse if streams => Answer::stream(vec![Step::send("no event\nnor this one\n\n")]),
            Malformed::Sse => Answer::whole("no document"),
            Malformed::EmptyBody if streams => Answer::stream(Vec::new()),
            Malformed::EmptyBody => Answer::whole(""),
        }
    }
}
