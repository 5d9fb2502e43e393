//! A mock OpenAI upstream with minimal overhead: fixed responses, and streams whose shape the model name sets.

mod messages;
mod request;

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use request::{Connection, Request};

#[derive(Clone, Debug)]
pub struct MockConfig {
    /// Length of a non-streaming response.
    pub answer_bytes: usize,
    /// Delay before each response.
    pub delay: Duration,
}

impl Default for MockConfig {
    fn default() -> Self {
        Self { answer_bytes: 1024, delay: Duration::ZERO }
    }
}

/// Serves until the future is dropped.
pub async fn serve_mock(listener: TcpListener, config: MockConfig) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        connections.spawn(serve_connection(stream, config.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection. Errors are ignored: they show up in the client's results.
async fn serve_connection(stream: TcpStream, config: MockConfig) {
    let mut connection = Connection::new(stream);
    let mut prepared = Prepared::default();
    while let Ok(Some(request)) = connection.next().await {
        if !config.delay.is_zero() {
            tokio::time::sleep(config.delay).await;
        }
        if answer(connection.stream(), &request, &config, &mut prepared).await.is_err() {
            return;
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    request: &Request,
    config: &MockConfig,
    prepared: &mut Prepared,
) -> io::Result<()> {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/chat/completions" | "/v1/messages") => {}
        ("GET", "/v1/models") => return stream.write_all(models().as_bytes()).await,
        _ => return stream.write_all(not_found().as_bytes()).await,
    }
    let shape = Shape {
        model: request.model.clone(),
        streamed: request.streamed,
        usage: request.include_usage,
        messages: request.path.ends_with("/messages"),
    };
    let script = prepared.script(shape, config);
    let Some((gap, parts)) = script.paced() else { return stream.write_all(script.whole.as_bytes()).await };
    // Deadlines are computed from the start, so that the timer's resolution does not accumulate.
    let mut due = Instant::now();
    for part in parts {
        stream.write_all(part.as_bytes()).await?;
        due += gap;
        tokio::time::sleep_until(due).await;
    }
    stream.write_all(script.tail.as_bytes()).await
}

/// Cache of the last response: a connection sends the same request over and over.
#[derive(Default)]
struct Prepared(Option<(Shape, Script)>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Shape {
    model: String,
    streamed: bool,
    usage: bool,
    /// In Anthropic's format; streams only.
    messages: bool,
}

#[derive(Default)]
struct Script {
    whole: String,
    /// Head and events, when there are gaps between them.
    parts: Vec<String>,
    gap: Duration,
    tail: String,
}

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

impl Script {
    /// Joins events without gaps into a single write.
    fn arrange(mut self, parts: Vec<String>) -> Self {
        if self.gap.is_zero() {
            self.whole = parts.concat() + &self.tail;
        } else {
            self.parts = parts;
        }
        self
    }

    fn paced(&self) -> Option<(Duration, &[String])> {
        (!self.parts.is_empty()).then_some((self.gap, self.parts.as_slice()))
    }
}

impl Prepared {
    fn script(&mut self, shape: Shape, config: &MockConfig) -> &Script {
        if self.0.as_ref().is_none_or(|(known, _)| *known != shape) {
            let script = match (shape.streamed, shape.messages) {
                (true, true) => messages::stream_script(&shape.model),
                (true, false) => stream_script(&shape),
                (false, _) => whole_script(&shape, config),
            };
            self.0 = Some((shape, script));
        }
        &self.0.get_or_insert_with(Default::default).1
    }
}

fn whole_script(shape: &Shape, config: &MockConfig) -> Script {
    let answer = |content: &str| {
        format!(
            r#"{{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"{}","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}},"logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}}}"#,
            shape.model
        )
    };
    let frame = answer("").len();
    let body = answer(&"x".repeat(config.answer_bytes.saturating_sub(frame)));
    Script { whole: json("200 OK", &body), ..Script::default() }
}

fn stream_script(shape: &Shape) -> Script {
    let (events, gap) = pace(&shape.model);
    let mut script = Script { gap, ..Script::default() };
    let mut parts = vec![STREAM_HEAD.to_owned()];
    for _ in 0..events {
        parts.push(event(
            &shape.model,
            r#"[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]"#,
            "",
        ));
    }
    script.tail =
        event(&shape.model, r#"[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]"#, "");
    if shape.usage {
        let usage = format!(
            r#","usage":{{"prompt_tokens":10,"completion_tokens":{events},"total_tokens":{}}}"#,
            events + 10
        );
        script.tail += &event(&shape.model, "[]", &usage);
    }
    script.tail += &chunk("data: [DONE]\n\n");
    script.tail += "0\r\n\r\n";
    script.arrange(parts)
}

fn event(model: &str, choices: &str, rest: &str) -> String {
    chunk(&format!(
        "data: {{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"{model}\",\"choices\":{choices}{rest}}}\n\n"
    ))
}

fn chunk(text: &str) -> String {
    let mut chunk = String::with_capacity(text.len() + 16);
    // Writing to a string cannot fail.
    let _ = write!(chunk, "{:x}\r\n{text}\r\n", text.len());
    chunk
}

/// Parses the number and interval of events from a model name: `bench-e100-g5` sends a hundred events, five
/// milliseconds apart. The default is ten events without gaps.
fn pace(model: &str) -> (usize, Duration) {
    let number = |letter: char| {
        let field = model.split('-').find_map(|part| part.strip_prefix(letter)?.parse::<u64>().ok());
        field.unwrap_or(if letter == 'e' { 10 } else { 0 })
    };
    let events = usize::try_from(number('e')).unwrap_or(usize::MAX).min(100_000);
    (events, Duration::from_millis(number('g')))
}

/// A model that no measurement uses: the gateway finds this list at its provider of each format, and would send calls of a
/// listed model to either of them.
fn models() -> String {
    json(
        "200 OK",
        r#"{"object":"list","data":[{"id":"bench-listed","object":"model","created":1700000000,"owned_by":"bench"}]}"#,
    )
}

fn not_found() -> String {
    json(
        "404 Not Found",
        r#"{"error":{"message":"the mock has no such path","type":"invalid_request_error","code":"not_found","param":null}}"#,
    )
}

fn json(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests;
