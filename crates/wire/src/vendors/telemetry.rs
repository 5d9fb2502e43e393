//! Provider names that the OpenTelemetry GenAI conventions define for `gen_ai.provider.name`.

pub fn otel_provider_name(provider_type: &str) -> &str {
    match provider_type {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "vertex" => "gcp.vertex_ai",
        "xai" => "x_ai",
        other => other,
    }
}
