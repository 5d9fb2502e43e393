//! Dry runs: a guardrail inspects a sample text, without a call.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::canon::Role;
use domain::fault::{self, Fault};
use domain::receipt::{GuardedSubject, GuardrailVerdict};
use domain::resources::guardrail::{Guardrail, TextRole};
use pipeline::guardrails::{CompileError, RemoteText, RemoteVerdicts, Sample, SampleFinding, TestResult};
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
    /// The findings of patterns and personal data in the sample, from left to right without overlaps.
    pub spans: Vec<FindingSpan>,
    /// The time of the inspection.
    pub duration_ms: f64,
}

/// A finding in the sample. Positions are UTF-16 code units, as in strings of JavaScript.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FindingSpan {
    pub start: usize,
    /// Exclusive.
    pub end: usize,
    /// email, api_key or the like; `pattern[0]` for the first pattern of the guardrail.
    pub kind: String,
    /// The text in its place; null if the guardrail does not replace findings.
    pub replacement: Option<String>,
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
    let access = authorized.documents(&app);
    let guardrail = crud::find::<Guardrail>(&access, &name).await?.value;
    let compiled = compiled(&access, &guardrail).map_err(|error| broken(&name, &error))?;
    let classifier = compiled.uses_classifier().then(|| app.gateway.classifier()).flatten();
    // A classifier takes longer than any search.
    let bytes = if classifier.is_some() { usize::MAX } else { sample.text.len() };
    let role = role(sample.role.unwrap_or(TextRole::User));
    let subject = sample.subject.unwrap_or(GuardedSubject::Request);
    let mut verdicts = RemoteVerdicts::default();
    let begun = app.gateway.clock.tick();
    if compiled.is_remote() {
        let texts = [RemoteText { role, text: sample.text.clone(), is_json: false, is_signed: false }];
        let caller = InternalCaller::without_call(&app.gateway, &authorized.principal, context.request_id);
        verdicts.insert(name, remote_guardrails::ask(&compiled, subject, &caller, &texts).await);
    }
    let work = move || {
        let sample = Sample { text: &sample.text, role, subject };
        dry_run(&sample, compiled.test(&sample, verdicts, classifier.as_ref()))
    };
    let run = app.gateway.with_bytes(bytes, work).await?;
    let took = app.gateway.clock.tick().saturating_sub(begun);
    Ok(Json(GuardrailDryRun { duration_ms: took.as_micros() as f64 / 1000.0, ..run }))
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
        spans: spans(sample.text, result.findings),
        duration_ms: 0.0,
    }
}

/// The findings with positions in UTF-16 code units. Findings are in order, so that the text is read once.
fn spans(text: &str, findings: Vec<SampleFinding>) -> Vec<FindingSpan> {
    let (mut byte, mut unit) = (0, 0);
    let mut units_at = |position: usize| {
        unit += text[byte..position].encode_utf16().count();
        byte = position;
        unit
    };
    let span = |finding: SampleFinding| {
        let (start, end) = (units_at(finding.range.start), units_at(finding.range.end));
        FindingSpan { start, end, kind: finding.kind, replacement: finding.replacement }
    };
    findings.into_iter().map(span).collect()
}

fn broken(name: &str, CompileError { param, message }: &CompileError) -> Fault {
    fault::conflict(format!("The stored guardrail '{name}' does not compile: {param}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_utf16_code_units() {
        // 🦀 has four bytes and two units, é two bytes and one unit.
        let text = "🦀é a@b.de é c@d.de";
        let finding = |needle: &str| {
            let start = text.find(needle).unwrap();
            let range = start..start + needle.len();
            SampleFinding { range, kind: "email".to_owned(), replacement: None }
        };
        let spans = spans(text, vec![finding("a@b.de"), finding("c@d.de")]);
        let places: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(places, [(4, 10), (13, 19)]);
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(String::from_utf16(&units[13..19]).unwrap(), "c@d.de");
    }
}
