//! Rewrites the paths of Azure OpenAI clients to the equivalent OpenAI routes.
//!
//! `/openai/v1/…` becomes `/v1/…`. `/openai/deployments/{model}/chat/completions` becomes `/v1/chat/completions` with
//! the model from the path. `/openai/responses` and `/openai/models` are the paths that the AzureOpenAI client calls
//! outside of deployments. The query is kept; `api-version` is ignored.

use http::uri::PathAndQuery;
use http::{Request, Uri};

/// The model that the path named as its deployment.
#[derive(Clone)]
pub struct AzureDeployment(pub String);

/// The URI as the client sent it, before the rewrite.
#[derive(Clone)]
pub struct RewrittenFrom(pub Uri);

/// Operations of a deployment. Of two with the same suffix, the longer one comes first.
const OPERATIONS: [&str; 3] = ["/chat/completions", "/completions", "/embeddings"];
const OUTSIDE_DEPLOYMENTS: [&str; 2] = ["responses", "models"];

/// Rewrites the request's URI if it is an Azure path below `base`, the gateway's base path without a trailing slash.
pub fn rewrite<B>(request: &mut Request<B>, base: &str) {
    let Some(below) = request.uri().path().strip_prefix(base).and_then(|path| path.strip_prefix("/openai/"))
    else {
        return;
    };
    let Some((path, deployment)) = route(below) else { return };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let Ok(path_and_query) = PathAndQuery::try_from(format!("{base}{path}{query}")) else { return };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(path_and_query);
    let Ok(rewritten) = Uri::from_parts(parts) else { return };
    let original = std::mem::replace(request.uri_mut(), rewritten);
    request.extensions_mut().insert(RewrittenFrom(original));
    if let Some(model) = deployment {
        request.extensions_mut().insert(AzureDeployment(model));
    }
}

/// Returns the route for the path after `/openai/`, and the model if the path names one.
fn route(below: &str) -> Option<(String, Option<String>)> {
    if let Some(rest) = below.strip_prefix("v1/") {
        return Some((format!("/v1/{rest}"), None));
    }
    if let Some(rest) = below.strip_prefix("deployments/") {
        // Model names may contain slashes, which clients send encoded or not.
        let named = |operation: &str| rest.strip_suffix(operation).filter(|model| !model.is_empty());
        let operation = OPERATIONS.iter().find(|operation| named(operation).is_some())?;
        return Some((format!("/v1{operation}"), Some(decode(named(operation)?)?)));
    }
    let first = below.split('/').next().unwrap_or_default();
    OUTSIDE_DEPLOYMENTS.contains(&first).then(|| (format!("/v1/{below}"), None))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azures_paths_are_openais_routes() {
        for (base, path, expected, model) in [
            (
                "",
                "/openai/v1/chat/completions?api-version=preview",
                "/v1/chat/completions?api-version=preview",
                None,
            ),
            ("", "/openai/v1/models/a/b", "/v1/models/a/b", None),
            ("/gate", "/gate/openai/v1/responses", "/gate/v1/responses", None),
            (
                "",
                "/openai/deployments/gpt-4o/chat/completions?a=1",
                "/v1/chat/completions?a=1",
                Some("gpt-4o"),
            ),
            (
                "",
                "/openai/deployments/openai/gpt-4o/chat/completions",
                "/v1/chat/completions",
                Some("openai/gpt-4o"),
            ),
            ("", "/openai/deployments/openai%2Fgpt-4o/embeddings", "/v1/embeddings", Some("openai/gpt-4o")),
            ("", "/openai/deployments/m/completions", "/v1/completions", Some("m")),
            ("", "/openai/responses/resp_1?api-version=x", "/v1/responses/resp_1?api-version=x", None),
            ("", "/openai/models", "/v1/models", None),
            // Not aliases, so left unchanged.
            (
                "",
                "/openai/deployments/m/images/generations",
                "/openai/deployments/m/images/generations",
                None,
            ),
            ("", "/openai/deployments/chat/completions", "/v1/completions", Some("chat")),
            ("", "/openai/deployments/%F/embeddings", "/openai/deployments/%F/embeddings", None),
            ("", "/openai/nothing", "/openai/nothing", None),
            ("", "/openaiv1/models", "/openaiv1/models", None),
            ("", "/p/openai/v1/models", "/p/openai/v1/models", None),
            ("/gate", "/openai/v1/models", "/openai/v1/models", None),
        ] {
            let mut request = Request::get(path).body(()).unwrap();
            rewrite(&mut request, base);
            assert_eq!(request.uri(), expected, "{path}");
            let found = request.extensions().get::<AzureDeployment>().map(|deployment| &*deployment.0);
            assert_eq!(found, model, "{path}");
            let from = request.extensions().get::<RewrittenFrom>().map(|original| original.0.to_string());
            assert_eq!(from, (path != expected).then(|| path.to_owned()));
        }
    }
}
