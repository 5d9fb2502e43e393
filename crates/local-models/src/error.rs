//! The error of an operation on a model file or a package.

use std::fmt;
use std::io;
use std::path::Path;

/// The reason why a model cannot be imported or loaded, as a sentence for the user.
#[derive(Debug)]
pub struct ModelError(String);

impl ModelError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// An error of the file system or of an archive.
    pub fn io(path: &Path, action: &str, error: impl fmt::Display) -> Self {
        Self(format!("{} cannot be {action}: {error}.", path.display()))
    }

    /// A model file that is damaged, or not one.
    pub fn damaged(path: &Path, reason: &str) -> Self {
        Self(format!("{} is not a complete model file: {reason}. Import the model again.", path.display()))
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

impl From<ModelError> for io::Error {
    fn from(error: ModelError) -> Self {
        Self::other(error)
    }
}
