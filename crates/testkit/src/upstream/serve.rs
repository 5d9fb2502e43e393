//! The upstream's HTTP side: accept, record, route, play.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::behaviour::{Asked, model_list};
use super::bill::{Bill, BillLine, Entry};
use super::body::{BEFORE_BREAK, Playback};
use super::line::{Line, ResetSwitch};
use super::script::{Answer, Script, Step};
use super::validate::{error_body, validate};

const KEPT_REQUESTS: usize = 10_000;
const EPOCH: u64 = 1_700_000_000;

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub method: String,
    /// With its query.
    pub path: String,
    /// In order, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(super) struct House {
    port: u16,
    answered: AtomicU64,
    pub bill: Bill,
    requests: Mutex<VecDeque<Recorded>>,
    scripts: Mutex<VecDeque<Script>>,
}

impl House {
    pub fn new(port: u16) -> Self {
        Self {
            port,
            answered: AtomicU64::new(0),
            bill: Bill::default(),
            requests: Mutex::default(),
            scripts: Mutex::default(),
        }
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().iter().cloned().collect()
    }

    pub fn push(&self, script: Script) {
        self.scripts.lock().push_back(script);
    }

    pub fn reset(&self) {
        self.bill.clear();
        self.requests.lock().clear();
        self.scripts.lock().clear();
    }

    fn record(&self, recorded: Recorded) {
        let mut requests = self.requests.lock();
        if requests.len() == KEPT_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(recorded);
    }

    /// The answer and its line on the bill.
    fn decide(&self, raw: &[u8]) -> (Answer, Entry) {
        let number = self.answered.fetch_add(1, Ordering::SeqCst);
        let id = format!("chatcmpl-{}-{number}", self.port);
        let script = self.scripts.lock().pop_front();
        if let Some(Script::Exact(answer)) = script {
            let entry = self.open_line(&answer, id, String::new());
            return (answer, entry);
        }
        let Ok(request) = serde_json::from_slice::<Value>(raw) else {
            let body = error_body("We could not parse the JSON body.", "invalid_request_error", None, None);
            return (Answer { status: 400, ..Answer::whole(body) }, Entry::default());
        };
        if let Err(refusal) = validate(&request) {
            return (Answer { status: 400, ..Answer::whole(refusal.body()) }, Entry::default());
        }
        let model = request["model"].as_str().unwrap_or_default();
        let asked = Asked { request: &request, raw, id: id.clone(), created: EPOCH + number };
        let answer = match &script {
            Some(Script::Like(other)) => asked.answer(other),
            _ => asked.answer(model),
        };
        let entry = self.open_line(&answer, id, model.to_owned());
        (answer, entry)
    }

    fn open_line(&self, answer: &Answer, id: String, model: String) -> Entry {
        match answer.billed {
            Some((prompt_tokens, cached_tokens)) => {
                self.bill.open(BillLine { id, model, prompt_tokens, cached_tokens, ..BillLine::default() })
            }
            None => Entry::default(),
        }
    }
}

/// Serves until it is aborted, and takes its connections along.
pub(super) async fn accept(listener: TcpListener, house: Arc<House>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let house = Arc::clone(&house);
        connections.spawn(async move {
            let reset = ResetSwitch::default();
            let line = TokioIo::new(Line::new(stream, reset.clone()));
            let service = service_fn(move |request| serve(Arc::clone(&house), reset.clone(), request));
            // A connection that breaks is what half of the scripts are for.
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(line, service).await;
        });
    }
}

async fn serve(
    house: Arc<House>,
    reset: ResetSwitch,
    request: Request<Incoming>,
) -> Result<Response<Playback>, io::Error> {
    let (parts, body) = request.into_parts();
    let raw = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let ok = |body: String| document(StatusCode::OK, body, reset.clone());
    match (parts.method.as_str(), parts.uri.path()) {
        ("GET", "/bill") => return Ok(ok(json!(house.bill.lines()).to_string())),
        ("GET", "/requests") => return Ok(ok(requests_json(&house))),
        ("POST", "/reset") => {
            house.reset();
            return Ok(ok("{}".into()));
        }
        _ => house.record(recorded(&parts, &raw)),
    }
    match (parts.method.as_str(), parts.uri.path()) {
        ("POST", "/v1/chat/completions") => chat(&house, reset, &raw).await,
        ("GET", "/v1/models") => Ok(ok(model_list().to_string())),
        (method, path) => {
            let message = format!("Invalid URL ({method} {path})");
            let body = error_body(&message, "invalid_request_error", None, None);
            Ok(document(StatusCode::NOT_FOUND, body, reset))
        }
    }
}

async fn chat(house: &House, reset: ResetSwitch, raw: &[u8]) -> Result<Response<Playback>, io::Error> {
    let (answer, mut entry) = house.decide(raw);
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
            Step::Send { .. } => {}
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

fn document(status: StatusCode, body: impl Into<Bytes>, reset: ResetSwitch) -> Response<Playback> {
    let mut response = Response::new(Playback::whole(body, reset));
    *response.status_mut() = status;
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

fn requests_json(house: &House) -> String {
    let requests = house.requests().into_iter().map(|request| {
        json!({
            "method": request.method, "path": request.path, "headers": request.headers,
            "body": String::from_utf8_lossy(&request.body),
        })
    });
    Value::from_iter(requests).to_string()
}
