//! The member names of all formats that determine a request's shape. A missing name makes an upper bound too low.

/// Top-level members that limit the output.
pub const OUTPUT_LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// Gemini's object of generation settings: protobuf JSON allows camel case and snake case.
pub const GENERATION_CONFIGS: [&str; 2] = ["generationConfig", "generation_config"];
pub const OUTPUT_LIMITS_IN_CONFIG: [&str; 2] = ["maxOutputTokens", "max_output_tokens"];
pub const CHOICES_IN_CONFIG: [&str; 2] = ["candidateCount", "candidate_count"];

/// Top-level members that set the number of answers.
pub const CHOICES: [&str; 3] = ["n", "best_of", "num_generations"];

/// Top-level members with settings for reasoning.
pub const REASONING: [&str; 5] =
    ["reasoning_effort", "reasoning", "thinking", "generationConfig", "generation_config"];

pub const REASONING_BUDGETS: [&[&str]; 5] = [
    &["thinking", "budget_tokens"],
    &["generationConfig", "thinkingConfig", "thinkingBudget"],
    &["generationConfig", "thinking_config", "thinking_budget"],
    &["generation_config", "thinkingConfig", "thinkingBudget"],
    &["generation_config", "thinking_config", "thinking_budget"],
];

/// Top-level members that refer to input stored at the provider, or to servers that it reads input from.
pub const STORED_CONTEXT: [&str; 5] =
    ["previous_response_id", "conversation", "cachedContent", "cached_content", "mcp_servers"];

/// Top-level members that tie an answer to one provider.
pub const BOUND_TO_PROVIDER: [&str; 3] = ["background", "conversation", "prompt"];

/// Top-level members that hold the text of the prompt.
pub const PROMPT: [&str; 10] = [
    "messages",
    "system",
    "instructions",
    "input",
    "contents",
    "systemInstruction",
    "system_instruction",
    "prompt",
    "query",
    "documents",
];

/// Names, at any depth, of input that is not in the body, or that the provider's own tools read while it answers.
pub const EXTERNAL_CONTEXT: [&str; 25] = [
    "\"file_id\"",
    "\"file_url\"",
    "\"file_data\"",
    "\"fileData\"",
    "\"document\"",
    "\"file\"",
    "\"file_search",
    "\"fileSearch",
    "\"web_search",
    "\"webSearch",
    "\"web_fetch",
    "\"mcp\"",
    "\"mcp_toolset\"",
    "\"code_interpreter",
    "\"code_execution",
    "\"codeExecution",
    "\"computer_",
    "\"google_search",
    "\"googleSearch",
    "\"google_maps",
    "\"googleMaps",
    "\"url_context",
    "\"urlContext",
    "\"search_parameters\"",
    "\"plugins\"",
];

/// Names, at any depth, of parts that hold an image.
pub const IMAGES: [&str; 5] =
    ["\"image_url\"", "\"input_image\"", "\"image\"", "\"inlineData\"", "\"inline_data\""];
