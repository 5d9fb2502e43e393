//! One WebSocket session. It keeps the last turn in memory, so that a conversation continues even with `store: false`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use domain::fault::Fault;
use domain::ids;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use pipeline::call::arrival::{Arrival, RequestId};
use pipeline::delivery::reply::ReplyBody;
use pipeline::services::body_work::{BodyLease, LARGE_BODY};
use serde_json::{Value, json};
use wire::sse::Splitter;

use super::super::responses::CREATE;
use super::request::{SocketRequest, Turn};
use crate::App;
use crate::request_context::RequestContext;

/// Idle time after which a connection is closed.
const IDLE: Duration = Duration::from_secs(600);

/// Interval at which an idle connection checks whether the gateway is draining.
const LOOK_UP: Duration = Duration::from_millis(500);

/// Maximum number of requests queued while one is being answered.
const MOST_WAITING: usize = 4;

/// Maximum size of the conversation that a connection keeps, in bytes.
const MOST_REMEMBERED: usize = 8 << 20;

pub struct Session {
    app: Arc<App>,
    context: RequestContext,
    headers: HeaderMap,
    /// The query of the handshake, where some clients put their credential.
    query: Option<String>,
    /// The last response of this connection and the conversation up to it.
    last: Option<Turn>,
    /// Messages received while another one is being answered.
    waiting: VecDeque<Waiting>,
}

/// A queued message and its share of the memory limit for request bodies.
type Waiting = (Message, BodyLease);

impl Session {
    pub fn new(app: Arc<App>, context: RequestContext, parts: http::request::Parts) -> Self {
        let query = parts.uri.query().map(str::to_owned);
        Self { app, context, headers: parts.headers, query, last: None, waiting: VecDeque::new() }
    }

    pub async fn run(mut self, mut socket: WebSocket) {
        let _slot = self.context.slot.take();
        loop {
            let (message, lease) = match self.next(&mut socket).await {
                Some(Ok((Message::Text(text), lease))) => (Bytes::from(text), lease),
                Some(Ok((Message::Binary(bytes), lease))) => (bytes, lease),
                Some(Ok((Message::Ping(_) | Message::Pong(_), _))) => continue,
                Some(Ok((Message::Close(_), _)) | Err(_)) | None => {
                    // The reply to a close frame is already queued; sending flushes it.
                    let _ = socket.send(Message::Close(None)).await;
                    return;
                }
            };
            let request = self.read(message, lease).await;
            let answered = match request {
                Ok(request) => self.answer(&mut socket, request).await,
                Err(fault) => send(&mut socket, refusal(&fault)).await,
            };
            if answered.is_err() {
                return;
            }
        }
    }

    /// Returns the next message; `None` when the client was silent for too long or the gateway is draining, and the
    /// connection was closed.
    async fn next(&mut self, socket: &mut WebSocket) -> Option<Result<Waiting, axum::Error>> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(Ok(waiting));
        }
        let mut idle_left = IDLE;
        while !self.app.is_draining() && !idle_left.is_zero() {
            // `recv` is cancel-safe: dropping it on a timeout loses no message.
            if let Ok(message) = tokio::time::timeout(LOOK_UP, socket.recv()).await {
                let lease = self.lease();
                return message.map(|message| message.map(|message| (message, lease)));
            }
            idle_left = idle_left.saturating_sub(LOOK_UP);
        }
        let _ = socket.send(Message::Close(None)).await;
        None
    }

    fn lease(&self) -> BodyLease {
        let gateway = &self.app.gateway;
        gateway.body_work.lease(gateway.policy.body_memory_limit)
    }

    /// Reads the request in a message; a large one is read off the connection's thread.
    async fn read(&self, message: Bytes, mut lease: BodyLease) -> Result<SocketRequest, Fault> {
        lease.cover(message.len() as u64)?;
        let last = self.last.clone();
        let large = message.len() + last.as_ref().map_or(0, Turn::len) >= LARGE_BODY;
        let read = move || {
            let _lease = lease;
            SocketRequest::read(&message, last.as_ref())
        };
        match large {
            false => read(),
            true => self.app.gateway.body_work.run(&self.app.gateway.tasks, read).await?,
        }
    }

    async fn answer(&mut self, socket: &mut WebSocket, request: SocketRequest) -> Result<(), axum::Error> {
        if !request.generate {
            return self.warm_up(socket, request).await;
        }
        let SocketRequest { body, items, .. } = request;
        match pipeline::run(&self.app.gateway, self.arrival(), Full::new(body)).await {
            Err(refused) => send(socket, refusal(&refused.fault)).await,
            Ok(reply) => {
                let lease = self.lease();
                let finished = forward(socket, reply.body, &mut self.waiting, lease).await?;
                self.remember(finished, items);
                Ok(())
            }
        }
    }

    /// Answers a request with `generate: false` with an empty response and remembers its input for the next request.
    async fn warm_up(&mut self, socket: &mut WebSocket, request: SocketRequest) -> Result<(), axum::Error> {
        let SocketRequest { items, model, instructions, .. } = request;
        let gateway = &self.app.gateway;
        let now = gateway.clock.now();
        let id = format!("resp_{}", ids::unique(now, &*gateway.entropy).simple());
        let response = |status: &str| {
            json!({
                "id": id, "object": "response", "created_at": now.micros() / 1_000_000, "status": status,
                "error": null, "incomplete_details": null, "instructions": instructions,
                "model": model, "output": [], "parallel_tool_calls": true,
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
        self.remember(Some(Finished { id, output: Bytes::from_static(b"[]") }), items);
        Ok(())
    }

    fn remember(&mut self, response: Option<Finished>, mut items: Vec<Bytes>) {
        self.last = response.and_then(|Finished { id, output }| {
            items.push(output);
            let turn = Turn { id, items };
            (turn.len() <= MOST_REMEMBERED).then_some(turn)
        });
    }

    /// Creates the arrival of a call; each response is a call with an id of its own.
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
            client_ip: self.context.client_ip,
            headers: self.headers.clone().into(),
            client_credential: None,
            credential_digest: None,
        }
    }
}

/// Forwards the events as they arrive. Returns the response from its last event if it was completed or incomplete.
async fn forward(
    socket: &mut WebSocket,
    mut body: ReplyBody,
    waiting: &mut VecDeque<Waiting>,
    empty: BodyLease,
) -> Result<Option<Finished>, axum::Error> {
    let mut splitter = Splitter::new(64 << 20);
    let mut finished = None;
    loop {
        // Reading from the socket as well detects a disconnect while the provider is silent: returning drops the body,
        // which cancels the call.
        let frame = tokio::select! {
            frame = body.frame() => frame,
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_))) | Some(Err(_)) | None => return Err(broken("the client went away")),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(_)) if waiting.len() >= MOST_WAITING => return Err(broken("the client does not wait for answers")),
                Some(Ok(message)) => {
                    let mut lease = empty.another();
                    if lease.cover(size(&message)).is_err() {
                        return Err(broken("too many large requests are being processed"));
                    }
                    waiting.push_back((message, lease));
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
                finished = Finished::read(text.as_bytes());
            }
            send(socket, text).await?;
        }
    }
}

/// A completed or incomplete response, read from its last event.
struct Finished {
    id: String,
    /// A JSON array of items.
    output: Bytes,
}

impl Finished {
    fn read(event: &[u8]) -> Option<Self> {
        let response = wire::json::scan(event).ok()?.value(event, "response")?;
        let response = wire::json::scan_within(event, response).ok()?;
        let id = wire::json::string_at(event, &response.value(event, "id")?)?.into_owned();
        let output = response.value(event, "output").filter(|range| event[range.start] == b'[');
        let output = output.map(|range| Bytes::copy_from_slice(&event[range]));
        Some(Self { id, output: output.unwrap_or_else(|| Bytes::from_static(b"[]")) })
    }
}

fn size(message: &Message) -> u64 {
    match message {
        Message::Text(text) => text.len() as u64,
        Message::Binary(bytes) => bytes.len() as u64,
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => 0,
    }
}

fn broken(reason: &'static str) -> axum::Error {
    axum::Error::new(std::io::Error::other(reason))
}

async fn send(socket: &mut WebSocket, text: String) -> Result<(), axum::Error> {
    socket.send(Message::Text(text.into())).await
}

/// The error event for a request that was rejected before anything was generated.
fn refusal(fault: &Fault) -> String {
    let body = wire::formats::client(domain::call::Format::Responses).render_error(fault, "");
    let error = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    json!({"type": "error", "status": fault.status, "error": error["error"]}).to_string()
}
