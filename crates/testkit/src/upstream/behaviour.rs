//! Maps behaviour names to answers, as listed in the table in `upstream.rs`.

mod tale;

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::asked::{Asked, Choice, Seen};
use super::dialect::{Dialect, Voice};
use super::reply::{Reply, Stop, ToolCall, UsageStyle, numbered_words, pieces, words};
use super::sample::sample;
use super::script::{Answer, Step};
use super::{agent, models, saga};
pub use tale::{LOOK, TALE};

/// Number of content pieces sent before a mid-stream fault.
const MIDDLE: usize = 3;
const PIECE: usize = 64 * 1024;

/// One request and the format of its answer.
pub(super) struct Play<'a> {
    pub asked: &'a Asked,
    pub voice: &'a dyn Voice,
}

impl Play<'_> {
    pub fn answer(&self, behaviour: &str) -> Answer {
        let reply = || self.reply(behaviour);
        match behaviour {
            "hang" => Answer { before: vec![Step::Hang], ..self.render(&reply()) },
            "hang-after-head" => Answer { steps: vec![Step::Hang], ..self.render(&reply()) },
            "hang-before-content" => self.speechless(&reply(), Step::Hang),
            "hang-mid-stream" => self.broken(&reply(), &[Step::Hang]),
            "reset-before-head" => Answer { before: vec![Step::Reset], ..Answer::default() },
            "cut-before-head" => Answer { before: vec![Step::Cut], ..Answer::default() },
            "reset-before-content" => self.speechless(&reply(), Step::Reset),
            "cut-before-content" => self.speechless(&reply(), Step::Cut),
            "eof-before-content" => Answer { length: None, ..self.speechless(&reply(), Step::End) },
            "reset-mid-stream" => self.broken(&reply(), &[Step::Reset]),
            "cut-mid-stream" => self.broken(&reply(), &[Step::Cut]),
            "eof-mid-stream" => Answer { length: None, ..self.broken(&reply(), &[Step::End]) },
            "unauthorized" => self.failure(401),
            "insufficient-quota" => self.out_of_quota(),
            "error-in-stream" if self.asked.streams => Answer::stream(self.voice.failing_start(&reply())),
            "error-in-stream" => Answer::whole(self.voice.failing_document(&reply()).to_string()),
            "error-after-content" if self.asked.streams => self.failing_later(&reply()),
            "error-after-content" => self.failure(500),
            "html" => Answer {
                content_type: "text/html".into(),
                ..Answer::whole("<html><h1>Bad gateway</h1></html>")
            },
            "bad-json" if self.asked.streams => Answer::stream(vec![Step::send(self.voice.broken_event())]),
            "bad-json" => Answer::whole("{\"id\": \"chatcmpl-1\", \"choices\": [{"),
            "bad-event-mid-stream" if self.asked.streams => {
                self.broken(&reply(), &[Step::send(self.voice.broken_event()), Step::End])
            }
            "truncated-json" | "bad-event-mid-stream" => self.truncated(&reply()),
            "bad-sse" if self.asked.streams => Answer::stream(vec![Step::send("no event\nnor this one\n\n")]),
            "bad-sse" => Answer::whole("no document"),
            "empty-body" if self.asked.streams => Answer::stream(Vec::new()),
            "empty-body" => Answer::whole(""),
            "huge-event" => self.huge(64 * 1024),
            _ if behaviour.starts_with("tale") => tale::answer(self, behaviour),
            _ => self
                .mangled(behaviour)
                .or_else(|| self.failing(behaviour))
                .unwrap_or_else(|| self.numbered(behaviour)),
        }
    }

    /// Behaviours whose names end in a number.
    fn numbered(&self, behaviour: &str) -> Answer {
        let number = |prefix: &str| behaviour.strip_prefix(prefix).and_then(|text| text.parse::<u64>().ok());
        if let Some(millis) = number("slow-") {
            let before = vec![Step::Wait(Duration::from_millis(millis))];
            Answer { before, ..self.render(&self.reply("text")) }
        } else if let Some((millis, other)) = late(behaviour) {
            let mut answer = self.answer(other);
            answer.before.insert(0, Step::Wait(Duration::from_millis(millis)));
            answer
        } else if let Some(millis) = number("drip-") {
            let mut answer = self.render(&self.reply("long-20"));
            let pause = Step::Wait(Duration::from_millis(millis));
            answer.steps = answer.steps.into_iter().flat_map(|step| [pause.clone(), step]).collect();
            answer
        } else if let Some(life) = saga::life(behaviour) {
            saga::answer(self, life)
        } else if let Some(kibibytes) = number("huge-event-") {
            self.huge(kibibytes)
        } else {
            self.render(&self.reply(behaviour))
        }
    }

    pub fn render(&self, reply: &Reply) -> Answer {
        let answer = if self.asked.streams {
            Answer::stream(self.voice.events(reply))
        } else {
            let body = self.voice.document(reply).to_string();
            let length = Some(body.len() as u64);
            let step = Step::costing(body, reply.completion_tokens(), reply.reasoning_tokens());
            Answer { length, steps: vec![step], ..Answer::default() }
        };
        Answer { billed: Some(reply.billed()), ..answer }
    }

    pub fn reply(&self, behaviour: &str) -> Reply {
        let asked = self.asked;
        let mut reply = Reply::new(asked);
        let length = behaviour.strip_prefix("long-").and_then(|text| text.parse::<usize>().ok());
        let chat = self.voice.dialect() == Dialect::Chat;
        if behaviour == "reasoning" && chat || asked.reasons && models::REASONING.contains(&behaviour) {
            reply.reasoning = words("Let me think about that first. ");
        }
        match behaviour {
            "long" => reply.content = numbered_words(100),
            _ if length.is_some() => reply.content = numbered_words(length.unwrap_or_default()),
            "tools" => self.call_tools(&mut reply, 1),
            "parallel-tools" => self.call_tools(&mut reply, 2),
            "agent" => agent::act(asked, &mut reply),
            "redacted" => reply.redacted = true,
            "cached" => self.cache(&mut reply),
            "echo" => reply.content = pieces(&String::from_utf8_lossy(&asked.raw), 64),
            "empty" => reply.content.clear(),
            "see" => reply.content = words(&sight(&asked.images)),
            "schema" => self.satisfy(&mut reply),
            "stop" => self.stop(&mut reply),
            "max-tokens" => {
                reply.content = numbered_words(asked.limit.unwrap_or(16).min(16) as usize);
                reply.stop = Stop::Length;
            }
            "refusal" => {
                reply.content = words("I cannot help with that.");
                reply.stop = Stop::Refusal;
            }
            "content-filter" => {
                reply.content.truncate(2);
                reply.stop = Stop::Filter;
            }
            "no-usage" => reply.usage = UsageStyle::Absent,
            "weird-usage" => reply.usage = UsageStyle::Weird,
            "usage-every-chunk" => reply.usage = UsageStyle::EveryChunk,
            "azure-first" => reply.azure_first = true,
            _ => {}
        }
        if self.voice.dialect().is_silent() {
            (reply.content, reply.calls, reply.reasoning) = Default::default();
        }
        reply
    }

    fn call_tools(&self, reply: &mut Reply, count: usize) {
        if let Some(results) = &self.asked.results {
            reply.content = words(&format!("The tools said: {results}"));
            return;
        }
        if self.asked.choice == Choice::None {
            return;
        }
        let tool = self.asked.forced().or(self.asked.tools.first());
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
        if self.voice.dialect() == Dialect::Messages {
            reply.cache_writes = (2, 1);
        }
    }

    /// Answers with a sample of the schema. A forced tool takes precedence, because it emulates a schema in formats
    /// without a field for one.
    fn satisfy(&self, reply: &mut Reply) {
        if let Some(tool) = self.asked.forced() {
            let arguments = pieces(&sample(&tool.schema).to_string(), 8);
            reply.content.clear();
            reply.calls = vec![ToolCall { name: tool.name.clone(), arguments, custom: false }];
        } else {
            let value = self.asked.schema.as_ref().map_or_else(|| Value::Object(Default::default()), sample);
            reply.content = pieces(&value.to_string(), 8);
        }
    }

    fn stop(&self, reply: &mut Reply) {
        if let Some(sequence) = self.asked.stop.first() {
            reply.content = words("Hello from the upstream, up to here: ");
            reply.stop = Stop::Sequence(sequence.clone());
        }
    }

    /// Sends the beginning of a text, then the fault. A document is cut in half.
    fn broken(&self, reply: &Reply, fault: &[Step]) -> Answer {
        let mut answer = self.render(reply);
        if self.asked.streams {
            let costs = |step: &Step| matches!(step, Step::Send { completion: 1.., .. });
            let costly = answer.steps.iter().enumerate().filter(|(_, step)| costs(step));
            let middle = costly.take(MIDDLE).last().map_or(1, |(index, _)| index + 1);
            answer.steps.truncate(middle);
        } else if let Some(Step::Send { bytes, .. }) = answer.steps.first_mut() {
            bytes.truncate(bytes.len() / 2);
        }
        answer.steps.extend_from_slice(fault);
        answer
    }

    /// Sends everything before the content, then the fault. A document breaks after its head.
    fn speechless(&self, reply: &Reply, fault: Step) -> Answer {
        let mut answer = self.render(reply);
        let costs = |step: &Step| matches!(step, Step::Send { completion: 1.., .. });
        let silent = answer.steps.iter().take_while(|step| !costs(step)).count();
        answer.steps.truncate(silent);
        answer.steps.push(fault);
        answer
    }

    /// Sends half of the answer with a clean end; a stream ends in the middle of an event.
    fn truncated(&self, reply: &Reply) -> Answer {
        if self.asked.streams {
            let event = self.voice.broken_event().trim_end();
            return self.broken(reply, &[Step::send(event), Step::End]);
        }
        let body = self.voice.document(reply).to_string();
        Answer::whole(body[..body.len() / 2].to_owned())
    }

    fn failing_later(&self, reply: &Reply) -> Answer {
        let mut answer = self.broken(reply, &[]);
        let end = self.voice.failing_end(reply, answer.steps.len());
        answer.steps.extend([end, Step::End]);
        answer
    }

    fn huge(&self, kibibytes: u64) -> Answer {
        const MARK: &str = "HUGE";
        let reply = Reply { content: vec![MARK.into()], ..self.reply("text") };
        let mut answer = self.render(&reply);
        let steps = std::mem::take(&mut answer.steps);
        for step in steps {
            let Step::Send { bytes, completion, reasoning } = step else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, tail)) = text.split_once(MARK) else {
                answer.steps.push(Step::Send { bytes, completion, reasoning });
                continue;
            };
            answer.steps.push(Step::costing(head.to_owned(), completion, reasoning));
            answer.steps.extend(filler(kibibytes).map(Step::send));
            answer.steps.push(Step::send(tail.to_owned()));
            answer.length = answer.length.map(|length| length - MARK.len() as u64 + kibibytes * 1024);
        }
        answer
    }
}

/// Parses `late-NNN-BEHAVIOUR`.
fn late(behaviour: &str) -> Option<(u64, &str)> {
    let (millis, other) = behaviour.strip_prefix("late-")?.split_once('-')?;
    Some((millis.parse().ok()?, other))
}

fn filler(kibibytes: u64) -> impl Iterator<Item = Bytes> {
    let piece = Bytes::from(vec![b'a'; PIECE]);
    let whole = (kibibytes as usize * 1024) / PIECE;
    let rest = piece.slice(..(kibibytes as usize * 1024) % PIECE);
    std::iter::repeat_n(piece, whole).chain((!rest.is_empty()).then_some(rest))
}

fn sight(images: &[Seen]) -> String {
    let each = images.iter().map(|seen| match seen.bytes {
        Some(bytes) => format!("{} {bytes} bytes", seen.media_type),
        None => seen.media_type.clone(),
    });
    let each: Vec<String> = each.collect();
    format!("I see {} images: {}", images.len(), each.join(", "))
}
