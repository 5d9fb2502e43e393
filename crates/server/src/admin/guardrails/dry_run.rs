//! Dry runs: a guardrail inspects a sample text, without a call.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::canon::Role;
use domain::fault::{self, Fault};
use domain::receipt::{GuardedSubject, GuardrailVerdict};
use domain::resources::guardrail::{Guardrail, TextRole};
use pipeline::guardrails::{CompileError, RemoteText, RemoteVerdicts, Sample, TestResult};
use pipeline::internal_call::InternalCaller;
use pipeline::remote_guardrails;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::compiled;
use crate::App;
use crate::admin::crud;
use crate::authorized::{Authorized, Guardrails, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;
use crate::request_context::RequestContext;

const MAX_TEXT: usize = 1024 * 1024;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardrailSample {
    /// At most 1 MiB.
    pub text: String,
    /// The role of the message. Default: user.
    #[serde(default)]
    pub role: Option<TextRole>,
    /// Whether it is the text of a request or of an answer. Default: request.
    #[serde(default)]
    pub subject: Option<GuardedSubject>,
}

#[derive(Serialize, ToSchema)]
pub struct GuardrailDryRun {
    pub verdict: GuardrailVerdict,
    pub changed: bool,
    /// The text after changes.
    pub text: String,
    /// The names of the injection rules that matched.
    pub rules: Vec<String>,
}

/// Test a guardrail: inspect a sample text, whatever its direction and mode. Changes nothing.
///
/// The call of an `llm_based_altering` is made and booked as one of the caller, whose key needs the scope `inference`.
#[utoipa::path(post, path = "/admin/api/v1/guardrails/{name}/test", tag = "guardrails", params(("name" = String, Path, description = "The guardrail")),
    request_body = GuardrailSample,
    responses((status = 200, description = "The verdict", body = GuardrailDryRun), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such guardrail"),
        (status = 409, description = "The stored guardrail cannot be read, or does not compile")),
    security(("bearer" = ["admin:guardrails:read"])))]
pub async fn test(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Authorized<Read<Guardrails>>,
    Named(name): Named,
    Strict(sample): Strict<GuardrailSample>,
) -> Result<Json<GuardrailDryRun>, Problem> {
    if sample.text.len() > MAX_TEXT {
        let message = format!("A sample has at most {MAX_TEXT} bytes.");
        return Err(fault::invalid_parameter("text", message).into());
    }
    let guardrail = crud::find::<Guardrail>(&app, &name).await?.value;
    let compiled = compiled(&app, &guardrail).map_err(|error| broken(&name, &error))?;
    let classifier = compiled.uses_classifier().then(|| app.gateway.classifier()).flatten();
    // A classifier takes longer than any search.
    let bytes = if classifier.is_some() { usize::MAX } else { sample.text.len() };
    let role = role(sample.role.unwrap_or(TextRole::User));
    let subject = sample.subject.unwrap_or(GuardedSubject::Request);
    let mut verdicts = RemoteVerdicts::default();
    if compiled.is_remote() {
        let texts = [RemoteText { role, text: sample.text.clone(), is_json: false, is_signed: false }];
        let caller = InternalCaller::without_call(&app.gateway, &authorized.principal, context.request_id);
        verdicts.insert(name, remote_guardrails::ask(&compiled, subject, &caller, &texts).await);
    }
    let work = move || {
        let sample = Sample { text: &sample.text, role, subject };
        dry_run(&sample, compiled.test(&sample, verdicts, classifier.as_ref()))
    };
    Ok(Json(app.gateway.with_bytes(bytes, work).await?))
}

fn role(role: TextRole) -> Role {
    match role {
        TextRole::System => Role::System,
        TextRole::Developer => Role::Developer,
        TextRole::User => Role::User,
        TextRole::Assistant => Role::Assistant,
        TextRole::Tool => Role::Tool,
    }
}

fn dry_run(sample: &Sample<'_>, result: TestResult) -> GuardrailDryRun {
    GuardrailDryRun {
        verdict: result.verdict,
        changed: result.text.is_some(),
        text: result.text.unwrap_or_else(|| sample.text.to_owned()),
        rules: result.rules,
    }
}

fn broken(name: &str, CompileError { param, message }: &CompileError) -> Fault {
    fault::conflict(format!("The stored guardrail '{name}' does not compile: {param}: {message}"))
}
