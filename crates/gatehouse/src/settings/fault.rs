//! Faults of the configuration: the setting, the reason, and the position in the file.

use std::fmt;
use std::path::PathBuf;

/// A position in a file; line and column start at one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePosition {
    pub line: usize,
    pub column: usize,
}

/// One fault. It never contains the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    /// The names of the setting, or the file when it cannot be read at all.
    pub key: String,
    /// Continues the key to a sentence.
    pub message: String,
    pub file: Option<PathBuf>,
    pub place: Option<FilePosition>,
}

impl SettingsFault {
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), file: None, place: None }
    }

    pub fn at(mut self, place: Option<FilePosition>) -> Self {
        self.place = place;
        self
    }

    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(FilePosition { line, column }) = self.place {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{} {}", self.key, self.message)
    }
}

impl std::error::Error for SettingsFault {}
