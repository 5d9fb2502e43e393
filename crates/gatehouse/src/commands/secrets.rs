//! `gatehouse secrets reset`: clears encrypted values in storage after the encryption key was lost.

#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use domain::clock::Clock;
use domain::ids::Entropy;
use store::{SealedCounts, SecretReset};

use super::serve::assemble;
use super::{block_on, run_with_settings};
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

/// The actor in change records.
const ACTOR: &str = "cli";
const CONFIRMATION: &str = "reset";

#[derive(Subcommand)]
pub enum Action {
    /// Clear all encrypted values in storage, so that the gateway starts with the currently configured encryption key.
    /// Provider keys and headers have to be entered again, managed keys rotated. Asks for confirmation on standard
    /// input.
    Reset,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, action: &Action) -> ExitCode {
    let Action::Reset = action;
    run_with_settings(config, |settings| {
        let prompt = |text: &str| eprint!("{text}");
        println!("{}", block_on(reset(settings, &mut std::io::stdin().lock(), prompt))?);
        Ok(())
    })
}

/// Clears the values only if the next line of `answer` is the confirmation.
async fn reset(
    settings: &Settings,
    answer: &mut impl BufRead,
    prompt: impl Fn(&str),
) -> Result<String, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    assemble::make_directory(&settings.storage.data_dir)?;
    let config = assemble::store_config(settings, &entropy)?;
    let fingerprint = store::fingerprint(&config.sealing_key);
    let unopened = |error| format!("Storage cannot be opened: {error}");
    let secrets = SecretReset::open(config, clock).await.map_err(unopened)?;
    let sealed = secrets.sealed().await.map_err(unopened)?;
    prompt(&format!(
        "This clears the sealed values of {} for good. Stop every gateway on this database first.\n\
         Providers lose their keys and headers, managed keys are refused until they are rotated, and audit entries \
         written so far can no longer be verified.\nType '{CONFIRMATION}' to go on: ",
        describe(&sealed)
    ));
    let mut line = String::new();
    let read = answer.read_line(&mut line).map_err(|error| format!("The answer cannot be read: {error}"))?;
    let outcome = if read > 0 && line.trim() == CONFIRMATION {
        let failed = |error| format!("Nothing was cleared: {error}.");
        secrets.run(ACTOR).await.map_err(failed).map(|()| {
            format!(
                "Cleared the sealed values of {}. The gateway starts with the key {fingerprint}.",
                describe(&sealed)
            )
        })
    } else {
        Err("Not confirmed: nothing was cleared.".to_owned())
    };
    secrets.close().await;
    outcome
}

fn describe(sealed: &SealedCounts) -> String {
    if sealed.is_empty() {
        return "no documents".to_owned();
    }
    let parts: Vec<String> = sealed.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    parts.join(", ")
}
