//! Prepared statements that book many receipts at once, each receipt once by its time and id.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::SqlStr;

use super::booking::{Booking, WIDTH};
use super::compaction::{self, WaitingDeltas};
use super::delta::Delta;
use super::rollup::{self, Key, Sums, TABLES};
use super::usage_insert::UsageInserts;
use super::uses;
use crate::StoreError;
use crate::database::{Writing, placeholders, sql};

/// Rows per statement. Only a few sizes, so that prepared statements are reused. Larger statements wake the thread of a
/// SQLite connection less often, but bind more values, and are kept prepared.
const SIZES: [usize; 3] = [32, 8, 1];
/// Rows per statement that inserts usage rows. The thread of a SQLite connection is woken for each statement; with more
/// rows than these a statement binds more texts than the lookaside slots can hold, which costs more.
const USAGE_SIZES: [usize; 4] = [64, 32, 8, 1];

type Sized = [SqlStr; SIZES.len()];

/// The statements, built once.
#[derive(Clone)]
pub(crate) struct LedgerWriter(Arc<Statements>);

struct Statements {
    usage: UsageInserts,
    rollups: [Sized; TABLES.len()],
    uses: Sized,
    backlog: WaitingDeltas,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Booked {
    All,
    /// At least one row of the batch is already in the ledger, and which one is not known: roll back and book one at a
    /// time.
    SomeKnown,
}

impl LedgerWriter {
    pub fn new(postgres: bool) -> Self {
        let usage = UsageInserts::new(postgres);
        let rollups =
            std::array::from_fn(|table| SIZES.map(|rows| sql(TABLES[table].upsert(rows, postgres))));
        let uses = SIZES.map(|rows| sql(uses::upsert(&placeholders(uses::WIDTH, rows, postgres))));
        Self(Arc::new(Statements { usage, rollups, uses, backlog: WaitingDeltas::default() }))
    }

    pub(super) fn backlog(&self) -> &WaitingDeltas {
        &self.0.backlog
    }

    /// Inserts the rows that are new, and a delta with the sums and key uses of exactly those, which it returns. `None`
    /// if at least one is known and which one is not: roll back and book one at a time.
    pub async fn book<'a, 'b>(
        &self,
        open: &mut Writing,
        bookings: &'a [Booking<'b>],
        one_at_a_time: bool,
    ) -> Result<Option<Vec<&'a Booking<'b>>>, StoreError> {
        let mut fresh = Vec::with_capacity(bookings.len());
        let mut rows = Vec::with_capacity(bookings.len().min(USAGE_SIZES[0]) * WIDTH);
        let sizes = if one_at_a_time { &[1][..] } else { &USAGE_SIZES };
        for (_, chunk) in pieces(sizes, bookings) {
            rows.clear();
            chunk.iter().for_each(|booking| booking.bind(&mut rows));
            let (text, values) = self.0.usage.statement(&rows);
            match open.execute(text, &values).await? as usize {
                inserted if inserted == chunk.len() => fresh.extend(chunk),
                _ if chunk.len() == 1 => tracing::debug!(id = %chunk[0].id, "receipt already booked"),
                _ => return Ok(None),
            }
        }
        if let Some(delta) = Delta::of(&fresh) {
            compaction::insert(open, &delta).await?;
            self.0.backlog.add_one();
        }
        Ok(Some(fresh))
    }

    /// Adds to the sums of all rollup tables, in the caller's transaction. Amounts may be negative, as when costs are
    /// recalculated (`Sums::repriced`).
    pub async fn add_to_rollups(
        &self,
        open: &mut Writing,
        sums: Vec<(Key<'_>, Sums)>,
    ) -> Result<(), StoreError> {
        for ((table, texts), sums) in TABLES.iter().zip(&self.0.rollups).zip(rollup::spread(sums)) {
            for (place, chunk) in pieces(&SIZES, &sums) {
                let mut values = Vec::with_capacity(chunk.len() * table.width());
                chunk.iter().for_each(|(key, sums)| table.bind(key, sums, &mut values));
                open.execute(texts[place].clone(), &values).await?;
            }
        }
        Ok(())
    }

    /// Records the latest use of keys.
    pub async fn note_uses(&self, open: &mut Writing, uses: &BTreeMap<&str, i64>) -> Result<(), StoreError> {
        let uses: Vec<(&str, i64)> = uses.iter().map(|(key, at)| (*key, *at)).collect();
        for (place, chunk) in pieces(&SIZES, &uses) {
            let mut values = Vec::with_capacity(chunk.len() * uses::WIDTH);
            chunk.iter().for_each(|used| uses::bind(used, &mut values));
            open.execute(self.0.uses[place].clone(), &values).await?;
        }
        Ok(())
    }
}

/// Splits rows into chunks of these sizes, largest first. Returns the index of the size with each.
fn pieces<'a, T>(sizes: &'a [usize], rows: &'a [T]) -> impl Iterator<Item = (usize, &'a [T])> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let place = sizes.iter().position(|size| rest.len() >= *size)?;
        let (chunk, behind) = rest.split_at(sizes[place]);
        rest = behind;
        Some((place, chunk))
    })
}
