//! Change detection for a SQLite database by the metadata of its files, without opening it.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use domain::clock::Timestamp;

/// Assumed resolution of file times: two writes within it may have the same timestamp.
const STEP_MICROS: i64 = 2_000_000;

/// The state of the files of a database at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp([Option<(i64, u64)>; 2]);

impl Stamp {
    pub(crate) fn of(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self([look(database), look(&PathBuf::from(log))])
    }

    /// True if certainly nothing was written since `earlier` was taken.
    pub fn is_still(&self, earlier: Option<&Self>, now: Timestamp) -> bool {
        let settled = |file: &Option<(i64, u64)>| {
            file.is_none_or(|(modified, _)| modified.saturating_add(STEP_MICROS) < now.micros())
        };
        earlier == Some(self) && self.0.iter().all(settled)
    }
}

/// Modification time and length of a file.
fn look(file: &Path) -> Option<(i64, u64)> {
    let facts = std::fs::metadata(file).ok()?;
    let modified = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(modified.as_micros()).ok()?, facts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_files_that_did_not_change_are_still() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("gatehouse.db");
        std::fs::write(&database, "a").unwrap();
        let first = Stamp::of(&database);
        let Some((modified, 1)) = first.0[0] else { panic!("{first:?}") };
        let later = |seconds: i64| Timestamp(modified + seconds * 1_000_000);
        assert!(!first.is_still(None, later(60)), "never looked at");
        assert!(!first.is_still(Some(&first), later(1)), "too young to tell");
        assert!(first.is_still(Some(&first), later(60)));
        std::fs::write(directory.path().join("gatehouse.db-wal"), "b").unwrap();
        let second = Stamp::of(&database);
        assert!(!second.is_still(Some(&first), later(60)), "a log has come");
        assert!(second.is_still(Some(&second), later(60)));
    }
}
