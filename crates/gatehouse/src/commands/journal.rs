//! `gatehouse journal drain`: books the receipts that a gateway left in its journal directory when it vanished.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use domain::clock::Clock;
use domain::ids::Entropy;
use store::DrainCounts;

use super::serve::assemble;
use super::{block_on, run_with_settings};
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

/// The time between two lines about the progress.
const PROGRESS: Duration = Duration::from_secs(1);

const DRAIN_HELP: &str = "\
A gateway writes the receipt of each call to its journal and moves it to the database shortly after. A gateway that was
killed leaves the last receipts there; the next one on the same data directory books them. This command does so when no
gateway will start there again: for the volume of a removed replica, say, mounted on any machine.

Every receipt is booked exactly once, however often the command runs. Calls that were running are booked at their
reservation. The directory is emptied. The command refuses to touch it while a gateway uses it.

The database is the configured one: give the command the same STORAGE_TYPE, POSTGRES_URL and ENCRYPTION_KEY as the
gateways. It exits with 0 if everything was booked, else with 1; then run it again.

Example:
  STORAGE_TYPE=postgres POSTGRES_URL=postgres://... gatehouse journal drain /mnt/gatehouse-2/journal";

#[derive(Subcommand)]
pub enum Action {
    /// Book the receipts in the journal directory of a gateway that has vanished, and empty it
    #[command(after_help = DRAIN_HELP)]
    Drain {
        /// The directory `journal` in the data directory of that gateway, or the data directory itself
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, action: &Action) -> ExitCode {
    let Action::Drain { directory } = action;
    run_with_settings(config, |settings| {
        print!("{}", block_on(drain(settings, directory))?);
        Ok(())
    })
}

/// Drains a directory. Returns the summary.
async fn drain(settings: &Settings, directory: &Path) -> Result<String, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    assemble::make_directory(&settings.storage.data_dir)?;
    let store = assemble::open_store(settings, &clock, &entropy).await?;
    let mut told_at = clock.tick();
    let progress = |counts: &DrainCounts| {
        if clock.tick().saturating_sub(told_at) >= PROGRESS {
            told_at = clock.tick();
            tell(counts);
        }
    };
    let drained = store::drain_abandoned(directory, &store, clock.clone(), entropy, progress).await;
    store.close().await;
    drained.map(|counts| summary(directory, &counts)).map_err(|error| error.to_string())
}

#[expect(clippy::print_stderr, reason = "a command speaks to whoever typed it")]
fn tell(counts: &DrainCounts) {
    eprintln!("{} records booked ...", counts.records);
}

fn summary(directory: &Path, counts: &DrainCounts) -> String {
    let place = directory.display();
    if counts.journals == 0 {
        return format!("{place} is empty: everything in it was booked before.\n");
    }
    let mut text = format!(
        "Drained {place}: {} of ended processes, {} records, {:.1} MB.\n",
        counted(counts.journals, "journal"),
        counts.records,
        counts.bytes as f64 / 1e6
    );
    if counts.background_responses > 0 {
        text += &format!(
            "{} still ran at a provider; booked at the reservation.\n",
            counted(counts.background_responses, "background response")
        );
    }
    if counts.damaged > 0 {
        text += &format!(
            "{} could not be read or booked. The files are kept in {place}/damaged.\n",
            counted(counts.damaged as usize, "place")
        );
    }
    text
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
