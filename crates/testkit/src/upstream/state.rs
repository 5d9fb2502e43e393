//! The upstream's state, and the dispatch of a request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::asked::Asked;
use super::behaviour::Play;
use super::bill::{Bill, BillLine, Entry};
use super::chat::{self, Surface};
use super::desk::{Desk, Visit};
use super::dialect::Dialect;
use super::memory::Memory;
use super::moment::Calls;
use super::mood::Temper;
use super::name::ModelName;
use super::refusal::{Refusal, Verdict};
use super::route::{Models, Route};
use super::script::{Answer, Script};
use super::serve::Recorded;
use super::{generate, messages, models, openai, plain, responses, tattle};

const KEPT_REQUESTS: usize = 10_000;
const EPOCH: u64 = 1_700_000_000;

pub(super) struct UpstreamState {
    port: u16,
    answered: AtomicU64,
    pub bill: Bill,
    pub calls: Calls,
    pub temper: Temper,
    memory: Memory,
    requests: Mutex<VecDeque<Recorded>>,
    scripts: Mutex<VecDeque<Script>>,
}

/// A request as received from the HTTP server.
pub(super) struct ReceivedRequest<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    pub headers: &'a HeaderMap,
    pub raw: &'a [u8],
}

impl UpstreamState {
    pub fn new(port: u16) -> Self {
        Self {
            port,
            answered: AtomicU64::new(0),
            bill: Bill::default(),
            calls: Calls::default(),
            temper: Temper::default(),
            memory: Memory::default(),
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
        self.calls.clear();
        self.requests.lock().clear();
        self.scripts.lock().clear();
    }

    pub fn record(&self, recorded: Recorded) {
        let mut requests = self.requests.lock();
        if requests.len() == KEPT_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(recorded);
    }

    /// The answer and its bill line.
    pub fn decide(&self, knock: &ReceivedRequest<'_>) -> (Answer, Entry) {
        let Some((route, deployment)) = Route::find(knock.method, knock.path) else {
            // A scripted answer also serves unknown endpoints, such as files and batches.
            if let Some(Script::Exact(answer)) = self.scripts.lock().pop_front() {
                return (answer, Entry::default());
            }
            return refused(Dialect::Chat, &nowhere(knock));
        };
        let dialect = route.dialect();
        let visit = |id: String, created: u64| Visit {
            headers: knock.headers,
            query: knock.query,
            raw: knock.raw,
            id,
            created,
            memory: &self.memory,
        };
        if let Route::Models(list) = route {
            return self.list(list, &visit(String::new(), 0));
        }
        if let Route::Stored(rest) = &route {
            return document(dialect, responses::manage(&visit(String::new(), 0), knock.method, rest));
        }
        let number = self.answered.fetch_add(1, Ordering::SeqCst);
        let visit = visit(dialect.id(self.port, number), EPOCH + number);
        let Ok(mut request) = serde_json::from_slice::<Value>(knock.raw) else {
            return self.unread(&route, &visit);
        };
        match (&route, deployment) {
            (Route::CountTokens, _) => document(dialect, messages::count_tokens(&visit, &request)),
            (Route::InputTokens, _) => document(dialect, responses::input_tokens(&visit, &request)),
            (Route::CountGenerate { model }, _) => {
                document(dialect, generate::count_tokens(&visit, &request, model))
            }
            (Route::Compact, _) => self.compact(&visit, &request),
            (Route::Images, _) => document(dialect, Ok(pictures(&visit, &request))),
            (_, Some(deployment)) => match azure(&visit, &mut request, &deployment) {
                Some(answer) => (answer, Entry::default()),
                None => self.infer(&route, &visit, &request),
            },
            _ => self.infer(&route, &visit, &request),
        }
    }

    /// Answers an unparsable body; a queued script takes precedence over the error.
    fn unread(&self, route: &Route, visit: &Visit<'_>) -> (Answer, Entry) {
        if let Some(Script::Exact(answer)) = self.scripts.lock().pop_front() {
            let entry = self.open_line(&answer, route.dialect(), &visit.id, &Asked::default());
            return (answer, entry);
        }
        refused(route.dialect(), &Refusal::new(400, "We could not parse the JSON body."))
    }

    fn infer(&self, route: &Route, visit: &Visit<'_>, request: &Value) -> (Answer, Entry) {
        let script = self.scripts.lock().pop_front();
        if let Some(Script::Exact(answer)) = script {
            let entry = self.open_line(&answer, route.dialect(), &visit.id, &Asked::default());
            return (answer, entry);
        }
        let desk = match open(route, visit, request) {
            Ok(desk) => desk,
            Err(refusal) => return refused(route.dialect(), &refusal),
        };
        let called = self.calls.note(&desk.asked.name.whole);
        let play = Play { asked: &desk.asked, voice: desk.voice.as_ref() };
        let answer = match &script {
            Some(Script::Like(other)) => play.answer(&ModelName::parse(other).behaviour),
            _ => {
                let behaviour = called.now(&desk.asked.name.behaviour);
                let mood = self.temper.meet(&desk.asked.name.whole);
                let told = tattle::answer(visit, route.dialect(), desk.asked.streams, behaviour);
                told.unwrap_or_else(|| mood.answer(&play, behaviour))
            }
        };
        let entry = self.open_line(&answer, route.dialect(), &visit.id, &desk.asked);
        (answer, entry)
    }

    fn compact(&self, visit: &Visit<'_>, request: &Value) -> (Answer, Entry) {
        match responses::compact(visit, request) {
            Err(refusal) => refused(Dialect::Responses, &refusal),
            Ok((document, billed)) => {
                let mut answer = Answer::whole(document.to_string());
                if let Some(super::script::Step::Send { completion, .. }) = answer.steps.first_mut() {
                    *completion = 1;
                }
                answer.billed = Some(billed);
                let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
                let asked = Asked { name, ..Asked::default() };
                let entry = self.open_line(&answer, Dialect::Responses, &visit.id, &asked);
                (answer, entry)
            }
        }
    }

    fn list(&self, list: Models, visit: &Visit<'_>) -> (Answer, Entry) {
        let anthropic = visit.header("anthropic-version").is_some();
        match list {
            Models::OpenAi if anthropic => {
                document(Dialect::Messages, messages::entrance(visit).map(|()| models::anthropic_list()))
            }
            Models::OpenAi | Models::Azure => document(Dialect::Chat, Ok(models::openai_list())),
            Models::Gemini => {
                document(Dialect::Generate, generate::entrance(visit).map(|()| models::gemini_list()))
            }
            Models::Ollama => document(Dialect::Chat, Ok(models::ollama_tags())),
        }
    }

    fn open_line(&self, answer: &Answer, dialect: Dialect, id: &str, asked: &Asked) -> Entry {
        let Some(billed) = answer.billed else { return Entry::default() };
        self.bill.open(BillLine {
            id: id.to_owned(),
            model: asked.name.whole.clone(),
            word: asked.last_text.split_whitespace().next().unwrap_or_default().to_owned(),
            dialect: dialect.name().to_owned(),
            prompt_tokens: billed.prompt_tokens,
            cached_tokens: billed.cached_tokens,
            cache_write_5m_tokens: billed.cache_write_5m_tokens,
            cache_write_1h_tokens: billed.cache_write_1h_tokens,
            ..BillLine::default()
        })
    }
}

fn open<'a>(route: &Route, visit: &Visit<'a>, request: &Value) -> Result<Desk<'a>, Refusal> {
    match route {
        Route::Chat(surface) => chat::open(visit, request, *surface),
        Route::Responses => responses::open(visit, request),
        Route::Messages => messages::open(visit, request),
        Route::Generate { model, streams } => generate::open(visit, request, model, *streams),
        Route::Completions(surface) => {
            credential(visit, *surface)?;
            plain::completions(visit, request)
        }
        Route::Embeddings(surface) => {
            credential(visit, *surface)?;
            plain::embeddings(visit, request)
        }
        _ => {
            openai::bearer(visit)?;
            plain::rerank(visit, request)
        }
    }
}

/// Checks the credential. Azure's was checked before, and Ollama needs none.
fn credential(visit: &Visit<'_>, surface: Surface) -> Verdict {
    match surface {
        Surface::OpenAi => openai::bearer(visit),
        Surface::Gemini => openai::bearer(visit).or_else(|_| generate::entrance(visit)),
        Surface::Azure | Surface::Ollama => Ok(()),
    }
}

/// Azure's own checks, and the model from the path.
fn azure(visit: &Visit<'_>, request: &mut Value, deployment: &str) -> Option<Answer> {
    let turned_away = |status: u16, message: &str| {
        let body = json!({"error": {"code": status.to_string(), "message": message}});
        Some(Answer { status, ..Answer::whole(body.to_string()) })
    };
    if visit.header("api-key").is_none() {
        return turned_away(
            401,
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
        );
    }
    if visit.parameter("api-version").is_none() {
        return turned_away(404, "Resource not found");
    }
    if request.is_object() {
        request["model"] = json!(deployment);
    }
    None
}

fn nowhere(knock: &ReceivedRequest<'_>) -> Refusal {
    Refusal::new(404, format!("Invalid URL ({} {})", knock.method, knock.path))
}

fn refused(dialect: Dialect, refusal: &Refusal) -> (Answer, Entry) {
    let body = dialect.error(refusal).to_string();
    (Answer { status: refusal.status, ..Answer::whole(body) }, Entry::default())
}

/// As many images as requested.
fn pictures(visit: &Visit<'_>, request: &Value) -> Value {
    let count = request["n"].as_u64().unwrap_or(1);
    let data: Vec<Value> =
        (0..count).map(|n| json!({"url": format!("http://pictures.test/{n}.png")})).collect();
    json!({"created": visit.created, "data": data})
}

fn document(dialect: Dialect, result: Result<Value, Refusal>) -> (Answer, Entry) {
    match result {
        Ok(document) => (Answer::whole(document.to_string()), Entry::default()),
        Err(refusal) => refused(dialect, &refusal),
    }
}
