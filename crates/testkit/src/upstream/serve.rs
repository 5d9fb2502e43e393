//! The upstream's HTTP server: accepts connections, records requests, plays answers.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::answer::Step;
use super::body::{BEFORE_BREAK, Playback};
use super::resettable_stream::{ResetSwitch, ResettableStream};
use super::state::{ReceivedRequest, UpstreamState};

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Serves connections until it is aborted, which also closes them.
pub(super) async fn accept(listener: TcpListener, state: Arc<UpstreamState>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let reset = ResetSwitch::default();
            let line = TokioIo::new(ResettableStream::new(stream, reset.clone()));
            let service = service_fn(move |request| serve(Arc::clone(&state), reset.clone(), request));
            // Broken connections are expected: many scripts cause them.
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(line, service).await;
        });
    }
}

pub(super) async fn serve(
    state: Arc<UpstreamState>,
    reset: ResetSwitch,
    request: Request<Incoming>,
) -> Result<Response<Playback>, io::Error> {
    let (parts, body) = request.into_parts();
    let raw = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let ok = |body: String| document(body, reset.clone());
    let model = parts.uri.query().and_then(|query| query.strip_prefix("model="));
    match (parts.method.as_str(), parts.uri.path()) {
        ("GET", "/bill") => {
            let mut lines = state.bill.lines();
            lines.retain(|line| model.is_none_or(|model| line.model == model));
            return Ok(ok(json!(lines).to_string()));
        }
        ("GET", "/calls") => return Ok(ok(state.calls.json(model).to_string())),
        ("GET", "/requests") => return Ok(ok(requests_json(&state))),
        ("GET", "/fault") => {
            return Ok(ok(state.fault_override.json(state.bill.unfinished()).to_string()));
        }
        ("POST", "/fault") => return Ok(set_fault_override(&state, &raw, reset.clone())),
        ("POST", "/reset") => {
            state.reset();
            return Ok(ok("{}".into()));
        }
        _ => state.record(recorded(&parts, &raw)),
    }
    let received = ReceivedRequest {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        raw: &raw,
    };
    play(&state, reset, &received).await
}

async fn play(
    state: &UpstreamState,
    reset: ResetSwitch,
    received: &ReceivedRequest<'_>,
) -> Result<Response<Playback>, io::Error> {
    let (answer, mut entry) = state.decide(received);
    for step in &answer.before {
        match step {
            Step::Wait(pause) => tokio::time::sleep(*pause).await,
            Step::Hang => std::future::pending::<()>().await,
            Step::Reset => {
                reset.arm();
                entry.break_off();
                tokio::time::sleep(BEFORE_BREAK).await;
                return Err(io::Error::other("the script resets here"));
            }
            Step::Cut | Step::End => {
                entry.break_off();
                return Err(io::Error::other("the script breaks off here"));
            }
            Step::Send { .. } | Step::Repeat { .. } => {}
        }
    }
    let mut response =
        Response::builder().status(answer.status).header(header::CONTENT_TYPE, &answer.content_type);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let body = Playback::new(answer.steps, answer.length, entry, reset);
    response.header("x-request-id", "req_scripted").body(body).map_err(io::Error::other)
}

fn set_fault_override(state: &UpstreamState, raw: &[u8], reset: ResetSwitch) -> Response<Playback> {
    match state.fault_override.set(&String::from_utf8_lossy(raw)) {
        Ok(()) => document("{}", reset),
        Err(unknown) => {
            let mut response =
                document(json!({"error": {"message": unknown.to_string()}}).to_string(), reset);
            *response.status_mut() = http::StatusCode::BAD_REQUEST;
            response
        }
    }
}

fn document(body: impl Into<Bytes>, reset: ResetSwitch) -> Response<Playback> {
    let mut response = Response::new(Playback::whole(body, reset));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn recorded(parts: &http::request::Parts, raw: &[u8]) -> Recorded {
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Recorded {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: raw.to_vec(),
    }
}

fn requests_json(state: &UpstreamState) -> String {
    let requests = state.requests().into_iter().map(|request| {
        json!({
            "method": request.method, "path": request.path, "headers": request.headers,
            "body": String::from_utf8_lossy(&request.body),
        })
    });
    Value::from_iter(requests).to_string()
}
