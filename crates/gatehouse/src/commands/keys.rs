//! `gatehouse keys`: creates, lists and revokes managed keys directly in storage; the gateway need not run.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};
use domain::resources::auth_key::{self, AuthKey};
use domain::scope::Scope;
use domain::secret::Secret;
use domain::user_path::UserPath;
use store::{Store, StoreError, Stored, Write};

use super::serve::assemble;
use super::{block_on, run_with_settings};
use crate::settings::{Settings, Value as _};
use crate::system::{SystemClock, SystemEntropy};

/// The actor in change records.
const ACTOR: &str = "cli";

#[derive(Subcommand)]
pub enum Action {
    /// Create a key and print it; it cannot be shown again
    Create(Create),
    /// List the keys, newest first
    List,
    /// Deactivate a key: it is refused from then on
    Revoke {
        /// The key's id, as shown by `keys list`
        id: String,
    },
}

#[derive(Args)]
pub struct Create {
    /// A display name; need not be unique
    #[arg(long)]
    name: String,
    /// A scope of the key; may be given several times [default: inference]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<Scope>,
    /// The user path that its calls are charged to
    #[arg(long, value_name = "PATH", value_parser = UserPath::parse)]
    user_path: Option<UserPath>,
    /// Lifetime, such as 30d or 12h; without it the key does not expire
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires_in: Option<Duration>,
}

fn duration(text: &str) -> Result<Duration, String> {
    Duration::parse(text)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "not a time such as 30d, 12h or 45m".into())
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, action: Action) -> ExitCode {
    run_with_settings(config, |settings| {
        let CommandOutput { result, note } = block_on(act(settings, action))?;
        print!("{result}");
        eprint!("{note}");
        Ok(())
    })
}

/// Output of a command: the result for scripts, and notes for people.
#[derive(Debug, Default)]
struct CommandOutput {
    result: String,
    note: String,
}

async fn act(settings: &Settings, action: Action) -> Result<CommandOutput, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    assemble::make_directory(&settings.storage.data_dir)?;
    let store = assemble::open_store(settings, &clock, &entropy).await?;
    let output = match action {
        Action::Create(wish) => create(&store, &wish, &*clock, &*entropy).await,
        Action::List => list(&store, clock.now()).await,
        Action::Revoke { id } => revoke(&store, &id, clock.now()).await,
    };
    store.close().await;
    output.map_err(|error| match error {
        StoreError::NotFound => "There is no such key: `gatehouse keys list` shows them.".to_owned(),
        StoreError::Invalid(fault) => fault.message,
        error => format!("Nothing was changed: {error}."),
    })
}

async fn create(
    store: &Store,
    wish: &Create,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<CommandOutput, StoreError> {
    let (raw, now): (Secret, Timestamp) = (auth_key::mint(entropy), clock.now());
    let mut key = AuthKey::new(ids::prefixed("key", now, entropy), &wish.name, &raw);
    if !wish.scopes.is_empty() {
        key.scopes = wish.scopes.clone();
    }
    key.user_path = wish.user_path.as_ref().map(|path| path.as_str().to_owned());
    key.expires_at = wish.expires_in.map(|time| after(now, time)).transpose()?;
    store.collection::<AuthKey>().put(&key, Write::Create, ACTOR, None).await?;
    Ok(CommandOutput {
        result: format!("{}\n", raw.reveal()),
        note: format!("Made {}. This is its only showing: keep it now.\n", key.id),
    })
}

fn after(now: Timestamp, time: Duration) -> Result<Timestamp, StoreError> {
    let end = i64::try_from(time.as_micros()).ok().and_then(|micros| now.micros().checked_add(micros));
    let end = end.filter(|micros| jiff::Timestamp::from_microsecond(*micros).is_ok());
    let too_long = || domain::fault::invalid_parameter("expires-in", "That is too far ahead.");
    end.map(Timestamp).ok_or_else(|| StoreError::Invalid(too_long()))
}

async fn list(store: &Store, now: Timestamp) -> Result<CommandOutput, StoreError> {
    let mut keys = store.collection::<AuthKey>().all().await?;
    keys.reverse();
    let uses = store.ledger().all_key_uses().await?;
    let mut rows =
        vec![["ID", "NAME", "SCOPES", "USER PATH", "STATE", "CREATED", "LAST USED"].map(str::to_owned)];
    rows.extend(keys.iter().map(|stored| {
        let key = &stored.value;
        let used = uses.get(&key.id).map_or_else(|| "never".to_owned(), |at| time(*at));
        let scopes: Vec<String> = key.scopes.iter().map(Scope::to_string).collect();
        let path = key.user_path.clone().unwrap_or_else(|| "/".to_owned());
        [
            key.id.clone(),
            printable(&key.name),
            scopes.join(","),
            path,
            state(stored, now),
            time(stored.created_at),
            used,
        ]
    }));
    Ok(CommandOutput { result: table(&rows), note: String::new() })
}

fn state(stored: &Stored<AuthKey>, now: Timestamp) -> String {
    let key = &stored.value;
    match key.expires_at {
        _ if key.deactivated_at.is_some() => "revoked".to_owned(),
        Some(end) if !key.active(now) => format!("expired {}", time(end)),
        Some(end) => format!("until {}", time(end)),
        None => "active".to_owned(),
    }
}

/// Replaces control characters: a name must not send escape sequences to the terminal of the user who lists keys.
pub(super) fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.micros())
        .map_or_else(|_| "?".to_owned(), |moment| format!("{moment:.0}"))
}

fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

async fn revoke(store: &Store, id: &str, now: Timestamp) -> Result<CommandOutput, StoreError> {
    let keys = store.collection::<AuthKey>();
    loop {
        let stored = keys.get(id).await?.ok_or(StoreError::NotFound)?;
        if stored.value.deactivated_at.is_some() {
            return Ok(CommandOutput {
                note: format!("{id} was revoked already.\n"),
                ..CommandOutput::default()
            });
        }
        let etag = stored.etag();
        let revoked = AuthKey { deactivated_at: Some(now), ..stored.value };
        match keys.put(&revoked, Write::Replace, ACTOR, Some(&etag)).await {
            // The key was changed in the meantime: retries with its new version.
            Err(StoreError::PreconditionFailed) => {}
            written => {
                written?;
                return Ok(CommandOutput { note: format!("Revoked {id}.\n"), ..CommandOutput::default() });
            }
        }
    }
}
