//! `gatehouse connect`: configures a tool on this machine for a gateway and checks the connection by a real call.

mod check;
mod prompt;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use cli_tools::{Applied, Connection, Directories, InvalidConnection, Tool};
use domain::clock::{Clock, Timestamp};
use domain::secret::Secret;
use egress::EgressConfig;

use super::gateway_client::read_key;
use super::gateway_http::{GatewayHttp, GatewayKey};
use super::serve::assemble;
use super::{block_on, load_settings};
use crate::settings;
use crate::system::SystemClock;
use prompt::Prompt;

const EXAMPLES: &str = "\
Examples:
  gatehouse connect claude-code
  gatehouse connect codex --url https://ai.example.com --key-file key.txt --model gpt-5
  gatehouse connect opencode --print
  gatehouse connect codex --reset";

const DEFAULT_URL: &str = "http://127.0.0.1:8080";
/// Stands for the key in the output of `--print` if none was given.
const NO_KEY: &str = "YOUR_GATEWAY_KEY";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The tool
    #[arg(value_name = "TOOL", value_parser = PossibleValuesParser::new(cli_tools::all().map(|tool| tool.id)))]
    tool: String,
    /// Address of the gateway, with its base path; asked for by default
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Key of the gateway; other users of this machine can see it while the command runs, so prefer --key-file or the
    /// prompt
    #[arg(long, value_name = "KEY", conflicts_with = "key_file")]
    key: Option<String>,
    /// File with the key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Default model of the tool
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Restore the files as they were before the last connect
    #[arg(long, conflicts_with_all = ["url", "key", "key_file", "model", "print"])]
    reset: bool,
    /// Print the configuration with the key masked, and neither write nor check anything
    #[arg(long)]
    print: bool,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, options: &Options) -> ExitCode {
    // The settings of a gateway in this directory only matter for the proxy; their faults are not of this command.
    let egress = load_settings(config).map(|settings| assemble::egress_config(&settings)).unwrap_or_default();
    let machine = Machine { directories: directories(), egress, now: SystemClock.now() };
    let mut input = std::io::stdin().lock();
    let mut prompt = Prompt::of_terminal(&mut input);
    match connect(options, &machine, &mut prompt) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// The parts of this machine that the command uses.
struct Machine {
    directories: Option<Directories>,
    egress: EgressConfig,
    now: Timestamp,
}

fn directories() -> Option<Directories> {
    let variables: BTreeMap<String, String> = settings::process_environment();
    settings::home_directory().map(|home| Directories { home, variables })
}

/// Runs the command and returns the text to print.
fn connect(options: &Options, machine: &Machine, prompt: &mut Prompt<'_>) -> Result<String, String> {
    let tool = cli_tools::find(&options.tool).ok_or("There is no such tool.")?;
    let directories = machine.directories.as_ref().ok_or("There is no home directory: set HOME.");
    if options.reset {
        return reset(tool, directories?);
    }
    if options.print {
        let url = options.url.as_deref().unwrap_or(DEFAULT_URL);
        let connection = match key(options)? {
            Some(key) => connection(url, key.value, options.model.clone())?.masked(),
            None => connection(url, Secret::new(NO_KEY), options.model.clone())?,
        };
        return Ok(shown(tool, &connection));
    }
    let url = match &options.url {
        Some(url) => url.clone(),
        None => prompt.line("Address of the gateway", Some(DEFAULT_URL))?,
    };
    let key = match key(options)? {
        Some(key) => key,
        None => GatewayKey { value: prompt.secret("Key")?, origin: "the prompt".to_owned() },
    };
    let bare = connection(&url, key.value.clone(), options.model.clone())?;
    let http = GatewayHttp::new(machine.egress.clone(), bare.root())?;
    let models = block_on(check::models(&http, &key))?;
    let model = match (&options.model, tool.needs_model) {
        (None, true) => Some(prompt.line("Model", models.first().map(String::as_str))?),
        (model, _) => model.clone(),
    };
    let called = block_on(check::call(&http, &key, tool.api, model.as_deref(), &models))?;
    let connection = connection(&url, key.value, model)?.with_models(models).map_err(invalid)?;
    let mut text = format!("The gateway at {} answers: {called}\n", connection.root());
    match tool.can_apply {
        true => {
            let applied = cli_tools::apply(tool, &connection, directories?, machine.now);
            text.push_str(&written(tool, &applied.map_err(|error| error.to_string())?));
        }
        false => text.push_str(&shown(tool, &connection.masked())),
    }
    Ok(text)
}

fn key(options: &Options) -> Result<Option<GatewayKey>, String> {
    if let Some(file) = &options.key_file {
        let unread = |reason| format!("The key file {} {reason}.", file.display());
        return read_key(file).map(Some).map_err(unread);
    }
    let given = |key: &String| GatewayKey { value: Secret::new(key.clone()), origin: "--key".to_owned() };
    Ok(options.key.as_ref().map(given))
}

fn connection(url: &str, key: Secret, model: Option<String>) -> Result<Connection, String> {
    Connection::new(url, key).and_then(|connection| connection.with_model(model)).map_err(invalid)
}

fn invalid(InvalidConnection { field, reason }: InvalidConnection) -> String {
    let name = match field.as_str() {
        "base_url" => "The address",
        "api_key" => "The key",
        "model" => "The model",
        other => other,
    };
    format!("{name} {reason}.")
}

fn reset(tool: &Tool, directories: &Directories) -> Result<String, String> {
    let reset = cli_tools::reset(tool, directories).map_err(|error| error.to_string())?;
    let Some(reset) = reset else {
        return Err(format!(
            "There is no backup of the files of {}: it was not connected, or it was reset already.",
            tool.name
        ));
    };
    let restored = reset.restored.iter().map(|path| format!("restored {}\n", path.display()));
    let removed = reset.removed.iter().map(|path| format!("removed {}\n", path.display()));
    Ok(restored.chain(removed).collect())
}

fn written(tool: &Tool, applied: &Applied) -> String {
    let mut text = String::new();
    for file in &applied.files {
        let path = file.path.display();
        let _ = match (&file.backup_path, file.changed) {
            (_, false) => writeln!(text, "{path} is up to date"),
            (Some(backup), _) => writeln!(text, "wrote {path} (backup: {})", backup.display()),
            (None, _) => writeln!(text, "wrote {path}"),
        };
    }
    for note in tool.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    let _ =
        writeln!(text, "{} is connected. `gatehouse connect {} --reset` undoes this.", tool.name, tool.id);
    text
}

/// The configuration of a tool, for display.
fn shown(tool: &Tool, connection: &Connection) -> String {
    let mut text = String::new();
    for (path, _, content) in cli_tools::preview_files(tool, connection) {
        let _ = writeln!(text, "# {path}\n{}\n", content.trim_end());
    }
    let configuration = tool.configure(connection);
    for (name, value) in &configuration.env {
        let _ = writeln!(text, "export {name}='{value}'");
    }
    for command in &configuration.commands {
        let _ = writeln!(text, "{command}");
    }
    for note in tool.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    text
}
