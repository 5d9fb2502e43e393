//! The location of a configuration file: a directory that a variable may move, and a path below it.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The location of a configuration file of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigPlace {
    /// The variable that moves the directory, such as `CODEX_HOME`.
    pub variable: Option<&'static str>,
    /// The directory below the home directory, if no variable moves it; empty for a place that is not a file.
    pub directory: &'static str,
    /// The path of the file below the directory.
    pub file: &'static str,
}

impl ConfigPlace {
    /// The usual path, for display.
    pub fn display(&self) -> String {
        match self.directory {
            "" => self.file.to_owned(),
            directory => format!("~/{directory}/{}", self.file),
        }
    }
}

/// The directories of a user: the home directory, and directories that variables name.
#[derive(Clone, Debug)]
pub struct Directories {
    pub home: PathBuf,
    pub variables: BTreeMap<String, String>,
}

impl Directories {
    /// The trusted directory that a file lies below, and its path relative to that.
    pub fn locate(&self, place: &ConfigPlace) -> (PathBuf, PathBuf) {
        let moved = place.variable.and_then(|name| self.variables.get(name)).map(PathBuf::from);
        match moved.filter(|directory| directory.is_absolute()) {
            Some(directory) => (directory, PathBuf::from(place.file)),
            None => (self.home.clone(), PathBuf::from(place.directory).join(place.file)),
        }
    }
}
