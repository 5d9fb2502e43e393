//! `POST /admin/api/v1/cli-tools/{tool}/apply` and `/reset`: write and restore the files of a tool on the machine of the
//! gateway.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use cli_tools::{Directories, FileError, Tool};
use domain::fault::{self, Fault};
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::ToolConnection;
use crate::App;
use crate::authorized::{Authorized, CliTools, Write};
use crate::body::{EmptyBody, OptionalBody, Strict};
use crate::fault::Problem;
use crate::path::Named;

#[derive(Serialize, ToSchema)]
pub struct CliToolApplied {
    /// False if the files had this content already
    pub applied: bool,
    /// The main file
    pub path: String,
    /// The copy of the main file as it was; null if it did not exist or was not changed
    pub backup_path: Option<String>,
    /// All files of the tool
    pub files: Vec<WrittenFile>,
}

#[derive(Serialize, ToSchema)]
pub struct WrittenFile {
    pub path: String,
    pub backup_path: Option<String>,
    pub changed: bool,
}

#[derive(Serialize, ToSchema)]
pub struct CliToolReset {
    pub reset: bool,
    /// The files that are as in the backup again
    pub restored: Vec<String>,
    /// The files that did not exist before
    pub removed: Vec<String>,
}

/// Write the configuration of a tool into the home directory of the gateway's user. Other content of the files stays.
#[utoipa::path(post, path = "/admin/api/v1/cli-tools/{tool}/apply", tag = "cli-tools", operation_id = "apply",
    params(("tool" = String, Path, description = "The tool")), request_body = ToolConnection,
    responses((status = 200, description = "Written", body = CliToolApplied),
        (status = 400, description = "Invalid request, or a tool whose files cannot be written"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "CLI_TOOLS_APPLY_ENABLED is false"),
        (status = 404, description = "No such tool"), (status = 409, description = "A file cannot be read or written"),
        (status = 503, description = "CLI_TOOLS_ENABLED is false")),
    security(("bearer" = ["admin:cli-tools:write"])))]
pub async fn apply(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<CliTools>>,
    Named(name): Named,
    parts: Parts,
    Strict(body): Strict<ToolConnection>,
) -> Result<Json<CliToolApplied>, Problem> {
    let tool = appliable(&app, &name)?;
    let connection = super::connection(&app, tool, &parts, body)?;
    let (directories, now) = (directories(&app)?, app.gateway.clock.now());
    let written = write(&app, move || cli_tools::apply(tool, &connection, &directories, now)).await?;
    tracing::info!(tool = tool.id, actor = authorized.principal.actor(), "tool configuration written");
    let shown = |path: &Path| path.display().to_string();
    let files: Vec<WrittenFile> = written
        .files
        .iter()
        .map(|file| WrittenFile {
            path: shown(&file.path),
            backup_path: file.backup_path.as_deref().map(shown),
            changed: file.changed,
        })
        .collect();
    Ok(Json(CliToolApplied {
        applied: files.iter().any(|file| file.changed),
        path: files.first().map(|file| file.path.clone()).unwrap_or_default(),
        backup_path: files.first().and_then(|file| file.backup_path.clone()),
        files,
    }))
}

/// Restore the files of a tool from the newest backup, or remove those that did not exist before.
#[utoipa::path(post, path = "/admin/api/v1/cli-tools/{tool}/reset", tag = "cli-tools", operation_id = "reset",
    params(("tool" = String, Path, description = "The tool")),
    responses((status = 200, description = "Restored", body = CliToolReset),
        (status = 400, description = "A tool whose files cannot be written"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "CLI_TOOLS_APPLY_ENABLED is false"), (status = 404, description = "No such tool"),
        (status = 409, description = "There is no backup, or a file cannot be restored"),
        (status = 503, description = "CLI_TOOLS_ENABLED is false")),
    security(("bearer" = ["admin:cli-tools:write"])))]
pub async fn reset(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<CliTools>>,
    Named(name): Named,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Json<CliToolReset>, Problem> {
    let tool = appliable(&app, &name)?;
    let directories = directories(&app)?;
    let Some(reset) = write(&app, move || cli_tools::reset(tool, &directories)).await? else {
        let message = format!(
            "There is no backup of the files of '{name}': nothing was applied, or it was reset already."
        );
        return Err(fault::conflict(message).into());
    };
    tracing::info!(tool = tool.id, actor = authorized.principal.actor(), "tool configuration restored");
    let shown =
        |paths: Vec<std::path::PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    Ok(Json(CliToolReset { reset: true, restored: shown(reset.restored), removed: shown(reset.removed) }))
}

/// The tool, if its files may be written.
fn appliable(app: &App, name: &str) -> Result<&'static Tool, Fault> {
    let tool = super::find(app, name)?;
    if !app.config.cli_tools.apply_enabled {
        return Err(fault::cli_apply_disabled());
    }
    if !tool.can_apply {
        let message = format!(
            "The files of '{name}' cannot be written by the gateway. Copy them from /admin/api/v1/cli-tools/{name}/preview."
        );
        return Err(fault::invalid_parameter("tool", message));
    }
    Ok(tool)
}

fn directories(app: &App) -> Result<Directories, Fault> {
    let missing = || fault::conflict("The user of the gateway has no home directory: HOME is not set.");
    let home = app.config.cli_tools.home.clone().ok_or_else(missing)?;
    Ok(Directories { home, variables: BTreeMap::new() })
}

/// Changes files on a blocking thread, one change at a time, also if the client disconnects.
async fn write<T: Send + 'static>(
    app: &App,
    change: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, Fault> {
    let lock = app.configuring_tools.clone().lock_owned().await;
    let change = app.gateway.tasks.spawn_blocking(move || {
        let result = change();
        drop(lock);
        result
    });
    let failed = |_| fault::internal_error();
    change.await.map_err(failed)?.map_err(|error| fault::conflict(error.to_string()))
}
