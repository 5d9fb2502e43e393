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
                let text = refusal.message().to_owned();
                match verdict(refusal.as_ref()) {
                    Verdict::Retry => Self::Unavailable(text),
                    Verdict::Taken => Self::conflict(text),
                    Verdict::Damaged => Self::Corrupt(text),
                    Verdict::Refused => Self::Failed(text),
                }
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

enum Verdict {
    Retry,
    Taken,
    Damaged,
    Refused,
}

fn verdict(refusal: &dyn sqlx::error::DatabaseError) -> Verdict {
    if refusal.is_unique_violation() {
        return Verdict::Taken;
    }
    let code = refusal.code().unwrap_or_default();
    // PostgreSQL codes have five characters, starting with the class; SQLite codes are numbers whose low byte is the
    // primary code.
    if code.len() == 5 && refusal.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return match &code[..2] {
            "08" | "40" | "53" | "55" | "57" | "58" => Verdict::Retry,
            "25" => Verdict::Retry,
            "XX" => Verdict::Damaged,
            _ => Verdict::Refused,
        };
    }
    match code.parse::<i64>().map(|code| code & 0xff) {
        // Busy, locked, out of memory, read-only, interrupted, I/O error, full, cannot open, protocol.
        Ok(5..=10 | 13..=15) => Verdict::Retry,
        Ok(11 | 26) => Verdict::Damaged,
        _ => Verdict::Refused,
    }
}
