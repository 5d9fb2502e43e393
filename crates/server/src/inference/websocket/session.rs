//! One connection: its turns are kept in memory, so that a conversation goes on whatever the client lets be stored.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::ids;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use pipeline::arrival::{Arrival, RequestId};
use pipeline::reply::ReplyBody;
use serde_json::{Map, Value, json};
use wire::formats::responses as format;
use wire::sse::Splitter;

use super::super::responses::CREATE;
use crate::App;
use crate::door::Visit;

/// A connection that nobody uses is closed after this long.
const IDLE: Duration = Duration::from_secs(600);

/// How often a silent connection asks whether the gateway is stopping.
const LOOK_UP: Duration = Duration::from_millis(500);

/// Requests that may wait while one is being answered.
const MOST_WAITING: usize = 4;

/// What a connection remembers of its own conversation.
const MOST_REMEMBERED: usize = 8 << 20;

pub struct Session {
    app: Arc<App>,
    visit: Visit,
    headers: HeaderMap,
    /// The handshake's, where some clients have their credential.
    query: Option<String>,
    /// The last response of this connection and everything said up to it.
    last: Option<Turn>,
    /// What the client sent while it was being answered.
    waiting: VecDeque<Message>,
}

struct Turn {
    id: String,
    items: Vec<Value>,
}

impl Session {
    pub fn new(app: Arc<App>, visit: Visit, parts: http::request::Parts) -> Self {
        let query = parts.uri.query().map(str::to_owned);
        Self { app, visit, headers: parts.headers, query, last: None, waiting: VecDeque::new() }
    }

    pub async fn run(mut self, mut socket: WebSocket) {
        let _place = self.visit.place.take();
        loop {
            let text = match self.next(&mut socket).await {
                Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
                Some(Ok(Message::Binary(bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => {
                    // The answer to a close is on its way out already; this sees it off.
                    let _ = socket.send(Message::Close(None)).await;
                    return;
                }
            };
            let answered = match self.read(&text) {
                Ok(request) => self.answer(&mut socket, request).await,
                Err(fault) => send(&mut socket, refusal(&fault)).await,
            };
            if answered.is_err() {
                return;
            }
        }
    }

    /// None when the client is silent for too long, or the gateway stops: then the connection is closed.
    async fn next(&mut self, socket: &mut WebSocket) -> Option<Result<Message, axum::Error>> {
        if let Some(message) = self.waiting.pop_front() {
            return Some(Ok(message));
        }
        let mut patience = IDLE;
        while !self.app.is_draining() && !patience.is_zero() {
            if let Ok(message) = tokio::time::timeout(LOOK_UP, socket.recv()).await {
                return message;
            }
            patience = patience.saturating_sub(LOOK_UP);
        }
        let _ = socket.send(Message::Close(None)).await;
        None
    }

    /// The request inside a message; what it goes on from is looked for in this connection first.
    fn read(&self, text: &str) -> Result<Map<String, Value>, Fault> {
        wire::json::scan(text.as_bytes())?;
        let mut request: Map<String, Value> = serde_json::from_str(text)
            .map_err(|_| fault::invalid_json("The message is not a JSON object."))?;
        match request.remove("type").as_ref().and_then(Value::as_str) {
            Some("response.create") => {}
            _ => return Err(fault::invalid_parameter("type", "'type' must be response.create.")),
        }
        // Some clients nest the request, as the realtime API does.
        if let Some(Value::Object(inner)) = request.remove("response") {
            request.extend(inner);
        }
        request.insert("stream".into(), true.into());
        Ok(request)
    }

    async fn answer(
        &mut self,
        socket: &mut WebSocket,
        mut request: Map<String, Value>,
    ) -> Result<(), axum::Error> {
        let generate = request.remove("generate").is_none_or(|value| value != Value::Bool(false));
        let body = Bytes::from(serde_json::to_vec(&request).unwrap_or_default());
        let here = self.last.as_ref().filter(|turn| {
            request.get("previous_response_id").and_then(Value::as_str) == Some(turn.id.as_str())
        });
        let new_items = match format::normalize_input(&body) {
            Ok(items) => items,
            Err(fault) => return send(socket, refusal(&fault)).await,
        };
        let (said, body) = match here {
            Some(turn) => (turn.items.clone(), format::with_history(&body, &turn.items)),
            None => (Vec::new(), body),
        };
        let said: Vec<Value> = said.into_iter().chain(new_items).collect();
        if !generate {
            return self.warm_up(socket, &request, said).await;
        }
        match pipeline::run(&self.app.gateway, self.arrival(), Full::new(body)).await {
            Err(refused) => send(socket, refusal(&refused.fault)).await,
            Ok(reply) => {
                let finished = forward(socket, reply.body, &mut self.waiting).await?;
                self.remember(finished, said);
                Ok(())
            }
        }
    }

    /// Nothing is generated: the client only wants its prompt known before it goes on.
    async fn warm_up(
        &mut self,
        socket: &mut WebSocket,
        request: &Map<String, Value>,
        said: Vec<Value>,
    ) -> Result<(), axum::Error> {
        let gateway = &self.app.gateway;
        let now = gateway.clock.now();
        let id = format!("resp_{}", ids::unique(now, &*gateway.entropy).simple());
        let response = |status: &str| {
            json!({
                "id": id, "object": "response", "created_at": now.micros() / 1_000_000, "status": status,
                "error": null, "incomplete_details": null, "instructions": request.get("instructions"),
                "model": request.get("model"), "output": [], "parallel_tool_calls": true,
                "tool_choice": "auto", "tools": [], "store": false,
                "usage": {
                    "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
                    "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
                },
            })
        };
        for (number, (kind, status)) in
            [("response.created", "in_progress"), ("response.completed", "completed")].into_iter().enumerate()
        {
            let event = json!({"type": kind, "sequence_number": number, "response": response(status)});
            send(socket, event.to_string()).await?;
        }
        self.remember(Some(json!({"id": id, "output": []})), said);
        Ok(())
    }

    fn remember(&mut self, response: Option<Value>, mut said: Vec<Value>) {
        self.last = response.and_then(|response| {
            let id = response["id"].as_str()?.to_owned();
            said.extend(response["output"].as_array().cloned().unwrap_or_default());
            let size: usize = said.iter().map(|item| item.to_string().len()).sum();
            (size <= MOST_REMEMBERED).then_some(Turn { id, items: said })
        });
    }

    /// Each response is a call of its own, with an id of its own.
    fn arrival(&self) -> Arrival {
        let gateway = &self.app.gateway;
        Arrival {
            request_id: RequestId::made(ids::unique(gateway.clock.now(), &*gateway.entropy)),
            at: gateway.clock.now(),
            tick: gateway.clock.tick(),
            method: "GET",
            endpoint: CREATE.path,
            surface: CREATE.surface,
            addressed: None,
            path: None,
            query: self.query.clone(),
            client_ip: self.visit.client_ip,
            headers: self.headers.clone(),
        }
    }
}

/// Sends the events as they come; the response as its last event had it, when it came to a good end.
async fn forward(
    socket: &mut WebSocket,
    mut body: ReplyBody,
    waiting: &mut VecDeque<Message>,
) -> Result<Option<Value>, axum::Error> {
    let mut splitter = Splitter::new(64 << 20);
    let mut finished = None;
    loop {
        // Who goes away is noticed while the provider is silent: dropping the body cancels the call.
        let frame = tokio::select! {
            frame = body.frame() => frame,
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_))) | Some(Err(_)) | None => return Err(broken("the client went away")),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(_)) if waiting.len() >= MOST_WAITING => return Err(broken("the client does not wait for answers")),
                Some(Ok(message)) => {
                    waiting.push_back(message);
                    continue;
                }
            },
        };
        let Some(frame) = frame else { return Ok(finished) };
        let Ok(frame) = frame else { return Err(broken("the answer broke off")) };
        let Ok(chunk) = frame.into_data() else { continue };
        splitter.push(chunk);
        while let Ok(Some(event)) = splitter.next() {
            let data = event.data();
            if data.is_empty() || &*data == b"[DONE]" {
                continue;
            }
            let text = String::from_utf8_lossy(&data).into_owned();
            if text.contains("\"response.completed\"") || text.contains("\"response.incomplete\"") {
                finished =
                    serde_json::from_str::<Value>(&text).ok().map(|mut event| event["response"].take());
            }
            send(socket, text).await?;
        }
    }
}

fn broken(reason: &'static str) -> axum::Error {
    axum::Error::new(std::io::Error::other(reason))
}

async fn send(socket: &mut WebSocket, text: String) -> Result<(), axum::Error> {
    socket.send(Message::Text(text.into())).await
}

/// A refusal before anything was generated.
fn refusal(fault: &Fault) -> String {
    let envelope = wire::fault::envelope(fault, domain::call::Format::Responses, "");
    let error = serde_json::from_slice::<Value>(&envelope).unwrap_or_default();
    json!({"type": "error", "status": fault.status, "error": error["error"]}).to_string()
}
