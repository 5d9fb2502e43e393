//! The pieces of a consistent backup of a running gateway on SQLite, and exclusive access for putting one back.
//!
//! A receipt is in the journal, in the database, or in both. The journal's segments are hard-linked first, so that a
//! segment which is drained and removed meanwhile is kept; then the database is copied. What the copy has of a segment is
//! told by the position in it, so a backup may hold more of the journal than is needed, and never books it twice.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::StoreError;
use crate::journal::segment;

/// Longer than any write transaction of a gateway.
const BUSY: Duration = Duration::from_secs(30);

/// Copies the committed state of a SQLite database that may be in use. `to` is an empty file, or none.
pub async fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut connection = open(from).await?;
    let target = to.to_str().ok_or_else(|| StoreError::Failed("the path is not UTF-8".into()))?;
    sqlx::query("VACUUM INTO $1").bind(target).execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Whether SQLite finds the database whole.
pub async fn check_database(file: &Path) -> Result<(), StoreError> {
    let mut connection = open(file).await?;
    let verdict: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await?;
    connection.close().await?;
    if verdict == "ok" { Ok(()) } else { Err(StoreError::Corrupt(verdict)) }
}

async fn open(file: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(false).busy_timeout(BUSY);
    Ok(options.disable_statement_logging().connect().await?)
}

/// Links every journal segment below `root` into a directory of the same file system; returns the paths below it. May be
/// repeated to add segments that have appeared since.
pub fn link_journal(root: &Path, into: &Path) -> io::Result<Vec<PathBuf>> {
    for (name, directory) in segment::directories(root)? {
        let target = into.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&target)?;
        let segments = match segment::list(&directory) {
            // Its process has ended in good order, and everything in it is in the database.
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

/// A link keeps growing with its segment; where the file system has none, a copy is what it was just now.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let linked = match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => fs::copy(from, to).map(drop),
        linked => linked,
    };
    match linked {
        // Removed meanwhile: then it is in the database.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        linked => linked,
    }
}

/// Exclusive access to a data directory: no process can start on it until this is dropped.
pub struct ExclusiveAccess {
    _gate: File,
}

/// Takes exclusive access to the journal below `root`; none while a process uses it.
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
