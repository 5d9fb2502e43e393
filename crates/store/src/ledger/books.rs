//! The books: statements that take many bookings at once, each receipt once, by its time and id.

use std::sync::Arc;

use sqlx::SqlStr;

use super::booking::{Booking, COLUMNS};
use super::rollup::{self, Key, Sums};
use crate::StoreError;
use crate::database::{Writing, placeholders, sql};

/// A few sizes, so that each statement is prepared once and met again.
const SIZES: [usize; 3] = [32, 8, 1];

/// The statements, made once.
#[derive(Clone)]
pub(crate) struct Books(Arc<Statements>);

struct Statements {
    usage: [SqlStr; SIZES.len()],
    rollups: [SqlStr; SIZES.len()],
}

#[derive(Debug, PartialEq)]
pub(crate) enum Booked {
    All,
    /// Some id is in the ledger already and nobody knows which: roll back and book one at a time.
    SomeKnown,
}

impl Books {
    pub fn new(postgres: bool) -> Self {
        let usage = SIZES.map(|rows| {
            let values = placeholders(COLUMNS.len(), rows, postgres);
            sql(format!(
                "INSERT INTO usage ({}) VALUES {values} ON CONFLICT (at, id) DO NOTHING",
                COLUMNS.join(", ")
            ))
        });
        let rollups = SIZES.map(|rows| sql(rollup::upsert(&placeholders(rollup::WIDTH, rows, postgres))));
        Self(Arc::new(Statements { usage, rollups }))
    }

    /// Inserts the rows that are new and adds exactly those to the sums.
    pub async fn book(
        &self,
        open: &mut Writing,
        bookings: &[Booking],
        one_at_a_time: bool,
    ) -> Result<Booked, StoreError> {
        let mut fresh = Vec::with_capacity(bookings.len());
        let sizes = if one_at_a_time { &SIZES[SIZES.len() - 1..] } else { &SIZES[..] };
        let texts = &self.0.usage[SIZES.len() - sizes.len()..];
        let mut rest = bookings;
        for (size, text) in sizes.iter().zip(texts) {
            while rest.len() >= *size {
                let (chunk, behind) = rest.split_at(*size);
                rest = behind;
                let mut values = Vec::with_capacity(size * COLUMNS.len());
                chunk.iter().for_each(|booking| booking.bind(&mut values));
                match open.execute(text.clone(), &values).await? as usize {
                    inserted if inserted == *size => fresh.extend(chunk),
                    _ if *size == 1 => tracing::debug!(id = %chunk[0].id, "receipt is booked already"),
                    _ => return Ok(Booked::SomeKnown),
                }
            }
        }
        self.add(open, &rollup::add_up(&fresh)).await?;
        Ok(Booked::All)
    }

    /// Adds to the sums, or takes away from them. The keys are in order.
    pub(super) async fn add(&self, open: &mut Writing, sums: &[(Key<'_>, Sums)]) -> Result<(), StoreError> {
        let mut rest = sums;
        for (size, text) in SIZES.iter().zip(&self.0.rollups) {
            while rest.len() >= *size {
                let (chunk, behind) = rest.split_at(*size);
                rest = behind;
                let mut values = Vec::with_capacity(size * rollup::WIDTH);
                chunk.iter().for_each(|(key, sums)| rollup::bind(key, sums, &mut values));
                open.execute(text.clone(), &values).await?;
            }
        }
        Ok(())
    }
}
