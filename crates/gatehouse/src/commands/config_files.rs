//! `gatehouse export`, `plan`, `apply` and `schema`: the configuration of a running gateway as YAML files.

mod directory;
mod summary;
#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::gateway_client::{GatewayClient, GatewayRequest};
use super::{block_on, run_with_settings, vendor_names};
use crate::settings::{self, Settings, TABLE};

const EXPORT: &str = "/admin/api/v1/config/export";
const PLAN: &str = "/admin/api/v1/config/plan";
const APPLY: &str = "/admin/api/v1/config/apply";
/// The directory that stands for standard output.
const STANDARD_OUTPUT: &str = "-";
const CONFIRMATION: &str = "yes";

/// The gateway to talk to.
#[derive(Args)]
pub struct Connection {
    /// Address of the gateway, with its base path; by default that of the settings
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the key to use; by default GATEWAY_MASTER_KEY, then master.key in the data directory
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Connection {
    fn client(&self, settings: &Settings) -> Result<GatewayClient, String> {
        GatewayClient::new(settings, self.url.as_deref(), self.key_file.as_deref())
    }
}

#[derive(Args)]
pub struct ExportOptions {
    /// Directory to write to, one file per section; - writes one document to standard output
    #[arg(default_value = STANDARD_OUTPUT)]
    directory: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args)]
pub struct PlanOptions {
    /// Directory with YAML files
    directory: PathBuf,
    /// Delete stored documents that the files do not have
    #[arg(long)]
    prune: bool,
    /// Also judge so many audited calls, 1 to 1000, by both configurations
    #[arg(long, value_name = "N")]
    replay: Option<i64>,
    /// Print the answer of the gateway as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args)]
pub struct ApplyOptions {
    /// Directory with YAML files
    directory: PathBuf,
    /// Delete stored documents that the files do not have
    #[arg(long)]
    prune: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    connection: Connection,
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn export(config: Option<&Path>, options: &ExportOptions) -> ExitCode {
    run_with_settings(config, |settings| {
        let client = options.connection.client(settings)?;
        let get = |path: &str| block_on(client.send(GatewayRequest::get(path, "admin:config:read")));
        if options.directory.as_os_str() == STANDARD_OUTPUT {
            print!("{}", get(EXPORT)?);
            return Ok(());
        }
        let answer = get(&format!("{EXPORT}?format=json"))?;
        let sections: Map<String, Value> =
            serde_json::from_str(&answer).map_err(|error| format!("The answer is not JSON: {error}."))?;
        for file in directory::write(&options.directory, &sections)? {
            println!("wrote {}", file.display());
        }
        Ok(())
    })
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn plan(config: Option<&Path>, options: &PlanOptions) -> ExitCode {
    run_with_settings(config, |settings| {
        let mut request = request(&options.directory, options.prune)?;
        if let Some(limit) = options.replay {
            request["replay"] = limit.into();
        }
        let client = options.connection.client(settings)?;
        let plan = block_on(send(&client, PLAN, &request, None))?;
        if options.json {
            println!("{plan}");
        } else {
            print!("{}", summary::text(&plan));
        }
        without_errors(&plan)
    })
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn apply(config: Option<&Path>, options: &ApplyOptions) -> ExitCode {
    run_with_settings(config, |settings| {
        let request = request(&options.directory, options.prune)?;
        let client = options.connection.client(settings)?;
        let plan = block_on(send(&client, PLAN, &request, None))?;
        print!("{}", summary::text(&plan));
        without_errors(&plan)?;
        if plan["changes"].as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        if !options.yes {
            println!("Type '{CONFIRMATION}' to apply these changes:");
            confirm(&mut std::io::stdin().lock())?;
        }
        let revision = format!("\"{}\"", plan["revision"]);
        block_on(send(&client, APPLY, &request, Some(revision)))?;
        println!("Applied.");
        Ok(())
    })
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn schema() -> ExitCode {
    println!("{:#}", schema_value());
    ExitCode::SUCCESS
}

fn schema_value() -> Value {
    let settings: Vec<(&str, &str)> =
        TABLE.iter().map(|setting| (setting.path, setting.doc.trim())).collect();
    server::config_schema(&settings)
}

/// The sections of files.
fn section_names() -> Vec<String> {
    let schema = server::config_schema(&[]);
    schema["properties"].as_object().map(|sections| sections.keys().cloned().collect()).unwrap_or_default()
}

/// The body of a plan: all documents of a directory.
fn request(directory: &Path, prune: bool) -> Result<Value, String> {
    let variables = settings::variables(Path::new("."), &vendor_names());
    let documents = variables.and_then(|variables| directory::read(directory, &variables));
    let documents = documents.map_err(|faults| super::check::listing(&faults))?;
    Ok(json!({"documents": documents, "prune": prune}))
}

async fn send(
    client: &GatewayClient,
    path: &str,
    request: &Value,
    if_match: Option<String>,
) -> Result<Value, String> {
    let scope = if path == PLAN { "admin:config:read" } else { "admin:config:write" };
    let body = Some(request.to_string());
    let answer = client.send(GatewayRequest { body, if_match, ..GatewayRequest::post(path, scope) }).await?;
    serde_json::from_str(&answer).map_err(|error| format!("The answer is not JSON: {error}."))
}

fn without_errors(plan: &Value) -> Result<(), String> {
    match plan["errors"].as_array().map_or(0, Vec::len) {
        0 => Ok(()),
        1 => Err("1 document cannot be used: correct it first.".to_owned()),
        count => Err(format!("{count} documents cannot be used: correct them first.")),
    }
}

fn confirm(answer: &mut impl BufRead) -> Result<(), String> {
    let mut line = String::new();
    let read = answer.read_line(&mut line).map_err(|error| format!("The answer cannot be read: {error}"))?;
    if read > 0 && line.trim() == CONFIRMATION {
        return Ok(());
    }
    Err("Not confirmed: nothing was changed.".to_owned())
}
