//! The executable: parses the command line and runs a command, `serve` by default.

mod commands;
mod embedder;
mod logging;
mod master_key;
mod semantic_store;
mod settings;
mod shared_store;
mod system;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: memory_map::Allocator = memory_map::Allocator;

const EXAMPLES: &str = "\
Examples:
  gatehouse                              serve on 127.0.0.1:8080, with the demo model if nothing is configured
  OPENAI_API_KEY=sk-... gatehouse        serve with a provider
  gatehouse init && gatehouse check      write gatehouse.yaml and .env, then validate them
  gatehouse keys create --name ci        make a key for a user or an application
  gatehouse export config                write the configuration of a running gateway to files
  gatehouse apply config                 apply the files to a running gateway
  gatehouse backup gatehouse.tar         back up a running gateway (SQLite)
  gatehouse connect claude-code          configure Claude Code on this machine for a gateway
  gatehouse explain --model gpt-4o --message Hello
                                         show how a running gateway would handle a request

Signals: SIGTERM stops after running calls have finished, SIGHUP reloads the configuration.";

/// An AI gateway: OpenAI-compatible, with routing, accounting and an admin API in one binary.
///
/// Without a command it serves. With nothing configured it answers from a built-in demo model.
/// Settings come from gatehouse.yaml and the environment: see docs/settings.md, or run `gatehouse init`.
#[derive(Parser)]
#[command(name = "gatehouse", version, about, long_about, verbatim_doc_comment, after_help = EXAMPLES)]
struct Line {
    /// Configuration file; by default gatehouse.yaml in the working directory, if it exists
    #[arg(long, short, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the gateway (the default)
    Serve,
    /// Write a commented gatehouse.yaml and a .env with a new master key
    Init {
        /// Directory to write to
        #[arg(default_value = ".")]
        directory: PathBuf,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
    },
    /// Validate the configuration and list all faults; exits with 2 if there are any
    Check,
    /// Verify the audit log
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Configure a coding agent or another tool on this machine for a gateway, with a backup of its files, and check the
    /// connection by a real call
    Connect(commands::connect::Options),
    /// Show how a running gateway would handle a request, without making the call: caller, targets with reasons,
    /// workflow, guardrails, cache, limits, budgets, decision
    Explain(commands::explain::Options),
    /// Write the configuration of a running gateway as YAML, with secrets as references to variables
    Export(commands::config_files::ExportOptions),
    /// Show what the files of a directory would change in a running gateway
    Plan(commands::config_files::PlanOptions),
    /// Apply the files of a directory to a running gateway, all changes or none
    Apply(commands::config_files::ApplyOptions),
    /// Print the JSON Schema of configuration files
    Schema,
    /// Create, list and revoke managed keys in the configured storage; a running gateway applies changes within a
    /// second
    #[command(subcommand)]
    Keys(commands::keys::Action),
    /// Import, list and remove models that run inside the gateway: the encoder of the semantic cache and the
    /// classifier of prompt injection
    #[command(subcommand)]
    Models(commands::models::Action),
    /// Write a consistent copy of the data to one file, online or offline (SQLite)
    Backup(commands::backup::Options),
    /// Replace the data of a stopped gateway by a backup (SQLite)
    Restore(commands::restore::Options),
    /// Work on the journals of gateways that have ended
    #[command(subcommand)]
    Journal(commands::journal::Action),
    /// Recover from a lost encryption key
    #[command(subcommand)]
    Secrets(commands::secrets::Action),
    /// Benchmark this gateway on this machine: mock upstream, load, direct call and baseline proxy in one run
    Bench(commands::bench::Options),
    /// Print the version of this build
    Version(commands::version::Options),
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Verify that no entry was changed, removed or added since it was written
    Verify {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    let line = Line::parse();
    match line.command.unwrap_or(Command::Serve) {
        Command::Serve => commands::serve::run(line.config.as_deref()),
        Command::Init { directory, force } => commands::print_init(&directory, force),
        Command::Audit { command: AuditCommand::Verify { json } } => {
            commands::audit::verify(line.config.as_deref(), json)
        }
        Command::Backup(options) => commands::backup::run(line.config.as_deref(), &options),
        Command::Restore(options) => commands::restore::run(line.config.as_deref(), &options),
        Command::Bench(options) => commands::bench::run(&options),
        Command::Connect(options) => commands::connect::run(line.config.as_deref(), &options),
        Command::Explain(options) => commands::explain::run(line.config.as_deref(), &options),
        Command::Export(options) => commands::config_files::export(line.config.as_deref(), &options),
        Command::Plan(options) => commands::config_files::plan(line.config.as_deref(), &options),
        Command::Apply(options) => commands::config_files::apply(line.config.as_deref(), &options),
        Command::Schema => commands::config_files::schema(),
        Command::Journal(action) => commands::journal::run(line.config.as_deref(), &action),
        Command::Version(options) => commands::version::run(&options),
        Command::Keys(action) => commands::keys::run(line.config.as_deref(), action),
        Command::Models(action) => commands::models::run(line.config.as_deref(), &action),
        Command::Secrets(action) => commands::secrets::run(line.config.as_deref(), &action),
        Command::Check => commands::print_check(line.config.as_deref()),
    }
}
