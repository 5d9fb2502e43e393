//! Building blocks of a consistent backup of a running gateway on SQLite, and exclusive access for restoring one.
//!
//! A receipt is in the journal, in the database, or in both. While a backup holds the lock of the journal, no segment is
//! removed: the database is copied first, and then the segments have everything that the copy lacks. The copy contains
//! the drained position of each segment, so a backup may contain more of the journal than necessary, but nothing is
//! booked twice.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::StoreError;
use crate::database::sqlite;
use crate::journal::segment;

/// Longer than any write transaction of the gateway.
const BUSY: Duration = Duration::from_secs(30);

/// Copies the committed state of a SQLite database that may be in use. `to` must not exist or be an empty file.
pub async fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let target = to.to_str().ok_or_else(|| StoreError::Failed("the path is not UTF-8".into()))?.to_owned();
    with_connection(from, move |connection| connection.execute("VACUUM INTO ?1", [&target]).map(drop)).await
}

/// Checks the integrity of a SQLite database.
pub async fn check_database(file: &Path) -> Result<(), StoreError> {
    let check = |connection: &Connection| {
        connection.query_one("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    let verdict = with_connection(file, check).await?;
    if verdict == "ok" { Ok(()) } else { Err(StoreError::Corrupt(verdict)) }
}

/// Runs work on a connection of its own, on a blocking thread.
async fn with_connection<T: Send + 'static>(
    file: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let file = file.to_owned();
    let working = tokio::task::spawn_blocking(move || work(&sqlite::open_existing(&file, BUSY)?));
    Ok(working.await.map_err(|error| StoreError::Failed(error.to_string()))??)
}

/// Keeps all segments of the journal below `root` until the returned file is dropped.
pub fn keep_journal(root: &Path) -> io::Result<File> {
    segment::lock_for_backup(root)
}

/// The length of the content of a journal segment, which may be in use; zeros follow it in the file.
pub fn segment_length(path: &Path) -> io::Result<u64> {
    segment::content_length(path)
}

/// Hard-links every journal segment below `root` into a directory on the same file system and returns the paths
/// relative to it.
pub fn link_journal(root: &Path, into: &Path) -> io::Result<Vec<PathBuf>> {
    for (name, directory) in segment::directories(root)? {
        let target = into.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&target)?;
        let segments = match segment::list(&directory) {
            // Its process has stopped normally, so everything in it is in the database.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            segments => segments?,
        };
        for segment in segments {
            let Some(file) = segment.path.file_name() else { continue };
            link(&segment.path, &target.join(file))?;
        }
    }
    let mut linked = Vec::new();
    for (name, directory) in segment::directories(into)? {
        let files = segment::list(&directory)?.into_iter();
        linked.extend(files.filter_map(|segment| Some(Path::new(&name).join(segment.path.file_name()?))));
    }
    Ok(linked)
}

/// Hard-links a segment, or copies it where the file system has no hard links.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let linked = match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => fs::copy(from, to).map(drop),
        linked => linked,
    };
    match linked {
        // Removed meanwhile, so its content is in the database.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        linked => linked,
    }
}

/// Exclusive access to a data directory: no process can start on it until this is dropped.
pub struct ExclusiveAccess {
    _gate: File,
}

/// Takes exclusive access to the journal below `root`; `None` while a process uses it.
pub fn exclusive_access(root: &Path) -> io::Result<Option<ExclusiveAccess>> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    let Some(gate) = segment::close_gate(root)? else { return Ok(None) };
    let in_use = segment::directories(root)?
        .into_iter()
        .map(|(_, directory)| segment::is_in_use(&directory))
        .collect::<io::Result<Vec<bool>>>()?;
    Ok((!in_use.contains(&true)).then_some(ExclusiveAccess { _gate: gate }))
}

#[cfg(test)]
mod tests;
