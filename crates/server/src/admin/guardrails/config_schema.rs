//! JSON Schemas of the settings of each type of guardrail, from which forms are made.

use domain::resources::guardrail::GuardrailType;
use serde_json::{Value, json};

pub fn of(guardrail_type: GuardrailType) -> Value {
    match guardrail_type {
        GuardrailType::SystemPrompt => system_prompt(),
        GuardrailType::RegexBlock => regex_block(),
        GuardrailType::PiiRedact => pii_redact(),
        GuardrailType::PromptInjection => prompt_injection(),
        GuardrailType::LengthLimit => length_limit(),
        GuardrailType::LlmBasedAltering => llm_based_altering(),
        GuardrailType::Webhook => webhook(),
    }
}

fn system_prompt() -> Value {
    json!({
        "type": "object",
        "properties": {
            "mode": {
                "type": "string",
                "title": "Mode",
                "description": "inject: added if the request has no instructions. override: in place of \
                    the instructions of the request. decorator: before the instructions of the request.",
                "enum": ["inject", "override", "decorator"],
                "default": "inject",
            },
            "content": {
                "type": "string",
                "title": "Content",
                "description": "The text of the instructions.",
                "format": "textarea",
                "minLength": 1,
                "maxLength": 262_144,
            },
        },
        "required": ["content"],
        "additionalProperties": false,
    })
}

fn regex_block() -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "title": "Action",
                "description": "block: the request or the answer is refused. sanitize: matches are \
                    replaced.",
                "enum": ["block", "sanitize"],
                "default": "block",
            },
            "patterns": {
                "type": "array",
                "title": "Patterns",
                "description": "Regular expressions without look-around and back-references. Unless only \
                    requests are inspected, a match must have a maximum length: write {1,100} in place of \
                    +.",
                "items": {"type": "string", "format": "regex", "minLength": 1, "maxLength": 4096},
                "minItems": 1,
                "maxItems": 1000,
            },
            "replacement": {
                "type": "string",
                "title": "Replacement",
                "description": "The text in place of a match, if the action is sanitize.",
                "default": "[REDACTED]",
            },
            "roles": roles(),
        },
        "required": ["patterns"],
        "additionalProperties": false,
    })
}

fn pii_redact() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kinds": {
                "type": "array",
                "title": "Kinds",
                "description": "The kinds of data to look for. None: all but phone, ip_address and \
                    date_of_birth, for which other texts are mistaken more often.",
                "items": {"type": "string", "enum": PII_KINDS},
                "uniqueItems": true,
                "default": [],
            },
            "action": {
                "type": "string",
                "title": "Action",
                "description": "redact: findings are replaced by placeholders. block: the request or the \
                    answer is refused.",
                "enum": ["redact", "block"],
                "default": "redact",
            },
            "reversible": {
                "type": "boolean",
                "title": "Reversible",
                "description": "Whether placeholders in the answer are replaced by the values that they \
                    stand for.",
                "default": false,
            },
            "roles": roles(),
        },
        "required": [],
        "additionalProperties": false,
    })
}

const PII_KINDS: [&str; 14] = [
    "email",
    "phone",
    "ssn",
    "credit_card",
    "iban",
    "ip_address",
    "mac_address",
    "crypto_address",
    "national_id",
    "date_of_birth",
    "api_key",
    "private_key",
    "jwt",
    "connection_string",
];

fn prompt_injection() -> Value {
    json!({
        "type": "object",
        "properties": {
            "sensitivity": {
                "type": "string",
                "title": "Sensitivity",
                "description": "How little evidence is enough. A higher sensitivity also finds more harmless \
                    texts.",
                "enum": ["low", "medium", "high"],
                "default": "medium",
            },
            "action": {
                "type": "string",
                "title": "Action",
                "description": "flag: the verdict is recorded, and the call is made. block: the call is \
                    refused.",
                "enum": ["block", "flag"],
                "default": "flag",
            },
            "classifier": {
                "type": "string",
                "title": "Classifier",
                "description": "auto: a local classifier scores the texts beside the rules, if its weights are \
                    imported. off: rules alone.",
                "enum": ["auto", "off"],
                "default": "auto",
            },
        },
        "required": [],
        "additionalProperties": false,
    })
}

fn length_limit() -> Value {
    json!({
        "type": "object",
        "properties": {
            "max_chars": {
                "type": ["integer", "null"],
                "title": "Characters",
                "description": "The most characters of all texts of a request or an answer.",
                "minimum": 1,
                "default": null,
            },
            "max_estimated_tokens": {
                "type": ["integer", "null"],
                "title": "Estimated tokens",
                "description": "The most tokens of all texts of a request or an answer, estimated by \
                    their length.",
                "minimum": 1,
                "default": null,
            },
        },
        "required": [],
        "minProperties": 1,
        "additionalProperties": false,
    })
}

fn llm_based_altering() -> Value {
    json!({
        "type": "object",
        "properties": {
            "model": {
                "type": "string",
                "title": "Model",
                "description": "The model that alters the texts: an alias, combo, pool or model, as in a call. \
                    Its calls are made and paid for by the caller.",
                "minLength": 1,
                "maxLength": 300,
            },
            "prompt": {
                "type": "string",
                "title": "Prompt",
                "description": "The instructions of the model. It gets one text at a time, and its answer takes \
                    the place of the text.",
                "format": "textarea",
                "minLength": 1,
                "maxLength": 262_144,
            },
            "roles": roles(),
            "skip_content_prefix": {
                "type": "string",
                "title": "Prefix of skipped texts",
                "description": "Texts that begin with it are not altered. None: all texts are.",
                "maxLength": 1000,
                "default": "",
            },
            "max_tokens": {
                "type": "integer",
                "title": "Output tokens",
                "description": "The most output tokens for one text. A longer answer is a failure.",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 4096,
            },
        },
        "required": ["model", "prompt"],
        "additionalProperties": false,
    })
}

fn webhook() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {
                "type": "string",
                "title": "URL",
                "description": "The address that the texts are posted to. It answers with a verdict.",
                "format": "uri",
                "maxLength": 2000,
            },
            "headers": {
                "type": "object",
                "title": "Headers",
                "description": "Headers of the request, for example a credential. Their values are encrypted \
                    and shown masked.",
                "additionalProperties": {"type": "string"},
                "default": {},
            },
            "timeout_ms": {
                "type": "integer",
                "title": "Timeout",
                "description": "The time for an answer in milliseconds. After that, on_error applies.",
                "minimum": 1,
                "maximum": 60_000,
                "default": 5000,
            },
        },
        "required": ["url"],
        "additionalProperties": false,
    })
}

fn roles() -> Value {
    json!({
        "type": "array",
        "title": "Roles",
        "description": "The roles whose messages are inspected. None: all.",
        "items": {"type": "string", "enum": ["system", "developer", "user", "assistant", "tool"]},
        "uniqueItems": true,
        "default": [],
    })
}
