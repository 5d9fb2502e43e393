//! Applying a configuration to the files of a user with timestamped backups, and restoring the newest ones.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use domain::clock::Timestamp;

use crate::config_file::{ConfigFile, FileError, ReadFile};
use crate::connection::Connection;
use crate::merge::merge;
use crate::place::{ConfigPlace, Directories};
use crate::tool::{Content, Tool};

/// The files that were written, in the order of the tool's places.
#[derive(Debug)]
pub struct Applied {
    pub files: Vec<AppliedFile>,
}

#[derive(Debug)]
pub struct AppliedFile {
    pub path: PathBuf,
    /// The copy of the file as it was; `None` if it did not exist.
    pub backup_path: Option<PathBuf>,
    /// False if the file had this content already.
    pub changed: bool,
}

/// The files that were restored or, if they did not exist before, removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Reset {
    pub restored: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
}

/// The files as they would be without earlier content: usual path, language and text.
pub fn preview_files(tool: &Tool, connection: &Connection) -> Vec<(String, &'static str, String)> {
    let files = tool.configure(connection).files;
    let preview = |file: &crate::RenderedFile| {
        // The rendered members are always valid in an empty file.
        let text = merge("", &file.content).unwrap_or_default();
        (file.place.display(), file.content.language(), text)
    };
    files.iter().map(preview).collect()
}

/// Merges the configuration into the files of the user. Either all files are written or none.
pub fn apply(
    tool: &Tool,
    connection: &Connection,
    directories: &Directories,
    now: Timestamp,
) -> Result<Applied, FileError> {
    let rendered = tool.configure(connection).files;
    let writable = rendered.iter().filter(|file| !matches!(file.content, Content::Text { .. }));
    let planned: Vec<PlannedWrite> =
        writable.map(|file| plan(&file.place, &file.content, directories)).collect::<Result<_, _>>()?;
    let stamp = stamp(now);
    let mut files = Vec::new();
    for (index, write) in planned.iter().enumerate() {
        match write.execute(&stamp) {
            Ok(file) => files.push(file),
            Err(error) => {
                planned[..index].iter().for_each(|write| write.undo(&stamp));
                return Err(error);
            }
        }
    }
    Ok(Applied { files })
}

/// Restores the files of the newest backup and deletes that backup; `None` if there is no backup.
pub fn reset(tool: &Tool, directories: &Directories) -> Result<Option<Reset>, FileError> {
    let mut backups = Vec::new();
    for place in tool.places {
        let (root, relative) = directories.locate(place);
        let Some(file) = ConfigFile::open(&root, &relative, false)? else { continue };
        let names = file.names()?;
        let newest = names
            .iter()
            .filter_map(|name| Backup::parse(file.name(), name))
            .max_by(|a, b| a.stamp.cmp(&b.stamp));
        backups.extend(newest.map(|backup| (file, backup)));
    }
    let Some(newest) = backups.iter().map(|(_, backup)| backup.stamp.clone()).max() else { return Ok(None) };
    let mut reset = Reset { restored: Vec::new(), removed: Vec::new() };
    for (file, backup) in backups.iter().filter(|(_, backup)| backup.stamp == newest) {
        backup.restore(file)?;
        match backup.mode {
            Some(_) => reset.restored.push(file.path().to_owned()),
            None => reset.removed.push(file.path().to_owned()),
        }
    }
    Ok(Some(reset))
}

/// A file with its content before and after.
struct PlannedWrite {
    file: ConfigFile,
    before: Option<ReadFile>,
    after: String,
}

fn plan(
    place: &ConfigPlace,
    content: &Content,
    directories: &Directories,
) -> Result<PlannedWrite, FileError> {
    let (root, relative) = directories.locate(place);
    let missing = || FileError { path: root.join(&relative), reason: "has no directory".to_owned() };
    let file = ConfigFile::open(&root, &relative, true)?.ok_or_else(missing)?;
    let before = file.read()?;
    let existing = before.as_ref().map_or("", |read| &*read.text);
    let after = merge(existing, content).map_err(|reason| file.failed(reason))?;
    Ok(PlannedWrite { file, before, after })
}

impl PlannedWrite {
    fn is_change(&self) -> bool {
        self.before.as_ref().is_none_or(|read| read.text != self.after)
    }

    fn backup(&self, stamp: &str) -> Backup {
        Backup::new(self.file.name(), stamp, self.before.as_ref().map(|read| read.mode))
    }

    fn execute(&self, stamp: &str) -> Result<AppliedFile, FileError> {
        let path = self.file.path().to_owned();
        if !self.is_change() {
            return Ok(AppliedFile { path, backup_path: None, changed: false });
        }
        let backup = self.backup(stamp);
        self.file.create(&backup.name, self.before.as_ref().map_or("", |read| &*read.text))?;
        if let Err(error) = self.file.write(&self.after) {
            let _ = self.file.remove(&backup.name);
            return Err(error);
        }
        let backup_path = self.before.is_some().then(|| self.file.sibling(&backup.name));
        Ok(AppliedFile { path, backup_path, changed: true })
    }

    /// Restores the file after another file of the same tool could not be written.
    fn undo(&self, stamp: &str) {
        if self.is_change() {
            let _ = self.backup(stamp).restore(&self.file);
        }
    }
}

/// A backup file: `NAME.gatehouse-STAMP.MODE.bak`, or `NAME.gatehouse-STAMP.none` for a file that did not exist.
struct Backup {
    name: String,
    stamp: String,
    /// The permission bits of the original; `None` if the file did not exist.
    mode: Option<u32>,
}

impl Backup {
    fn new(file: &str, stamp: &str, mode: Option<u32>) -> Self {
        let ending = mode.map_or_else(|| "none".to_owned(), |mode| format!("{mode:03o}.bak"));
        Self { name: format!("{file}.gatehouse-{stamp}.{ending}"), stamp: stamp.to_owned(), mode }
    }

    fn parse(file: &str, name: &str) -> Option<Self> {
        let rest = name.strip_prefix(file)?.strip_prefix(".gatehouse-")?;
        let (stamp, mode) = match rest.strip_suffix(".none") {
            Some(stamp) => (stamp, None),
            None => {
                let (stamp, mode) = rest.strip_suffix(".bak")?.rsplit_once('.')?;
                (stamp, Some(u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o777)?))
            }
        };
        Some(Self { name: name.to_owned(), stamp: stamp.to_owned(), mode })
    }

    fn restore(&self, file: &ConfigFile) -> Result<(), FileError> {
        match self.mode {
            Some(mode) => file.replace_by(&self.name, mode),
            None => {
                file.remove(file.name())?;
                file.remove(&self.name)
            }
        }
    }
}

/// The time as text that sorts by time.
fn stamp(now: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(now.micros()).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%S%6fZ").to_string()
}
