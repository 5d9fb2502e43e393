//! The subcommands, and the only places that print.

pub mod audit;
pub mod backup;
pub mod bench;
pub mod check;
pub mod init;
pub mod keys;
pub mod restore;
pub mod secrets;
pub mod serve;

use std::path::Path;
use std::process::ExitCode;

use crate::master_key;
use crate::settings::{self, Settings};
use crate::world::SystemEntropy;

/// Bad configuration, as opposed to a failure while running.
pub const BAD_CONFIGURATION: u8 = 2;

/// The names `settings` needs to read provider variables.
fn vendor_names() -> Vec<&'static str> {
    wire::vendors::list().iter().map(|vendor| vendor.name).collect()
}

pub fn load_settings(config: Option<&Path>) -> Result<Settings, String> {
    settings::load(settings::process_environment(), Path::new("."), config, &vendor_names())
        .map_err(|faults| check::listing(&faults))
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
