//! `/admin/api/v1/cli-tools`: the configuration of coding agents and command-line tools for use with this gateway.

pub mod apply;
pub mod preview;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cli_tools::{Connection, InvalidConnection, Tool};
use domain::fault::{self, Fault};
use domain::secret::Secret;
use http::header::HOST;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::App;
use crate::authorized::{Authorized, CliTools, Read};
use crate::fault::Problem;
use crate::nearest;
use crate::path::Named;

#[derive(Serialize, ToSchema)]
pub struct CliToolView {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    /// The main configuration file; null for tools without one
    pub config_path: Option<String>,
    /// Whether the gateway can write its files
    pub can_apply: bool,
    pub docs_url: Option<&'static str>,
    /// The models that can be set
    pub model_fields: Vec<ModelFieldView>,
    pub notes: &'static [&'static str],
}

#[derive(Serialize, ToSchema)]
pub struct ModelFieldView {
    /// `model`, or a name for `model_overrides`
    pub name: &'static str,
    pub description: &'static str,
}

/// The address, key and models that a tool is configured with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolConnection {
    /// The address of the gateway. Default: the one of this request
    #[serde(default)]
    pub base_url: Option<String>,
    #[schema(value_type = String)]
    pub api_key: Secret,
    /// The default model
    #[serde(default)]
    pub model: Option<String>,
    /// Models for single purposes, by the names in `model_fields`
    #[serde(default)]
    pub model_overrides: BTreeMap<String, String>,
    /// Models that the tool offers for selection, at most 1000
    #[serde(default)]
    pub models: Vec<String>,
}

/// List the tools.
#[utoipa::path(get, path = "/admin/api/v1/cli-tools", tag = "cli-tools", operation_id = "list",
    responses((status = 200, description = "The tools", body = Vec<CliToolView>), (status = 401, description = "Unauthorized"),
        (status = 503, description = "CLI_TOOLS_ENABLED is false")),
    security(("bearer" = ["admin:cli-tools:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<CliTools>>,
) -> Result<Json<Vec<CliToolView>>, Problem> {
    require_enabled(&app)?;
    Ok(Json(cli_tools::SERVED.iter().map(|tool| view(tool)).collect()))
}

/// Show a tool.
#[utoipa::path(get, path = "/admin/api/v1/cli-tools/{tool}", tag = "cli-tools", operation_id = "read",
    params(("tool" = String, Path, description = "The tool")),
    responses((status = 200, description = "The tool", body = CliToolView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such tool"), (status = 503, description = "CLI_TOOLS_ENABLED is false")),
    security(("bearer" = ["admin:cli-tools:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: Authorized<Read<CliTools>>,
    Named(name): Named,
) -> Result<Json<CliToolView>, Problem> {
    Ok(Json(view(find(&app, &name)?)))
}

fn view(tool: &Tool) -> CliToolView {
    let field =
        |field: &cli_tools::ModelField| ModelFieldView { name: field.name, description: field.description };
    CliToolView {
        id: tool.id,
        name: tool.name,
        description: tool.description,
        config_path: tool.places.first().map(cli_tools::ConfigPlace::display),
        can_apply: tool.can_apply,
        docs_url: tool.docs_url,
        model_fields: tool.model_fields.iter().map(field).collect(),
        notes: tool.notes,
    }
}

fn require_enabled(app: &App) -> Result<(), Fault> {
    match app.config.cli_tools.enabled {
        true => Ok(()),
        false => {
            Err(fault::feature_unavailable("The configuration of tools is off: CLI_TOOLS_ENABLED is false."))
        }
    }
}

/// The served tool with this id.
fn find(app: &App, id: &str) -> Result<&'static Tool, Fault> {
    require_enabled(app)?;
    cli_tools::SERVED.into_iter().find(|tool| tool.id == id).ok_or_else(|| {
        let hint = nearest::hint(id, cli_tools::SERVED.iter().map(|tool| tool.id));
        fault::not_found(format!("There is no tool '{id}'.{hint}"))
    })
}

/// The connection of a body, checked.
fn connection(app: &App, tool: &Tool, parts: &Parts, body: ToolConnection) -> Result<Connection, Fault> {
    let base_url = body.base_url.filter(|url| !url.is_empty()).unwrap_or_else(|| own_url(app, parts));
    let invalid = |InvalidConnection { field, reason }| {
        let message = format!("'{field}' {reason}.");
        fault::invalid_parameter(field, message)
    };
    let connection = Connection::new(&base_url, body.api_key).map_err(invalid)?;
    let connection = connection.with_model(body.model.filter(|model| !model.is_empty())).map_err(invalid)?;
    let connection =
        connection.with_overrides(body.model_overrides, &tool.override_names()).map_err(invalid)?;
    connection.with_models(body.models).map_err(invalid)
}

/// The address under which the client reached the gateway.
fn own_url(app: &App, parts: &Parts) -> String {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let host = parts.uri.authority().map(http::uri::Authority::as_str).or_else(|| header(HOST.as_str()));
    let scheme = match header("x-forwarded-proto") {
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
        _ => parts.uri.scheme_str().unwrap_or("http"),
    };
    let base_path = app.config.base_path.trim_end_matches('/');
    format!("{scheme}://{}{base_path}", host.unwrap_or("127.0.0.1:8080"))
}
