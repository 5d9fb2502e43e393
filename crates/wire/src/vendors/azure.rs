//! Azure OpenAI: models are deployments, addressed in the path.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "azure",
    title: "Azure OpenAI",
    base_url: None,
    base_url_required: true,
    credentials: Credentials::Header("api-key"),
    // Deployments cannot be listed with an API key; the operator configures them.
    discovery: Discovery::None,
    api_version: Some("2024-10-21"),
    paths: Paths {
        chat: Some("/openai/deployments/{model}/chat/completions"),
        embeddings: Some("/openai/deployments/{model}/embeddings"),
        completions: Some("/openai/deployments/{model}/completions"),
        ..NOTHING
    },
    quirks: Quirks {
        developer_role: true,
        completion_tokens_rename: openai::reasons,
        call_ids: CallIds::UpToForty,
        cache_keys: true,
        ..PLAIN
    },
    rules: openai::rules,
    ..HOSTED
};
