//! Resolves the endpoint of a request path.

use domain::fault::{self, Fault};
use http::request::Parts;

use crate::inference::call::Endpoint;
use crate::inference::{chat, gemini, messages, plain, responses};

const EXPLAINED: [Endpoint; 6] = [
    chat::ENDPOINT,
    responses::CREATE,
    messages::CREATE,
    plain::EMBEDDINGS,
    plain::RERANK,
    plain::COMPLETIONS,
];
/// Prefixes of the Gemini API, where the path names the model and the method.
const ADDRESSED: [&str; 2] = ["/v1beta/models/", "/v1/models/"];

pub struct ExplainedRequest {
    pub endpoint: Endpoint,
    /// The model from the path, and whether the path asks for a stream.
    pub addressed: Option<(String, Option<bool>)>,
    /// The request without its body.
    pub parts: Parts,
}

pub fn find(path: &str, base_path: &str) -> Result<ExplainedRequest, Fault> {
    let refused = || {
        let known: Vec<&str> = EXPLAINED.iter().map(|endpoint| endpoint.path).collect();
        let message = format!(
            "'{path}' is not explained. Explained are {} and /v1beta/models/{{model}}:generateContent or :streamGenerateContent.",
            known.join(", ")
        );
        fault::invalid_parameter("path", message)
    };
    let request = http::Request::post(path).body(()).map_err(|_| refused())?;
    let (parts, ()) = request.into_parts();
    let whole = parts.uri.path();
    let base = base_path.trim_end_matches('/');
    let below = whole.strip_prefix(base).filter(|below| below.starts_with('/')).unwrap_or(whole);
    if let Some(endpoint) = EXPLAINED.iter().find(|endpoint| endpoint.path == below) {
        return Ok(ExplainedRequest { endpoint: *endpoint, addressed: None, parts });
    }
    if below.contains('%') {
        return Err(fault::invalid_parameter("path", "Write the path without percent-encoding."));
    }
    let named = ADDRESSED.iter().find_map(|prefix| below.strip_prefix(prefix)).ok_or_else(refused)?;
    let addressed = match named.rsplit_once(':') {
        Some((model, "generateContent")) => (model.to_owned(), Some(false)),
        Some((model, "streamGenerateContent")) => (model.to_owned(), Some(true)),
        _ => return Err(refused()),
    };
    Ok(ExplainedRequest { endpoint: gemini::ENDPOINT, addressed: Some(addressed), parts })
}

#[cfg(test)]
mod tests {
    use domain::call::{Format, Surface};

    use super::*;

    #[test]
    fn a_path_is_the_call_it_would_be() {
        let found = |path: &str| find(path, "/gate/").map(|place| (place.endpoint.surface, place.addressed));
        let gemini = Surface::Converse(Format::Gemini);
        for (path, expected) in [
            ("/v1/chat/completions", (Surface::Converse(Format::Chat), None)),
            ("/gate/v1/messages?beta=true", (Surface::Converse(Format::Messages), None)),
            ("/v1/responses", (Surface::Converse(Format::Responses), None)),
            ("/v1/rerank", (Surface::Rerank, None)),
            ("/v1beta/models/a/b:c:generateContent", (gemini, Some(("a/b:c".to_owned(), Some(false))))),
            ("/v1/models/m:streamGenerateContent?alt=sse", (gemini, Some(("m".to_owned(), Some(true))))),
        ] {
            assert_eq!(found(path), Ok(expected), "{path}");
        }
        for path in [
            "",
            "v1/messages",
            "/v1/messages/",
            "/v1/messages/count_tokens",
            "/v1/models/m:countTokens",
            "/gatev1/messages",
            "/p/openai/x",
            "/v1/models/m",
            "/v1/models/a%2Fb:generateContent",
        ] {
            let refused = found(path).unwrap_err();
            assert_eq!((refused.status, refused.param.as_deref()), (400, Some("path")), "{path}");
        }
    }

    /// Every explained route must be served.
    #[test]
    fn every_explained_path_is_served() {
        let document = crate::openapi::declared();
        for endpoint in EXPLAINED {
            assert!(document["paths"][endpoint.path]["post"].is_object(), "{}", endpoint.path);
        }
    }
}
