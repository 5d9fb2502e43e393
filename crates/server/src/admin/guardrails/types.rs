//! The types of guardrails, with a form schema of the settings of each.

use axum::Json;
use domain::resources::guardrail::{Direction, GuardrailType};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::config_schema;
use crate::authorized::{Authorized, Guardrails, Read};

#[derive(Serialize, ToSchema)]
pub struct GuardrailTypeView {
    #[serde(rename = "type")]
    pub guardrail_type: GuardrailType,
    pub title: &'static str,
    pub description: &'static str,
    /// The directions in which it has an effect.
    pub directions: Vec<Direction>,
    /// A JSON Schema of `config`.
    #[schema(value_type = Object)]
    pub schema: Value,
}

/// List the types of guardrails.
#[utoipa::path(get, path = "/admin/api/v1/guardrails/types", tag = "guardrails",
    responses((status = 200, description = "The types", body = Vec<GuardrailTypeView>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:guardrails:read"])))]
pub async fn types(_: Authorized<Read<Guardrails>>) -> Json<Vec<GuardrailTypeView>> {
    Json(GuardrailType::ALL.into_iter().map(view).collect())
}

fn view(guardrail_type: GuardrailType) -> GuardrailTypeView {
    let (title, description) = describe(guardrail_type);
    GuardrailTypeView {
        guardrail_type,
        title,
        description,
        directions: directions(guardrail_type).to_vec(),
        schema: config_schema::of(guardrail_type),
    }
}

fn describe(guardrail_type: GuardrailType) -> (&'static str, &'static str) {
    match guardrail_type {
        GuardrailType::SystemPrompt => {
            ("System prompt", "Adds instructions to requests, or replaces those that they have.")
        }
        GuardrailType::RegexBlock => {
            ("Patterns", "Blocks texts in which a regular expression matches, or replaces the matches.")
        }
        GuardrailType::PiiRedact => (
            "Personal data and secrets",
            "Replaces personal data and secrets by placeholders, or blocks texts that contain some.",
        ),
        GuardrailType::PromptInjection => (
            "Prompt injection",
            "Scores the texts of users and tools for attempts to change the instructions of the model.",
        ),
        GuardrailType::LengthLimit => ("Length limit", "Blocks requests and answers that are too long."),
        GuardrailType::LlmBasedAltering => (
            "Altering by a model",
            "Replaces each text by the answer of a model to it. An answer is sent when the whole of it is altered.",
        ),
        GuardrailType::Webhook => (
            "Webhook",
            "Posts the texts to a server, which allows, blocks or replaces them. An answer is sent after the \
            verdict on the whole of it.",
        ),
    }
}

/// The directions in which guardrails of a type have an effect.
pub fn directions(guardrail_type: GuardrailType) -> &'static [Direction] {
    match guardrail_type {
        GuardrailType::SystemPrompt | GuardrailType::PromptInjection => &[Direction::Input, Direction::Both],
        GuardrailType::RegexBlock | GuardrailType::PiiRedact => {
            &[Direction::Input, Direction::Output, Direction::Both, Direction::Log]
        }
        GuardrailType::LengthLimit | GuardrailType::LlmBasedAltering | GuardrailType::Webhook => {
            &[Direction::Input, Direction::Output, Direction::Both]
        }
    }
}
