//! The check of a connection: the list of models, then a small call through the API that the tool uses.

use cli_tools::Api;
use serde_json::{Value, json};

use crate::commands::gateway_http::{GatewayHttp, GatewayKey};

/// The models that are offered to the tool at most.
const MOST_MODELS: usize = 1000;
const MOST_TOKENS: u32 = 16;
const MESSAGE: &str = "Say hello.";

/// The models that the key may use.
pub async fn models(http: &GatewayHttp, key: &GatewayKey) -> Result<Vec<String>, String> {
    let (status, answer) = http.send("GET", "/v1/models", key, None, None).await?;
    let document: Value = serde_json::from_str(&answer).unwrap_or_default();
    if status != 200 {
        return Err(refusal(http, key, status, &document));
    }
    let Some(list) = document["data"].as_array() else {
        return Err(format!("{} does not answer as a gateway does: check --url.", http.url));
    };
    let ids = list.iter().filter_map(|model| model["id"].as_str());
    // Names that cannot stand in a configuration file are left out.
    let usable = ids.filter(|id| id.chars().all(|c| c.is_ascii_graphic() && !"\"'\\`$".contains(c)));
    let models: Vec<String> = usable.take(MOST_MODELS).map(str::to_owned).collect();
    match models.is_empty() {
        true => Err(format!(
            "The gateway at {} has no models for this key. Configure a provider first.",
            http.url
        )),
        false => Ok(models),
    }
}

/// Makes a small call and returns a sentence about it.
pub async fn call(
    http: &GatewayHttp,
    key: &GatewayKey,
    api: Api,
    model: Option<&str>,
    models: &[String],
) -> Result<String, String> {
    let listed = format!("{} models", models.len());
    let Some(tried) = model.or(models.first().map(String::as_str)) else { return Ok(listed) };
    let (path, body) = request(api, tried);
    let (status, answer) = http.send("POST", &path, key, Some(body.to_string()), None).await?;
    let document: Value = serde_json::from_str(&answer).unwrap_or_default();
    match (status, model) {
        (200, _) => Ok(format!("{listed}, and a call with '{tried}' succeeded.")),
        (_, Some(_)) => {
            let reason = refusal(http, key, status, &document);
            Err(format!("The call with the model '{tried}' failed: {reason} Nothing was written."))
        }
        // Nobody chose this model; it may be one for embeddings.
        (_, None) => {
            Ok(format!("{listed}. A call with '{tried}' failed with {status}: choose a model with --model."))
        }
    }
}

fn request(api: Api, model: &str) -> (String, Value) {
    let turn = json!([{"role": "user", "content": MESSAGE}]);
    match api {
        Api::ChatCompletions => (
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "max_tokens": MOST_TOKENS, "messages": turn}),
        ),
        Api::Responses => (
            "/v1/responses".to_owned(),
            json!({"model": model, "max_output_tokens": MOST_TOKENS, "input": MESSAGE, "store": false}),
        ),
        Api::Messages => {
            ("/v1/messages".to_owned(), json!({"model": model, "max_tokens": MOST_TOKENS, "messages": turn}))
        }
        Api::Gemini => (
            format!("/v1beta/models/{model}:generateContent"),
            json!({"contents": [{"role": "user", "parts": [{"text": MESSAGE}]}],
                "generationConfig": {"maxOutputTokens": MOST_TOKENS}}),
        ),
    }
}

fn refusal(http: &GatewayHttp, key: &GatewayKey, status: u16, answer: &Value) -> String {
    let message = answer["error"]["message"].as_str();
    match (status, message) {
        (401, _) => format!(
            "The gateway at {} refused the key from {}. Ask for a key of this gateway, or create one with `gatehouse keys create`.",
            http.url, key.origin
        ),
        (403, Some(message)) => format!("{message} The key needs the scope inference."),
        (_, Some(message)) => message.to_owned(),
        (_, None) => format!("{} answered {status}, and not as a gateway does: check --url.", http.url),
    }
}
