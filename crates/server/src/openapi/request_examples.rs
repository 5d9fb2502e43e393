//! Examples of request bodies, by method and path. A test sends each of them and accepts no 400.

use serde_json::{Value, json};

/// The example for an operation, such as `PUT /admin/api/v1/aliases/{name}`.
pub fn find(place: &str) -> Option<Value> {
    let (method, path) = place.split_once(' ')?;
    match path.strip_prefix("/admin/api/v1") {
        Some(path) => admin(method, path),
        None => inference(path),
    }
}

fn admin(method: &str, path: &str) -> Option<Value> {
    Some(match (method, path) {
        ("POST", "/auth-keys") => json!({
            "name": "ci", "user_path": "/team/a", "scopes": ["inference"],
            "rate_limits": {"requests_per_minute": 60}, "expiry": "2099-01-01T00:00:00Z",
        }),
        ("PUT", "/auth-keys/{id}") => json!({"name": "ci-2", "enabled": true}),
        ("POST", "/auth-keys/{id}/rotate" | "/auth-keys/me/rotate") => json!({"overlap_seconds": 3600}),
        ("POST", "/auth/login") => {
            json!({"email": "ada@example.org", "password": "correct horse battery staple"})
        }
        ("POST", "/auth/refresh") => json!({"refresh_token": "gr_example_0123456789"}),
        ("POST", "/auth/tokens/revoke") => json!({"subject": "ada"}),
        ("POST", "/identity/users") => json!({
            "email": "ada@example.org", "name": "Ada", "password": "correct horse battery staple", "roles": ["viewer"],
        }),
        ("PUT", "/identity/users/{id}") => json!({"name": "Ada"}),
        ("PUT", "/identity/users/{id}/roles") => json!({"roles": ["viewer"]}),
        ("POST", "/identity/roles") => json!({
            "name": "auditor", "permissions": [{"action": "read", "resource": "audit", "effect": "allow"}],
        }),
        ("PUT", "/identity/roles/{name}") => {
            json!({"permissions": [{"action": "read", "resource": "audit", "effect": "allow"}]})
        }
        ("POST", "/tenants") => json!({"slug": "acme", "name": "Acme"}),
        ("PUT", "/tenants/{id}") => json!({"name": "Acme"}),
        ("POST", "/config/plan" | "/config/apply") => {
            json!({"documents": {"aliases": {"chat": {"target": "openai/gpt-4o"}}}})
        }
        ("PATCH", "/settings") => json!({"log.level": "info"}),
        ("POST", "/providers") => {
            json!({"name": "openai-eu", "type": "openai", "api_key": "sk-example-0123456789"})
        }
        ("PUT", "/providers/{name}") | ("POST", "/providers/test") => {
            json!({"type": "openai", "api_key": "sk-example-0123456789"})
        }
        ("POST", "/pools") => json!({"name": "fast-pool", "members": ["openai"], "strategy": "least_loaded"}),
        ("PUT", "/pools/{name}") => json!({"members": ["openai"], "strategy": "round_robin"}),
        ("POST", "/combos") => json!({"name": "smart", "selectors": ["openai/gpt-4o", "openai/gpt-4o-mini"]}),
        ("PUT", "/combos/{id}") => {
            json!({"selectors": ["openai/gpt-4o", "openai/gpt-4o-mini"], "strategy": "primary_fallback"})
        }
        ("PUT", "/aliases/{name}") => {
            json!({"target": "openai/gpt-4o", "description": "The model for chats"})
        }
        ("PUT", "/model-overrides/{selector}") => json!({"enabled": true, "user_paths": ["/team/a"]}),
        ("PUT", "/model-pricing/{selector}") => json!({"input_per_mtok": 2.5, "output_per_mtok": 10.0}),
        ("POST", "/model-pricing/import") => json!({
            "mode": "dry_run", "prices": [{"selector": "openai/gpt-4o", "input_per_mtok": 2.5, "output_per_mtok": 10.0}],
        }),
        ("PUT", "/guardrails/{name}") => {
            json!({"type": "regex_block", "config": {"patterns": ["secret"]}})
        }
        ("POST", "/guardrails/{name}/test") => json!({"text": "Call me at 555 0100.", "role": "user"}),
        ("POST", "/workflows") => {
            json!({"name": "default", "workflow_payload": {"features": {"audit": true}}})
        }
        ("POST", "/usage/recalculate-pricing") => json!({"confirmation": "recalculate", "days": 30}),
        ("POST", "/budgets/reset") => json!({"confirmation": "reset"}),
        ("POST", "/budgets/reset-one") => json!({"user_path": "/team/a", "period": "daily"}),
        ("PUT", "/budgets/settings") => json!({"daily_reset_hour": 0, "thresholds": [0.8, 1.0]}),
        ("PUT", "/budgets/{user_path}/{period}") => json!({"amount": 10.0}),
        ("POST", "/cache/purge") => json!({"model": "openai/gpt-4o"}),
        ("POST", "/explain" | "/cache/debug") => json!({
            "path": "/v1/chat/completions",
            "body": {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hello"}]},
        }),
        ("POST", "/explain/replay") => json!({"changes": [], "limit": 100}),
        ("POST", "/cli-tools/{tool}/preview" | "/cli-tools/{tool}/apply") => {
            json!({"api_key": "gk_example_0123456789", "model": "openai/gpt-4o"})
        }
        _ => return None,
    })
}

fn inference(path: &str) -> Option<Value> {
    let turns = json!([{"role": "user", "content": "Hello"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "Hello"}]}]);
    Some(match path {
        "/v1/chat/completions" | "/p/{provider}/{endpoint}" => {
            json!({"model": "openai/gpt-4o", "messages": turns})
        }
        "/v1/messages" => json!({"model": "openai/gpt-4o", "max_tokens": 64, "messages": turns}),
        "/v1/messages/count_tokens" => json!({"model": "openai/gpt-4o", "messages": turns}),
        "/v1/responses" | "/v1/responses/input_tokens" | "/v1/responses/compact" => {
            json!({"model": "openai/gpt-4o", "input": "Hello"})
        }
        "/v1/completions" => json!({"model": "openai/gpt-4o", "prompt": "Hello"}),
        "/v1/embeddings" => json!({"model": "openai/text-embedding-3-small", "input": "Hello"}),
        "/v1/rerank" => json!({"model": "jina/reranker", "query": "birds", "documents": ["heron", "stone"]}),
        "/v1/models/{id}" | "/v1beta/models/{call}" => json!({"contents": contents}),
        _ => return None,
    })
}
