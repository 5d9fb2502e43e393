//! `gatehouse restore`: replaces the data of a stopped SQLite installation by a backup.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use domain::clock::Clock as _;

use super::backup::archive::{self, Manifest};
use super::backup::{self, DATABASE, ENCRYPTION_KEY, JOURNAL, KEYS, Staging};
use super::serve::assemble::make_directory;
use super::{block_on, run_with_settings};
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

#[derive(clap::Args)]
pub struct Options {
    /// A file written by `gatehouse backup`
    pub file: PathBuf,
    /// Move existing data aside first
    #[arg(long)]
    pub force: bool,
}

impl Options {
    #[cfg(test)]
    pub fn new(file: PathBuf, force: bool) -> Self {
        Self { file, force }
    }
}

/// The result of a restore.
pub struct Restored {
    manifest: Manifest,
    pub set_aside: Option<PathBuf>,
    warning: Option<String>,
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, options: &Options) -> ExitCode {
    run_with_settings(config, |settings| {
        let Restored { manifest, set_aside, warning } = block_on(restore(settings, options))?;
        let to = settings.storage.data_dir.display();
        println!("Restored the backup of {} into {to}: {}.", manifest.created_at, manifest.summary());
        if let Some(aside) = set_aside {
            println!("What was there is in {}.", aside.display());
        }
        if let Some(warning) = warning {
            println!("{warning}");
        }
        println!(
            "Calls that were running when the backup was made are booked as interrupted at the next start."
        );
        Ok(())
    })
}

pub async fn restore(settings: &Settings, options: &Options) -> Result<Restored, String> {
    backup::require_sqlite(settings)?;
    let data_dir = &settings.storage.data_dir;
    make_directory(data_dir)?;
    let unwritable =
        |error: io::Error| format!("The data directory {} cannot be written: {error}", data_dir.display());
    let exclusive = store::backup::exclusive_access(&data_dir.join(JOURNAL)).map_err(unwritable)?;
    let Some(_exclusive) = exclusive else {
        return Err(format!("A gateway is running on {}: stop it first.", data_dir.display()));
    };
    // The whole backup is unpacked and verified before existing data is touched.
    let staging = Staging::create(data_dir, "restore", &SystemEntropy).map_err(unwritable)?;
    let manifest = archive::unpack(&options.file, staging.path())?;
    let database = staging.path().join(DATABASE);
    store::backup::check_database(&database)
        .await
        .map_err(|error| format!("The database in {} is damaged: {error}", options.file.display()))?;
    let warning = key_warning(settings, &manifest, staging.path());
    let existing = existing(settings).map_err(unwritable)?;
    let replaced: Vec<PathBuf> = existing.into_iter().filter(|path| is_replaced(path, &manifest)).collect();
    if !replaced.is_empty() && !options.force {
        let names: Vec<String> = replaced.iter().map(|path| path.display().to_string()).collect();
        return Err(format!(
            "There is data already: {}. With --force it is moved aside first.",
            names.join(", ")
        ));
    }
    let set_aside = set_aside(data_dir, &replaced).map_err(unwritable)?;
    put_in_place(settings, &manifest, staging.path()).map_err(unwritable)?;
    Ok(Restored { manifest, set_aside, warning })
}

/// The existing files that a backup would replace.
fn existing(settings: &Settings) -> io::Result<Vec<PathBuf>> {
    let data_dir = &settings.storage.data_dir;
    let database = settings.storage.sqlite_file();
    let beside = |suffix: &str| {
        let mut name = database.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    let mut paths = vec![database.clone(), beside("-wal"), beside("-shm")];
    paths.extend(KEYS.iter().map(|name| data_dir.join(name)));
    for entry in std::fs::read_dir(data_dir.join(JOURNAL))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            paths.push(entry.path());
        }
    }
    Ok(paths.into_iter().filter(|path| path.exists()).collect())
}

/// Whether the backup replaces this file: everything except keys that the backup lacks.
fn is_replaced(path: &Path, manifest: &Manifest) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !KEYS.contains(&name) || manifest.files.iter().any(|entry| entry.name == name)
}

fn set_aside(data_dir: &Path, paths: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    if paths.is_empty() {
        return Ok(None);
    }
    let aside = data_dir.join(format!("before-restore-{}", SystemClock.now().micros() / 1_000_000));
    for path in paths {
        let in_journal = path.parent().is_some_and(|parent| parent.ends_with(JOURNAL));
        let target = if in_journal { aside.join(JOURNAL) } else { aside.clone() };
        std::fs::create_dir_all(&target)?;
        if let Some(name) = path.file_name() {
            move_to(path, &target.join(name))?;
        }
    }
    Ok(Some(aside))
}

/// Moves the files of the backup into the data directory, the database last: without it no gateway can process the
/// journal.
fn put_in_place(settings: &Settings, manifest: &Manifest, staging: &Path) -> io::Result<()> {
    let data_dir = &settings.storage.data_dir;
    for entry in manifest.files.iter().filter(|entry| entry.name != DATABASE) {
        let target = data_dir.join(&entry.name);
        if let Some(parent) = target.parent() {
            make_private(parent)?;
        }
        move_to(&staging.join(&entry.name), &target)?;
    }
    let database = settings.storage.sqlite_file();
    if let Some(parent) = database.parent() {
        std::fs::create_dir_all(parent)?;
    }
    move_to(&staging.join(DATABASE), &database)
}

fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Moves a file, also across file systems: the database may be on another one than the data directory.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            std::fs::copy(from, to)?;
            std::fs::remove_file(from)
        }
        moved => moved,
    }
}

/// A warning if the encryption key needs attention before the next start.
fn key_warning(settings: &Settings, manifest: &Manifest, staging: &Path) -> Option<String> {
    let in_backup = manifest.files.iter().any(|entry| entry.name == ENCRYPTION_KEY);
    let configured = settings.sources.iter().find(|origin| origin.setting.env == "ENCRYPTION_KEY");
    let configured = configured.map(|origin| &origin.value).filter(|value| !value.reveal().is_empty());
    match configured {
        Some(value) if in_backup => {
            let text = std::fs::read_to_string(staging.join(ENCRYPTION_KEY)).unwrap_or_default();
            (!backup::same_key(&text, value)).then(|| {
                "ENCRYPTION_KEY is set and wins over encryption.key of the backup: unset it if it is another key."
                    .to_owned()
            })
        }
        None if !in_backup && !settings.storage.data_dir.join(ENCRYPTION_KEY).exists() => Some(format!(
            "The backup holds no keys: put {ENCRYPTION_KEY} into {} or set ENCRYPTION_KEY before the next start.",
            settings.storage.data_dir.display()
        )),
        _ => None,
    }
}
