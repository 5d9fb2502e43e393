//! The subcommands: the only modules that print.

pub mod audit;
pub mod backup;
pub mod bench;
pub mod check;
pub mod config_files;
pub mod connect;
pub mod explain;
mod gateway_client;
mod gateway_http;
pub mod init;
pub mod journal;
pub mod keys;
pub mod models;
pub mod restore;
pub mod secrets;
pub mod serve;
pub mod version;

use std::path::Path;
use std::process::ExitCode;

use crate::master_key;
use crate::settings::{self, Settings};
use crate::system::SystemEntropy;

/// Exit status for an invalid configuration, as opposed to a failure at run time.
pub const BAD_CONFIGURATION: u8 = 2;

/// The provider types, which `settings` needs to parse provider variables.
fn vendor_names() -> Vec<&'static str> {
    wire::vendors::list().iter().map(|vendor| vendor.name).collect()
}

/// Reads the settings; the error lists every fault.
fn load_settings(config: Option<&Path>) -> Result<Settings, String> {
    settings::load(settings::process_environment(), Path::new("."), config, &vendor_names())
        .map_err(|faults| check::listing(&faults))
}

/// Reads the settings, or prints every fault and returns the exit status.
#[expect(clippy::print_stderr, reason = "a command speaks to whoever typed it")]
fn settings_or_exit(config: Option<&Path>) -> Result<Settings, ExitCode> {
    load_settings(config).map_err(|listing| {
        eprint!("{listing}");
        ExitCode::from(BAD_CONFIGURATION)
    })
}

/// Runs a command that needs the settings, and prints the reason if it fails.
#[expect(clippy::print_stderr, reason = "a command speaks to whoever typed it")]
fn run_with_settings(
    config: Option<&Path>,
    command: impl FnOnce(&Settings) -> Result<(), String>,
) -> ExitCode {
    let settings = match settings_or_exit(config) {
        Ok(settings) => settings,
        Err(status) => return status,
    };
    match command(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command that needs storage and no server.
fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("The runtime could not be started: {error}"))?.block_on(work)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn print_check(config: Option<&Path>) -> ExitCode {
    let report = check::run(settings::process_environment(), Path::new("."), config, &vendor_names());
    if report.valid {
        print!("{}", report.text);
        ExitCode::SUCCESS
    } else {
        eprint!("{}", report.text);
        ExitCode::from(BAD_CONFIGURATION)
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn print_init(directory: &Path, force: bool) -> ExitCode {
    match init::run(directory, force, &SystemEntropy) {
        Ok(files) => {
            files.iter().for_each(|file| println!("wrote {}", file.display()));
            let left_over = directory.join("data").join(master_key::FILE);
            if left_over.exists() {
                println!(
                    "The master key is now GATEWAY_MASTER_KEY in .env; {} is no longer in force.",
                    left_over.display()
                );
            }
            println!("Put provider keys into .env, then run: gatehouse");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
