//! `POST /admin/api/v1/cli-tools/{tool}/preview`: the configuration of a tool, to be copied.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::ToolConnection;
use crate::App;
use crate::authorized::{Authorized, CliTools, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;

#[derive(Serialize, ToSchema)]
pub struct CliToolPreview {
    pub tool: &'static str,
    /// The files as they would be without earlier content
    pub files: Vec<PreviewedFile>,
    /// Environment variables that have the same effect as the files, or complete them
    pub env: BTreeMap<&'static str, String>,
    pub commands: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub struct PreviewedFile {
    pub path: String,
    /// json, toml, yaml, dotenv or text
    pub language: &'static str,
    pub content: String,
}

/// Preview the configuration of a tool: its files, variables and commands, with the key masked. Writes nothing.
#[utoipa::path(post, path = "/admin/api/v1/cli-tools/{tool}/preview", tag = "cli-tools", operation_id = "preview",
    params(("tool" = String, Path, description = "The tool")), request_body = ToolConnection,
    responses((status = 200, description = "The configuration", body = CliToolPreview), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such tool"),
        (status = 503, description = "CLI_TOOLS_ENABLED is false")),
    security(("bearer" = ["admin:cli-tools:read"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    _: Authorized<Read<CliTools>>,
    Named(name): Named,
    parts: Parts,
    Strict(body): Strict<ToolConnection>,
) -> Result<Json<CliToolPreview>, Problem> {
    let tool = super::find(&app, &name)?;
    let connection = super::connection(&app, tool, &parts, body)?.masked();
    let configuration = tool.configure(&connection);
    let files = cli_tools::preview_files(tool, &connection).into_iter();
    Ok(Json(CliToolPreview {
        tool: tool.id,
        files: files.map(|(path, language, content)| PreviewedFile { path, language, content }).collect(),
        env: configuration.env.into_iter().collect(),
        commands: configuration.commands,
    }))
}
