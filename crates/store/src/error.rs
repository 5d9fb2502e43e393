//! Storage errors, and their conversion to client errors.

use domain::fault::{self, Fault};

#[derive(Clone, Debug, PartialEq)]
pub enum StoreError {
    /// Storage is unreachable, too slow or full; a retry may succeed.
    Unavailable(String),
    /// The name is taken, or other documents refer to it; `referrers` are `kind/name`.
    Conflict {
        message: String,
        referrers: Vec<String>,
    },
    NotFound,
    /// `If-Match` does not match the stored revision.
    PreconditionFailed,
    /// The document is invalid.
    Invalid(Fault),
    /// Stored data is encrypted with another key. Holds fingerprints; `stored` is absent if none was stored.
    WrongKey {
        stored: Option<String>,
        own: String,
    },
    /// Stored data cannot be decoded.
    Corrupt(String),
    /// The database rejected a statement: a bug of ours, or the schema was changed.
    Failed(String),
}

impl StoreError {
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict { message: message.into(), referrers: Vec::new() }
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(f, "storage is not available: {reason}"),
            Self::Conflict { message, .. } => f.write_str(message),
            Self::NotFound => f.write_str("there is no such record"),
            Self::PreconditionFailed => f.write_str("the record has changed since it was read"),
            Self::Invalid(fault) => fault.fmt(f),
            Self::WrongKey { stored, own } => write!(
                f,
                "the encryption key has the fingerprint {own}, and the stored secrets were sealed with {}",
                stored.as_deref().map_or("another key".to_owned(), |stored| format!("the key {stored}"))
            ),
            Self::Corrupt(reason) => write!(f, "a stored record cannot be read: {reason}"),
            Self::Failed(reason) => write!(f, "the database refused: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(reason) => {
                tracing::warn!(%reason, "storage unavailable");
                fault::feature_unavailable("Storage is not available at the moment: try again.")
            }
            StoreError::Conflict { message, .. } => fault::conflict(message),
            StoreError::NotFound => fault::not_found("There is no such record."),
            StoreError::PreconditionFailed => fault::precondition_failed(),
            StoreError::Invalid(fault) => fault,
            error @ StoreError::WrongKey { .. } => {
                tracing::error!(%error, "storage failed");
                fault::internal_error()
            }
            StoreError::Corrupt(reason) | StoreError::Failed(reason) => {
                tracing::error!(%reason, "storage failed");
                fault::internal_error()
            }
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(refusal) => {
                postgres_verdict(refusal.as_ref()).of(refusal.message().to_owned())
            }
            sqlx::Error::RowNotFound => Self::NotFound,
            sqlx::Error::Decode(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnIndexOutOfBounds { .. } => Self::Corrupt(error.to_string()),
            sqlx::Error::PoolTimedOut => {
                Self::Unavailable("no database connection was free or could be opened in time".into())
            }
            sqlx::Error::Configuration(_) | sqlx::Error::Encode(_) => Self::Failed(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error;
        match error {
            Error::SqliteFailure(code, message) => {
                let text = message.unwrap_or_else(|| code.to_string());
                sqlite_verdict(code.extended_code).of(text)
            }
            Error::SqlInputError { error, msg, .. } => sqlite_verdict(error.extended_code).of(msg),
            Error::QueryReturnedNoRows => Self::NotFound,
            Error::InvalidParameterCount(..) | Error::MultipleStatement => Self::Failed(error.to_string()),
            _ => Self::Corrupt(error.to_string()),
        }
    }
}

enum Verdict {
    Retry,
    Taken,
    Damaged,
    Refused,
}

impl Verdict {
    fn of(self, text: String) -> StoreError {
        match self {
            Self::Retry => StoreError::Unavailable(text),
            Self::Taken => StoreError::conflict(text),
            Self::Damaged => StoreError::Corrupt(text),
            Self::Refused => StoreError::Failed(text),
        }
    }
}

fn postgres_verdict(refusal: &dyn sqlx::error::DatabaseError) -> Verdict {
    if refusal.is_unique_violation() {
        return Verdict::Taken;
    }
    let code = refusal.code().unwrap_or_default();
    // Codes have five characters, starting with the class.
    match code.get(..2).unwrap_or_default() {
        "08" | "40" | "53" | "55" | "57" | "58" | "25" => Verdict::Retry,
        "XX" => Verdict::Damaged,
        _ => Verdict::Refused,
    }
}

fn sqlite_verdict(extended_code: i32) -> Verdict {
    const PRIMARY_KEY: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY;
    const UNIQUE: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;
    if matches!(extended_code, PRIMARY_KEY | UNIQUE) {
        return Verdict::Taken;
    }
    // The low byte is the primary code.
    match extended_code & 0xff {
        // Busy, locked, out of memory, read-only, interrupted, I/O error, full, cannot open, protocol.
        5..=10 | 13..=15 => Verdict::Retry,
        11 | 26 => Verdict::Damaged,
        _ => Verdict::Refused,
    }
}
