//! Books a rejected batch in ever smaller parts, so that a receipt the database rejects does not block the others.

use super::batch_job;
use crate::audit::AuditEntry;
use crate::database::Writer;
use crate::ledger::booking::Booking;
use crate::{Store, StoreError};

#[derive(Clone, Copy)]
pub(super) struct Part<'a, 'b> {
    pub bookings: &'a [Booking<'b>],
    pub entries: &'a [AuditEntry],
}

impl<'a, 'b> Part<'a, 'b> {
    fn halves(self) -> Option<[Part<'a, 'b>; 2]> {
        let Self { bookings, entries } = self;
        if !bookings.is_empty() && !entries.is_empty() {
            return Some([Part { bookings, entries: &[] }, Part { bookings: &[], entries }]);
        }
        if bookings.len() + entries.len() < 2 {
            return None;
        }
        let (first, second) = bookings.split_at(bookings.len() / 2);
        let (former, latter) = entries.split_at(entries.len() / 2);
        Some([Part { bookings: first, entries: former }, Part { bookings: second, entries: latter }])
    }

    fn id(self) -> &'a str {
        let booking = self.bookings.first().map(|booking| &*booking.id);
        booking.or_else(|| self.entries.first().map(|entry| &*entry.id)).unwrap_or_default()
    }
}

/// True for errors that a retry cannot resolve.
pub(super) fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::Failed(_) | StoreError::Corrupt(_) | StoreError::Conflict { .. })
}

/// Books what the database accepts and returns the reasons for the rest. No position guards this: receipts are
/// deduplicated by id.
pub(super) async fn book(
    store: &Store,
    writer: &Writer,
    whole: Part<'_, '_>,
    chain: &str,
) -> Result<Vec<String>, StoreError> {
    let mut refused = Vec::new();
    let mut waiting = vec![whole];
    while let Some(part) = waiting.pop() {
        match (batch_job::book(store, writer, part, chain, None).await, part.halves()) {
            (Ok(_), _) => {}
            (Err(error), Some([first, second])) if is_refusal(&error) => waiting.extend([second, first]),
            (Err(error), None) if is_refusal(&error) => {
                // If not even an empty receipt can be booked, the schema is broken and the journal waits for its
                // repair.
                if refused.is_empty() {
                    probe(store, writer, part.bookings.is_empty()).await?;
                }
                let id = part.id();
                tracing::error!(%error, id, audit = part.bookings.is_empty(), "receipt rejected by the database, journal segment set aside");
                refused.push(format!("receipt {id}: {error}"));
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(refused)
}

/// Checks whether an empty receipt could be booked; the transaction is rolled back.
async fn probe(store: &Store, writer: &Writer, audit: bool) -> Result<(), StoreError> {
    let receipt = domain::receipt::Receipt {
        id: "probe".into(),
        auth_method: "probe".into(),
        audit: Some(Box::default()),
        ..domain::receipt::Receipt::default()
    };
    let attempt = async {
        let mut open = writer.begin().await?;
        if audit {
            store.audit().appender.append(&mut open, "probe", &[receipt], true).await?;
        } else {
            let bookings: Vec<Booking<'static>> = Booking::of(&receipt)?.into_iter().collect();
            store.ledger().writer.book(&mut open, &bookings, true).await?;
        }
        Ok(())
    };
    writer.limited(attempt).await
}
