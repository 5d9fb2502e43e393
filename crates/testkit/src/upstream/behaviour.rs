//! From a model's name to an answer: the table in `upstream.rs`, as code.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::render::{Reply, ToolCall, UsageStyle, event};
use super::script::{Answer, Step};
use super::validate::error_body;

pub(super) const MODELS: [&str; 35] = [
    "text",
    "long",
    "tools",
    "parallel-tools",
    "reasoning",
    "cached",
    "echo",
    "empty",
    "strict",
    "slow-200",
    "drip-20",
    "no-usage",
    "weird-usage",
    "usage-every-chunk",
    "azure-first",
    "huge-event",
    "hang",
    "hang-after-head",
    "hang-mid-stream",
    "reset-before-head",
    "reset-mid-stream",
    "cut-mid-stream",
    "eof-mid-stream",
    "error-400",
    "error-404",
    "error-429",
    "error-500",
    "error-503",
    "error-529",
    "unauthorized",
    "error-in-stream",
    "error-after-content",
    "html",
    "bad-json",
    "empty-body",
];

const MIDDLE: usize = 4;
const PIECE: usize = 64 * 1024;

/// One request, as far as the behaviour depends on it.
pub(super) struct Asked<'a> {
    pub request: &'a Value,
    pub raw: &'a [u8],
    pub id: String,
    pub created: u64,
}

impl Asked<'_> {
    pub fn answer(&self, model: &str) -> Answer {
        match model {
            "hang" => Answer { before: vec![Step::Hang], ..self.render(&self.reply(model)) },
            "hang-after-head" => Answer { steps: vec![Step::Hang], ..self.render(&self.reply(model)) },
            "hang-mid-stream" => self.broken(model, &[Step::Hang]),
            "reset-before-head" => Answer { before: vec![Step::Reset], ..Answer::default() },
            "reset-mid-stream" => self.broken(model, &[Step::Reset]),
            "cut-mid-stream" => self.broken(model, &[Step::Cut]),
            "eof-mid-stream" => Answer { length: None, ..self.broken(model, &[Step::End]) },
            "unauthorized" => failure(401, 0),
            "error-in-stream" if self.streams() => Answer::stream(vec![Step::send(in_band_error())]),
            "error-in-stream" => Answer::whole(overloaded()),
            "error-after-content" if self.streams() => {
                self.broken(model, &[Step::send(in_band_error()), Step::End])
            }
            "error-after-content" => failure(500, 0),
            "html" => Answer {
                content_type: "text/html".into(),
                ..Answer::whole("<html><h1>Bad gateway</h1></html>")
            },
            "bad-json" if self.streams() => {
                Answer::stream(vec![Step::send("data: {\"id\": \"chatcmpl-\n\n")])
            }
            "bad-json" => Answer::whole("{\"id\": \"chatcmpl-1\", \"choices\": [{"),
            "empty-body" if self.streams() => Answer::stream(Vec::new()),
            "empty-body" => Answer::whole(""),
            _ => self.numbered(model),
        }
    }

    /// Names that end in a number.
    fn numbered(&self, model: &str) -> Answer {
        let number = |prefix: &str| model.strip_prefix(prefix).and_then(|text| text.parse::<u64>().ok());
        if let Some(seconds) = number("error-429-") {
            failure(429, seconds)
        } else if let Some(status) = number("error-").filter(|status| (400..600).contains(status)) {
            failure(status as u16, 30)
        } else if let Some(millis) = number("slow-") {
            let before = vec![Step::Wait(Duration::from_millis(millis))];
            Answer { before, ..self.render(&self.reply("text")) }
        } else if let Some(millis) = number("drip-") {
            let mut answer = self.render(&self.reply("long-20"));
            let pause = Step::Wait(Duration::from_millis(millis));
            answer.steps = answer.steps.into_iter().flat_map(|step| [pause.clone(), step]).collect();
            answer
        } else if model == "huge-event" {
            self.huge(64 * 1024)
        } else if let Some(kibibytes) = number("huge-event-") {
            self.huge(kibibytes)
        } else {
            self.render(&self.reply(model))
        }
    }

    fn streams(&self) -> bool {
        self.request["stream"].as_bool().unwrap_or(false)
    }

    fn render(&self, reply: &Reply) -> Answer {
        let include_usage = self.request["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        if self.streams() { reply.stream(include_usage) } else { reply.whole() }
    }

    fn reply(&self, model: &str) -> Reply {
        let prompt_tokens = prompt_tokens(self.request);
        let mut reply = Reply {
            id: self.id.clone(),
            created: self.created,
            model: self.request["model"].as_str().unwrap_or_default().to_owned(),
            content: words(&format!("Hello from the upstream. You said: {}", last_text(self.request))),
            prompt_tokens,
            ..Reply::default()
        };
        let length = model.strip_prefix("long-").and_then(|text| text.parse::<usize>().ok());
        match model {
            "long" => reply.content = numbered_words(100),
            _ if length.is_some() => reply.content = numbered_words(length.unwrap_or_default()),
            "tools" => self.call_tools(&mut reply, 1),
            "parallel-tools" => self.call_tools(&mut reply, 2),
            "reasoning" => reply.reasoning = words("Let me think about that first. "),
            "cached" => reply.cached_tokens = prompt_tokens.div_ceil(2),
            "echo" => reply.content = pieces(&String::from_utf8_lossy(self.raw)),
            "empty" => reply.content.clear(),
            "no-usage" => reply.usage = UsageStyle::Absent,
            "weird-usage" => reply.usage = UsageStyle::Weird,
            "usage-every-chunk" => reply.usage = UsageStyle::EveryChunk,
            "azure-first" => reply.azure_first = true,
            _ => {}
        }
        reply
    }

    fn call_tools(&self, reply: &mut Reply, count: usize) {
        let last = self.request["messages"].as_array().and_then(|messages| messages.last());
        if last.is_some_and(|message| message["role"] == "tool") {
            reply.content =
                words(&format!("The tools said: {}", text_of(&last.unwrap_or(&Value::Null)["content"])));
            return;
        }
        let name = self.request["tools"][0]["function"]["name"].as_str().unwrap_or("get_weather");
        let arguments = [vec!["{\"city\"", ": \"Par", "is\"}"], vec!["{\"city\": ", "\"Zürich\"}"]];
        reply.content.clear();
        reply.calls = arguments
            .into_iter()
            .take(count)
            .enumerate()
            .map(|(index, arguments)| ToolCall {
                id: format!("call_{}_{index}", self.id),
                name: name.into(),
                arguments,
            })
            .collect();
    }

    /// The beginning of a text, then the fault. A document breaks in its middle.
    fn broken(&self, model: &str, fault: &[Step]) -> Answer {
        let mut answer = self.render(&self.reply(model));
        if self.streams() {
            answer.steps.truncate(MIDDLE);
        } else if let Some(Step::Send { bytes, .. }) = answer.steps.first_mut() {
            bytes.truncate(bytes.len() / 2);
        }
        answer.steps.extend_from_slice(fault);
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
            answer.steps.push(Step::Send { bytes: head.to_owned().into(), completion, reasoning });
            answer.steps.extend(filler(kibibytes).map(Step::send));
            answer.steps.push(Step::send(tail.to_owned()));
        }
        answer.length = answer.length.map(|length| length - MARK.len() as u64 + kibibytes * 1024);
        answer
    }
}

fn filler(kibibytes: u64) -> impl Iterator<Item = Bytes> {
    let piece = Bytes::from(vec![b'a'; PIECE]);
    let whole = (kibibytes as usize * 1024) / PIECE;
    let rest = piece.slice(..(kibibytes as usize * 1024) % PIECE);
    std::iter::repeat_n(piece, whole).chain((!rest.is_empty()).then_some(rest))
}

fn failure(status: u16, retry_after: u64) -> Answer {
    let (message, kind, code) = match status {
        401 => ("Incorrect API key provided: sk-***.", "invalid_request_error", Some("invalid_api_key")),
        404 => ("The model does not exist.", "invalid_request_error", Some("model_not_found")),
        429 => ("Rate limit reached for requests.", "requests", Some("rate_limit_exceeded")),
        500.. => ("The server had an error while processing your request.", "server_error", None),
        _ => ("The request was refused by the script.", "invalid_request_error", Some("scripted")),
    };
    let mut answer = Answer { status, ..Answer::whole(error_body(message, kind, None, code)) };
    if status == 429 {
        answer.headers.push(("retry-after".into(), retry_after.to_string()));
    }
    answer
}

fn overloaded() -> Vec<u8> {
    error_body("The server is overloaded.", "server_error", None, Some("server_overloaded"))
}

fn in_band_error() -> Bytes {
    event(&serde_json::from_slice(&overloaded()).unwrap_or_default())
}

/// Eight for the frame and one for each word of each message.
fn prompt_tokens(request: &Value) -> u64 {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    8 + messages
        .iter()
        .map(|message| text_of(&message["content"]).split_whitespace().count() as u64)
        .sum::<u64>()
}

fn last_text(request: &Value) -> String {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.last().map(|message| text_of(&message["content"])).unwrap_or_default()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

fn numbered_words(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("word{index} ")).collect()
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(64).map(|piece| piece.iter().collect()).collect()
}

pub(super) fn model_list() -> Value {
    let entry =
        |id: &&str| json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "scripted"});
    json!({"object": "list", "data": MODELS.iter().map(entry).collect::<Vec<_>>()})
}
