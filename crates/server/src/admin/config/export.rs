//! `GET /admin/api/v1/config/export`: the whole configuration as one YAML document.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault;
use http::header::{CONTENT_TYPE, ETAG};
use serde_json::{Map, Value};

use super::current::CurrentConfig;
use super::secret_references::{SecretReferences, sections};
use crate::App;
use crate::authorized::{Authorized, Config, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

#[derive(Clone, Copy)]
enum ExportFormat {
    Yaml,
    Json,
}

const FORMATS: [(&str, ExportFormat); 2] = [("yaml", ExportFormat::Yaml), ("json", ExportFormat::Json)];

/// Export the configuration: all documents in force, with secrets as references such as `${OPENAI_API_KEY}` and keys as
/// digests. The ETag is that of the revision, for `/config/apply`.
#[utoipa::path(get, path = "/admin/api/v1/config/export", tag = "config", operation_id = "export_config",
    params(("format" = Option<String>, Query, description = "yaml (default) or json")),
    responses((status = 200, description = "The documents by section and name", content((Object = "application/yaml"), (Object = "application/json"))),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "A key of a tenant")),
    security(("bearer" = ["admin:config:read"])))]
pub async fn export(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Config>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    super::require_no_tenant(&app, &authorized.principal)?;
    let format = query::choice(&pairs, "format", &FORMATS, ExportFormat::Yaml)?;
    let current = CurrentConfig::load(&app).await?;
    let etag = format!("\"{}\"", current.revision);
    let exported = exported(&app, current);
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "configuration cannot be written");
        fault::internal_error()
    };
    let (content_type, text) = match format {
        ExportFormat::Yaml => {
            let text = serde_saphyr::to_string(&exported).map_err(|error| failed(&error))?;
            ("application/yaml", text)
        }
        ExportFormat::Json => {
            let text = serde_json::to_string(&exported).map_err(|error| failed(&error))?;
            ("application/json", text)
        }
    };
    Ok(([(CONTENT_TYPE, content_type.to_owned()), (ETAG, etag)], text).into_response())
}

/// The documents as they stand in files, in a fixed order.
fn exported(app: &App, current: CurrentConfig) -> Map<String, Value> {
    let (settings, now) = (current.secret_settings(app), app.gateway.clock.now());
    let mut references = SecretReferences::new(&settings);
    let documents = current.documents.into_iter().map(|(id, current)| {
        let owner = match id.tenant() {
            Some(tenant) => format!("{tenant}_{}", id.name),
            None => id.name.clone(),
        };
        let members = references.replace(id.kind, &owner, current.document.members(now));
        (id, members)
    });
    sections(documents)
}
