//! Random calls in every API format, to models that exist and some that do not, with and without mistakes.

use std::sync::LazyLock;

use bytes::Bytes;
use domain::call::{Format, Surface};
use http::{HeaderMap, HeaderName, HeaderValue};
use pipeline::call::arrival::{Arrival, RequestId};
use serde_json::{Value, json};

use crate::ground::{NOW, TICK};
use crate::luck::Luck;
use crate::world::{KEY, MASTER, World};

#[derive(Clone, Debug)]
pub struct Call {
    pub surface: Surface,
    pub addressed: Option<(String, Option<bool>)>,
    pub by_master: bool,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    /// The same call with another request id.
    pub fn with_id(&self, id: &str) -> Self {
        let mut call = self.clone();
        call.headers.insert("x-request-id", HeaderValue::from_str(id).unwrap());
        call
    }

    pub fn arrival(&self) -> Arrival {
        Arrival {
            request_id: RequestId::accept(self.headers.get("x-request-id")).unwrap(),
            at: NOW,
            tick: TICK,
            method: "POST",
            endpoint: "/v1/anything",
            surface: self.surface,
            addressed: self.addressed.clone(),
            path: None,
            query: None,
            client_ip: None,
            headers: self.headers.clone().into(),
            client_credential: None,
            credential_digest: None,
        }
    }
}

const SURFACES: [Surface; 11] = [
    Surface::Converse(Format::Chat),
    Surface::Converse(Format::Chat),
    Surface::Converse(Format::Chat),
    Surface::Converse(Format::Messages),
    Surface::Converse(Format::Messages),
    Surface::Converse(Format::Responses),
    Surface::Converse(Format::Gemini),
    Surface::Completions,
    Surface::Embeddings,
    Surface::EmbedContent { batch: false },
    Surface::Rerank,
];

pub fn draw(luck: &mut Luck, world: &World, request_id: &str) -> Call {
    let surface = SURFACES[luck.between(0, SURFACES.len() as u64 - 1) as usize];
    let by_master = luck.percent(50);
    // Names with several targets are at the end; half of the calls go to them.
    let named = world.selectors.len().saturating_sub(8);
    let all = &world.selectors[..];
    let among = if luck.percent(50) { &all[named..] } else { all };
    let model = luck.name(among);
    let stream = luck.percent(40)
        && !matches!(surface, Surface::Embeddings | Surface::EmbedContent { .. } | Surface::Rerank);
    let mut body = body(luck, surface);
    let mut addressed = None;
    if matches!(surface, Surface::Converse(Format::Gemini) | Surface::EmbedContent { .. }) {
        addressed = Some((model, Some(stream)));
    } else {
        if luck.percent(98) {
            body["model"] = json!(model);
        }
        if stream {
            body["stream"] = json!(true);
        }
    }
    if luck.percent(8) {
        body["provider"] = json!(luck.name(&world.instances));
    }
    Call {
        surface,
        addressed,
        by_master,
        headers: headers(luck, world, by_master, request_id),
        body: body.to_string().into(),
    }
}

fn headers(luck: &mut Luck, world: &World, by_master: bool, request_id: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: &'static str, value: &str| {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    };
    add("authorization", &format!("Bearer {}", if by_master { MASTER } else { KEY }));
    add("x-request-id", request_id);
    if luck.percent(8) {
        add("x-gateway-force-provider", &luck.name(&world.instances));
    }
    if luck.percent(20) {
        add("x-gateway-user-path", luck.one(&["/team", "/team/one", "/other", "/a/../b"]));
    }
    if luck.percent(20) {
        add("anthropic-beta", "tools-of-tomorrow");
    }
    if luck.percent(20) {
        add("x-cache-type", luck.one(&["exact", "semantic", "both", "none"]));
    }
    headers
}

/// A text that is long enough for prompt caches.
static LONG: LazyLock<String> = LazyLock::new(|| "Tell me more of it. ".repeat(300));

fn body(luck: &mut Luck, surface: Surface) -> Value {
    let text = luck.one(&[
        "How are you?",
        "Tell me of the sea. Grüße, 海",
        "Tell me of the sea.",
        "Please tell me of the sea.",
        "Write to ana@example.com.",
        "x",
        LONG.as_str(),
    ]);
    match surface {
        Surface::Converse(Format::Chat) => chat(luck, text),
        Surface::Converse(Format::Messages) => messages(luck, text),
        Surface::Converse(Format::Responses) => {
            let mut body = json!({"input": text});
            maybe(luck, &mut body, 30, "instructions", json!("Be brief."));
            maybe(luck, &mut body, 30, "max_output_tokens", json!(50));
            maybe(luck, &mut body, 30, "store", json!(false));
            maybe(luck, &mut body, 10, "previous_response_id", json!("resp_of_nobody"));
            body
        }
        Surface::Converse(Format::Gemini) => {
            let mut body = json!({"contents": [{"role": "user", "parts": [{"text": text}]}]});
            maybe(
                luck,
                &mut body,
                30,
                "generationConfig",
                json!({"maxOutputTokens": 50, "temperature": 0.5}),
            );
            maybe(luck, &mut body, 20, "safetySettings", json!([]));
            body
        }
        Surface::Completions => json!({"prompt": text, "max_tokens": 20}),
        Surface::Embeddings => json!({"input": [text, "and more"]}),
        Surface::EmbedContent { .. } => json!({"content": {"parts": [{"text": text}]}}),
        Surface::Rerank => json!({"query": text, "documents": ["one", "two"], "top_n": 1}),
    }
}

fn chat(luck: &mut Luck, text: &str) -> Value {
    let mut body = json!({"messages": [{"role": "user", "content": text}]});
    if luck.percent(20) {
        body["messages"] =
            json!([{"role": "developer", "content": "Be kind."}, {"role": "user", "content": text}]);
    }
    maybe(luck, &mut body, 20, "temperature", json!(0.25));
    maybe(luck, &mut body, 2, "temperature", json!(7));
    maybe(luck, &mut body, 30, "max_tokens", json!(40));
    maybe(luck, &mut body, 10, "logit_bias", json!({"50256": -100}));
    maybe(luck, &mut body, 10, "seed", json!(7));
    maybe(luck, &mut body, 10, "n", json!(2));
    let tool = json!([{"type": "function", "function": {"name": "look", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]);
    maybe(luck, &mut body, 15, "tools", tool);
    body
}

fn messages(luck: &mut Luck, text: &str) -> Value {
    let mut body = json!({"max_tokens": 60, "messages": [{"role": "user", "content": text}]});
    maybe(luck, &mut body, 30, "system", json!("Be brief."));
    maybe(luck, &mut body, 20, "top_k", json!(5));
    maybe(luck, &mut body, 20, "stop_sequences", json!(["END"]));
    maybe(luck, &mut body, 2, "messages", json!("not a list"));
    body
}

fn maybe(luck: &mut Luck, body: &mut Value, chance: u64, name: &str, value: Value) {
    if luck.percent(chance) {
        body[name] = value;
    }
}
