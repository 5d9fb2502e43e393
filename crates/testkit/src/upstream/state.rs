//! The upstream's state, and the dispatch of a request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::answer::Answer;
use super::answer_builder::AnswerBuilder;
use super::bill::{Bill, BillLine, Entry};
use super::call_counts::CallCounts;
use super::chat::{self, Surface};
use super::dialect::Dialect;
use super::fault_override::FaultOverride;
use super::fault_script::{FaultScript, ParsedScript};
use super::memory::Memory;
use super::model_name::ModelName;
use super::parsed_request::ParsedRequest;
use super::rejection::{UpstreamRejection, ValidationResult};
use super::route::{Models, Route};
use super::serve::Recorded;
use super::upstream_request::{AcceptedRequest, UpstreamRequest};
use super::{gemini, messages, models, openai, plain, responses};

const KEPT_REQUESTS: usize = 10_000;
const EPOCH: u64 = 1_700_000_000;

pub(super) struct UpstreamState {
    port: u16,
    answered: AtomicU64,
    pub bill: Bill,
    pub calls: CallCounts,
    pub fault_override: FaultOverride,
    memory: Memory,
    requests: Mutex<VecDeque<Recorded>>,
    scripts: Mutex<VecDeque<FaultScript>>,
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
            calls: CallCounts::default(),
            fault_override: FaultOverride::default(),
            memory: Memory::default(),
            requests: Mutex::default(),
            scripts: Mutex::default(),
        }
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().iter().cloned().collect()
    }

    pub fn push(&self, script: FaultScript) {
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
    pub fn decide(&self, received: &ReceivedRequest<'_>) -> (Answer, Entry) {
        let Some((route, deployment)) = Route::find(received.method, received.path) else {
            // A scripted answer also serves unknown endpoints, such as files and batches.
            if let Some(FaultScript::Exact(answer)) = self.scripts.lock().pop_front() {
                return (answer, Entry::default());
            }
            return rejected(Dialect::Chat, &unknown_route(received));
        };
        let dialect = route.dialect();
        let context = |id: String, created: u64| UpstreamRequest {
            headers: received.headers,
            query: received.query,
            raw: received.raw,
            id,
            created,
            memory: &self.memory,
        };
        if let Route::Models(list) = route {
            return self.list(list, &context(String::new(), 0));
        }
        if let Route::Stored(rest) = &route {
            return document(dialect, responses::manage(&context(String::new(), 0), received.method, rest));
        }
        let number = self.answered.fetch_add(1, Ordering::SeqCst);
        let context = context(dialect.id(self.port, number), EPOCH + number);
        let Ok(mut request) = serde_json::from_slice::<Value>(received.raw) else {
            return self.answer_unparsable(&route, &context);
        };
        match (&route, deployment) {
            (Route::CountTokens, _) => document(dialect, messages::count_tokens(&context, &request)),
            (Route::InputTokens, _) => document(dialect, responses::input_tokens(&context, &request)),
            (Route::GeminiCountTokens { model }, _) => {
                document(dialect, gemini::count_tokens(&context, &request, model))
            }
            (Route::Compact, _) => self.compact(&context, &request),
            (Route::Images, _) => document(dialect, Ok(images(&context, &request))),
            (_, Some(deployment)) => match azure(&context, &mut request, &deployment) {
                Some(answer) => (answer, Entry::default()),
                None => self.infer(&route, &context, &request),
            },
            _ => self.infer(&route, &context, &request),
        }
    }

    /// Answers an unparsable body; a queued script takes precedence over the error.
    fn answer_unparsable(&self, route: &Route, context: &UpstreamRequest<'_>) -> (Answer, Entry) {
        if let Some(FaultScript::Exact(answer)) = self.scripts.lock().pop_front() {
            let entry = self.open_line(&answer, route.dialect(), &context.id, &ParsedRequest::default());
            return (answer, entry);
        }
        rejected(route.dialect(), &UpstreamRejection::new(400, "We could not parse the JSON body."))
    }

    fn infer(&self, route: &Route, context: &UpstreamRequest<'_>, request: &Value) -> (Answer, Entry) {
        let script = self.scripts.lock().pop_front();
        if let Some(FaultScript::Exact(answer)) = script {
            let entry = self.open_line(&answer, route.dialect(), &context.id, &ParsedRequest::default());
            return (answer, entry);
        }
        let accepted = match open(route, context, request) {
            Ok(accepted) => accepted,
            Err(rejection) => return rejected(route.dialect(), &rejection),
        };
        let answer = self.scripted_answer(script, context, &accepted);
        let entry = self.open_line(&answer, route.dialect(), &context.id, &accepted.parsed);
        (answer, entry)
    }

    /// The answer by the queued script, else by the override, else by the model's name.
    fn scripted_answer(
        &self,
        queued: Option<FaultScript>,
        context: &UpstreamRequest<'_>,
        accepted: &AcceptedRequest<'_>,
    ) -> Answer {
        let name = &accepted.parsed.name;
        let call = self.calls.record(&name.whole);
        let builder =
            AnswerBuilder { context, request: &accepted.parsed, renderer: accepted.renderer.as_ref() };
        let answer = |script: &ParsedScript| {
            let applies = script.schedule.applies(call);
            builder.answer(if applies { script } else { &ParsedScript::TEXT })
        };
        if let Some(FaultScript::Parsed(script)) = queued {
            return answer(&script);
        }
        match self.fault_override.record(&name.whole) {
            Some(script) => Answer { billed: None, ..answer(&script) },
            None => answer(&name.script),
        }
    }

    fn compact(&self, context: &UpstreamRequest<'_>, request: &Value) -> (Answer, Entry) {
        match responses::compact(context, request) {
            Err(rejection) => rejected(Dialect::Responses, &rejection),
            Ok((document, billed)) => {
                let mut answer = Answer::whole(document.to_string());
                if let Some(super::answer::Step::Send { completion, .. }) = answer.steps.first_mut() {
                    *completion = 1;
                }
                answer.billed = Some(billed);
                let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
                let parsed = ParsedRequest { name, ..ParsedRequest::default() };
                let entry = self.open_line(&answer, Dialect::Responses, &context.id, &parsed);
                (answer, entry)
            }
        }
    }

    fn list(&self, list: Models, context: &UpstreamRequest<'_>) -> (Answer, Entry) {
        let anthropic = context.header("anthropic-version").is_some();
        match list {
            Models::OpenAi if anthropic => document(
                Dialect::Messages,
                messages::check_credential(context).map(|()| models::anthropic_list()),
            ),
            Models::OpenAi | Models::Azure => document(Dialect::Chat, Ok(models::openai_list())),
            Models::Gemini => {
                document(Dialect::Gemini, gemini::check_credential(context).map(|()| models::gemini_list()))
            }
            Models::Ollama => document(Dialect::Chat, Ok(models::ollama_tags())),
        }
    }

    fn open_line(&self, answer: &Answer, dialect: Dialect, id: &str, parsed: &ParsedRequest) -> Entry {
        let Some(billed) = answer.billed else { return Entry::default() };
        self.bill.open(BillLine {
            id: id.to_owned(),
            model: parsed.name.whole.clone(),
            word: parsed.last_text.split_whitespace().next().unwrap_or_default().to_owned(),
            dialect: dialect.name().to_owned(),
            prompt_tokens: billed.prompt_tokens,
            cached_tokens: billed.cached_tokens,
            cache_write_5m_tokens: billed.cache_write_5m_tokens,
            cache_write_1h_tokens: billed.cache_write_1h_tokens,
            ..BillLine::default()
        })
    }
}

fn open<'a>(
    route: &Route,
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    match route {
        Route::Chat(surface) => chat::open(context, request, *surface),
        Route::Responses => responses::open(context, request),
        Route::Messages => messages::open(context, request),
        Route::GenerateContent { model, streams } => gemini::open(context, request, model, *streams),
        Route::Completions(surface) => {
            credential(context, *surface)?;
            plain::completions(context, request)
        }
        Route::Embeddings(surface) => {
            credential(context, *surface)?;
            plain::embeddings(context, request)
        }
        _ => {
            openai::bearer(context)?;
            plain::rerank(context, request)
        }
    }
}

/// Checks the credential. Azure's was checked before, and Ollama needs none.
fn credential(context: &UpstreamRequest<'_>, surface: Surface) -> ValidationResult {
    match surface {
        Surface::OpenAi => openai::bearer(context),
        Surface::Gemini => openai::bearer(context).or_else(|_| gemini::check_credential(context)),
        Surface::Azure | Surface::Ollama => Ok(()),
    }
}

/// Azure's own checks, and the model from the path.
fn azure(context: &UpstreamRequest<'_>, request: &mut Value, deployment: &str) -> Option<Answer> {
    let refuse = |status: u16, message: &str| {
        let body = json!({"error": {"code": status.to_string(), "message": message}});
        Some(Answer { status, ..Answer::whole(body.to_string()) })
    };
    if context.header("api-key").is_none() {
        return refuse(
            401,
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
        );
    }
    if context.parameter("api-version").is_none() {
        return refuse(404, "Resource not found");
    }
    if request.is_object() {
        request["model"] = json!(deployment);
    }
    None
}

fn unknown_route(received: &ReceivedRequest<'_>) -> UpstreamRejection {
    UpstreamRejection::new(404, format!("Invalid URL ({} {})", received.method, received.path))
}

fn rejected(dialect: Dialect, rejection: &UpstreamRejection) -> (Answer, Entry) {
    let body = dialect.error(rejection).to_string();
    (Answer { status: rejection.status, ..Answer::whole(body) }, Entry::default())
}

/// As many images as requested.
fn images(context: &UpstreamRequest<'_>, request: &Value) -> Value {
    let count = request["n"].as_u64().unwrap_or(1);
    let data: Vec<Value> =
        (0..count).map(|n| json!({"url": format!("http://pictures.test/{n}.png")})).collect();
    json!({"created": context.created, "data": data})
}

fn document(dialect: Dialect, result: Result<Value, UpstreamRejection>) -> (Answer, Entry) {
    match result {
        Ok(document) => (Answer::whole(document.to_string()), Entry::default()),
        Err(rejection) => rejected(dialect, &rejection),
    }
}
