//! `gatehouse backup`: writes a consistent copy of a SQLite installation to one file, online or offline.

pub mod archive;
mod staging;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use domain::clock::Clock as _;
use domain::secret::Secret;

use super::{block_on, run_with_settings};
use crate::master_key;
use crate::settings::{Settings, StorageType};
use crate::system::{SystemClock, SystemEntropy};
use archive::{Archive, Manifest};
pub use staging::Staging;

/// Names inside the archive; keys and journal have the same names as in the data directory.
pub const DATABASE: &str = "gatehouse.db";
pub const ENCRYPTION_KEY: &str = "encryption.key";
pub const JOURNAL: &str = "journal";
pub const KEYS: [&str; 2] = [ENCRYPTION_KEY, master_key::FILE];

#[derive(clap::Args)]
pub struct Options {
    /// The file to write; it must not exist
    file: PathBuf,
    /// Leave out encryption.key and master.key, to store them elsewhere
    #[arg(long)]
    without_keys: bool,
    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, options: &Options) -> ExitCode {
    run_with_settings(config, |settings| {
        let manifest = block_on(back_up(settings, options))?;
        print!("{}", report(&options.file, &manifest, settings));
        Ok(())
    })
}

/// Rejects PostgreSQL, which has backup tools of its own.
pub fn require_sqlite(settings: &Settings) -> Result<(), String> {
    match settings.storage.kind {
        StorageType::Sqlite => Ok(()),
        StorageType::Postgres => Err("Storage is PostgreSQL: back it up and restore it with pg_dump and \
             pg_restore. docs/operations.md says how, under \"Back up PostgreSQL\"."
            .to_owned()),
    }
}

async fn back_up(settings: &Settings, options: &Options) -> Result<Manifest, String> {
    require_sqlite(settings)?;
    let (database, data_dir) = (settings.storage.sqlite_file(), &settings.storage.data_dir);
    if !database.exists() {
        return Err(format!("There is no database at {}. Set DATA_DIR or SQLITE_PATH.", database.display()));
    }
    if options.file.exists() && !options.force {
        return Err(format!("{} exists already; --force overwrites it.", options.file.display()));
    }
    // In the data directory, because hard links cannot cross file systems.
    let staging = Staging::create(data_dir, "backup", &SystemEntropy)
        .map_err(|error| format!("The data directory {} cannot be written: {error}", data_dir.display()))?;
    let journal = (data_dir.join(JOURNAL), staging.path().join(JOURNAL));
    let link = || {
        store::backup::link_journal(&journal.0, &journal.1)
            .map_err(|error| format!("The journal in {} cannot be read: {error}", journal.0.display()))
    };
    // The order (database, then journal) and the lock make the backup consistent: see `store::backup`.
    let lock = store::backup::keep_journal(&journal.0)
        .map_err(|error| format!("The journal in {} cannot be locked: {error}", journal.0.display()))?;
    let copy = staging.path().join(DATABASE);
    store::backup::copy_database(&database, &copy)
        .await
        .map_err(|error| format!("The database {} cannot be copied: {error}", database.display()))?;
    let segments = link()?;
    // The links keep the content of segments that are removed from now on.
    drop(lock);
    let mut files = vec![(DATABASE.to_owned(), copy)];
    files.extend(
        segments.iter().map(|segment| (format!("{JOURNAL}/{}", segment.display()), journal.1.join(segment))),
    );
    let kept = KEYS.iter().map(|name| ((*name).to_owned(), data_dir.join(name)));
    files.extend(kept.filter(|(_, path)| path.exists() && !options.without_keys));
    write(&options.file, &files)
        .map_err(|error| format!("{} cannot be written: {error}", options.file.display()))
}

/// Writes the archive under a temporary name and renames it when it is complete.
fn write(file: &Path, files: &[(String, PathBuf)]) -> io::Result<Manifest> {
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = Archive::create(&partial).and_then(|mut archive| {
        for (name, path) in files {
            let length = if name.starts_with(JOURNAL) {
                store::backup::segment_length(path)?
            } else {
                path.metadata()?.len()
            };
            archive.add(name, path, length)?;
        }
        archive.finish(SystemClock.now())
    });
    let written = written.and_then(|manifest| std::fs::rename(&partial, file).map(|()| manifest));
    written.inspect_err(|_| _ = std::fs::remove_file(&partial))
}

fn report(file: &Path, manifest: &Manifest, settings: &Settings) -> String {
    let mut text = format!("Wrote {}: {}.\n", file.display(), manifest.summary());
    let sealed_elsewhere = settings.storage.encryption_key.as_ref().is_some();
    let has_key = manifest.files.iter().any(|entry| entry.name == ENCRYPTION_KEY);
    text += if sealed_elsewhere {
        "Provider keys in it are sealed with ENCRYPTION_KEY: keep that, too.\n"
    } else if has_key {
        "It holds the encryption key, which opens the provider keys in it: keep it as safe as a password.\n"
    } else {
        "It holds no keys: keep encryption.key elsewhere, or the provider keys in it cannot be opened.\n"
    };
    text
}

/// Compares a key with the text of a key file.
pub fn same_key(text: &str, other: &Secret) -> bool {
    text.trim() == other.reveal()
}

#[cfg(test)]
mod tests;
