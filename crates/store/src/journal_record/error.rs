//! The reason why a record cannot be decoded.

use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) enum RecordError {
    /// The record does not have the structure of the binary encoding.
    Malformed(&'static str),
    /// The value of the field with this number cannot be decoded.
    Field {
        number: u8,
        reason: &'static str,
    },
    Json(serde_json::Error),
    Utf8(std::str::Utf8Error),
}

impl Display for RecordError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(reason) => f.write_str(reason),
            Self::Field { number, reason } => write!(f, "field {number}: {reason}"),
            Self::Json(error) => error.fmt(f),
            Self::Utf8(error) => error.fmt(f),
        }
    }
}

impl From<&'static str> for RecordError {
    fn from(reason: &'static str) -> Self {
        Self::Malformed(reason)
    }
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl From<std::str::Utf8Error> for RecordError {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::Utf8(error)
    }
}
