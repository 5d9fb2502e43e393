//! Error messages for unknown routes: suggest the nearest route, or the alternative to an API that is not served.

use std::sync::OnceLock;

use strsim::osa_distance as distance;

use crate::openapi;

/// Path prefixes of APIs that are not served, each with the alternative to suggest.
const NOT_SERVED: [(&str, &str); 25] = [
    ("/v1/images", PASSTHROUGH),
    ("/v1/audio", PASSTHROUGH),
    ("/v1/videos", PASSTHROUGH),
    ("/v1/files", PASSTHROUGH),
    ("/v1/uploads", PASSTHROUGH),
    ("/v1/batches", PASSTHROUGH),
    ("/v1/moderations", PASSTHROUGH),
    ("/v1/fine_tuning", PASSTHROUGH),
    ("/v1/fine-tunes", PASSTHROUGH),
    ("/v1/vector_stores", PASSTHROUGH),
    ("/v1/containers", PASSTHROUGH),
    ("/v1/evals", PASSTHROUGH),
    ("/v1/conversations", PASSTHROUGH),
    ("/v1/chatkit", PASSTHROUGH),
    ("/v1/organization", PASSTHROUGH),
    ("/v1/realtime", "Use `/v1/responses`, which also serves WebSockets, for conversations."),
    ("/v1/assistants", "Use `/v1/responses`."),
    ("/v1/threads", "Use `/v1/responses` with `previous_response_id`."),
    ("/v1/engines", "Use `/v1/models`, and `/v1/chat/completions` with `model`."),
    ("/v1/edits", "Use `/v1/chat/completions`."),
    ("/v1/complete", "Use `/v1/messages`."),
    ("/api/chat", "Use `/v1/chat/completions`."),
    ("/api/generate", "Use `/v1/completions` or `/v1/chat/completions`."),
    ("/api/tags", "Use `/v1/models`."),
    ("/api/embed", "Use `/v1/embeddings`."),
];

/// Marks APIs that are available through passthrough.
const PASSTHROUGH: &str = "";

/// Divisor of the similarity threshold: at most a third of the path may differ from a suggested route.
const TOLERATED: usize = 3;
const LONGEST: usize = 120;

pub fn message(path: &str) -> String {
    let shown: String = path.chars().take(200).filter(|letter| !letter.is_control()).collect();
    if let Some((prefix, instead)) = NOT_SERVED.iter().find(|(prefix, _)| is_below(path, prefix)) {
        return match *instead {
            PASSTHROUGH => format!(
                "`{prefix}` is not served by the gateway. Use `/p/{{provider}}{}` to call a provider's own API.",
                shown.trim_start_matches("/v1")
            ),
            instead => format!("`{prefix}` is not served by the gateway. {instead}"),
        };
    }
    match nearest(path) {
        Some(route) => format!("Unknown route `{shown}`. Did you mean `{route}`?"),
        None => format!("Unknown route `{shown}`. The routes are listed in `/admin/api/v1/openapi.json`."),
    }
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn nearest(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    // Such a long path is not a typo, and the comparison takes quadratic time.
    if path.is_empty() || path.len() > LONGEST {
        return None;
    }
    let misplaced = |route: &&String| {
        let rest = route.strip_prefix("/v1").unwrap_or(route);
        path == rest || (path.ends_with(route.as_str()) && path != route.as_str())
    };
    if let Some(route) = templates().iter().find(misplaced) {
        return Some(route.clone());
    }
    let candidates = templates().iter().map(|template| filled(template, path));
    let candidates = candidates.filter(|route| route.len().abs_diff(path.len()) * TOLERATED <= path.len());
    let (distance, route) = candidates.map(|route| (distance(&route, path), route)).min()?;
    (distance * TOLERATED <= path.len()).then_some(route)
}

/// The template with its parameters replaced by the path's own segments, so that only the fixed segments are compared.
fn filled(template: &str, path: &str) -> String {
    let mut segments = path.split('/');
    let mut filled = Vec::new();
    for part in template.split('/') {
        let own = segments.next();
        match own {
            Some(own) if part.starts_with('{') && part.ends_with('}') && !own.is_empty() => filled.push(own),
            _ => filled.push(part),
        }
    }
    filled.join("/")
}

/// All documented routes, the longest first, so that the most specific one is suggested.
fn templates() -> &'static [String] {
    static TEMPLATES: OnceLock<Vec<String>> = OnceLock::new();
    TEMPLATES.get_or_init(|| {
        let document = openapi::declared();
        let paths = document["paths"].as_object().into_iter().flat_map(|paths| paths.keys());
        let mut templates: Vec<String> = paths.cloned().collect();
        templates.sort_by_key(|template| std::cmp::Reverse(template.len()));
        templates
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_routes_suggest_the_nearest() {
        for (path, meant) in [
            ("/chat/completions", "/v1/chat/completions"),
            ("/v1/chat/completion", "/v1/chat/completions"),
            ("/v1/v1/chat/completions", "/v1/chat/completions"),
            ("/v1/chat/completions/", "/v1/chat/completions"),
            ("/v1/embedding", "/v1/embeddings"),
            ("/v1/response", "/v1/responses"),
            ("/models", "/v1/models"),
            ("/v1/message", "/v1/messages"),
            ("/admin/api/v1/usage/sumary", "/admin/api/v1/usage/summary"),
            ("/admin/api/v1/provider", "/admin/api/v1/providers"),
            ("/admin/api/v1/auth-keys/abc/rotat", "/admin/api/v1/auth-keys/abc/rotate"),
        ] {
            assert_eq!(message(path), format!("Unknown route `{path}`. Did you mean `{meant}`?"));
        }
        assert!(message("/wp-login.php").contains("openapi.json"), "{}", message("/wp-login.php"));
    }

    #[test]
    fn unsupported_apis_name_the_alternative() {
        let images = message("/v1/images/generations");
        assert!(images.contains("`/p/{provider}/images/generations`"), "{images}");
        assert!(message("/v1/assistants").ends_with("Use `/v1/responses`."));
        assert!(message("/v1/threads/t/runs").contains("previous_response_id"));
        assert!(message("/v1/imagesque").starts_with("Unknown route"));
        assert!(!message(&format!("/{}", "x".repeat(5000))).contains(&"x".repeat(201)));
    }
}
