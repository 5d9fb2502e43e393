//! Appends entries to their chain, in the transaction that advances the journal position: each entry once, each linked.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::SqlStr;

use super::AuditEntry;
use super::chain::{ChainKey, ChainRecord};
use super::row::{self, CONTENT, Field};
use crate::StoreError;
use crate::database::{Value, Writing, placeholders, sql};
use crate::ledger::ledger_writer::Booked;
use crate::ledger::rollup::QUARTER_HOUR;

/// Rows per INSERT statement. Only a few sizes, so that prepared statements are reused.
const SIZES: [usize; 3] = [16, 4, 1];
/// Columns per row: chain, sequence and hash precede the content.
const WIDTH: usize = CONTENT.len() + 3;
/// Key of the advisory lock for starting a chain; an arbitrary number that is not used elsewhere.
const BEGINNING: i64 = 0x6761_7465_6175_6474;

#[derive(Clone)]
pub(crate) struct Appender(Arc<Statements>);

struct Statements {
    key: Arc<ChainKey>,
    insert: [SqlStr; SIZES.len()],
}

/// A row with its position in the chain.
struct Linked {
    sequence: i64,
    hash: String,
    fields: Vec<Field>,
}

impl Appender {
    pub fn new(postgres: bool, key: Arc<ChainKey>) -> Self {
        let insert = SIZES.map(|rows| {
            let values = placeholders(WIDTH, rows, postgres);
            let columns = row::columns();
            sql(format!(
                "INSERT INTO audit (chain, sequence, hash, {columns}) VALUES {values} ON CONFLICT (at, id) DO NOTHING"
            ))
        });
        Self(Arc::new(Statements { key, insert }))
    }

    /// Appends entries. Returns `SomeKnown` if an unidentified entry of a chunk is already stored: the caller then
    /// rolls back and appends one at a time.
    pub async fn append(
        &self,
        open: &mut Writing,
        chain: &str,
        entries: &[AuditEntry],
        one_at_a_time: bool,
    ) -> Result<Booked, StoreError> {
        if entries.is_empty() {
            return Ok(Booked::All);
        }
        let known = record(open, chain).await?;
        let fresh = known.is_none();
        let mut record = match known {
            Some(record) => record,
            None => self.begin(open, chain, entries).await?,
        };
        let before = record.clone();
        let mut counts = BTreeMap::new();
        let mut rest = entries;
        let sizes = if one_at_a_time { &SIZES[SIZES.len() - 1..] } else { &SIZES[..] };
        let texts = &self.0.insert[SIZES.len() - sizes.len()..];
        for (size, text) in sizes.iter().zip(texts) {
            while rest.len() >= *size {
                let (chunk, behind) = rest.split_at(*size);
                rest = behind;
                let linked = self.link(&record, chunk);
                let inserted = open.execute(text.clone(), &bind(chain, &linked)).await? as usize;
                if inserted == *size {
                    record.length += *size as i64;
                    record.head = linked.last().map(|linked| linked.hash.clone()).unwrap_or_default();
                    for entry in chunk {
                        *counts.entry(bucket(entry.at.micros())).or_insert(0) += 1;
                    }
                } else if *size > 1 {
                    return Ok(Booked::SomeKnown);
                }
            }
        }
        if record.length > before.length {
            self.advance(open, record, (!fresh).then_some(&before)).await?;
            add(open, &counts).await?;
        }
        Ok(Booked::All)
    }

    fn link(&self, record: &ChainRecord, entries: &[AuditEntry]) -> Vec<Linked> {
        let mut before = record.head.clone();
        let mut linked = Vec::with_capacity(entries.len());
        for (sequence, entry) in (record.length..).zip(entries) {
            let fields = row::fields(entry);
            let values: Vec<Value<'_>> = fields.iter().map(Field::value).collect();
            before = self.0.key.link(&before, &record.chain, sequence, &values);
            linked.push(Linked { sequence, hash: before.clone(), fields });
        }
        linked
    }

    async fn begin(
        &self,
        open: &mut Writing,
        chain: &str,
        entries: &[AuditEntry],
    ) -> Result<ChainRecord, StoreError> {
        // Serializes replicas that start a chain at the same time.
        if open.is_postgres() {
            open.execute("SELECT pg_advisory_xact_lock($1)", &[BEGINNING.into()]).await?;
        }
        let rows = open.fetch("SELECT COALESCE(MAX(number), 0) FROM audit_chains", &[]).await?;
        let last: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        let root = self.0.key.root(chain);
        Ok(ChainRecord {
            chain: chain.to_owned(),
            number: last + 1,
            started_at: entries.first().map_or(0, |entry| entry.at.micros()),
            length: 0,
            head: root.clone(),
            first_sequence: 0,
            anchor: root,
            seal: String::new(),
        })
    }

    async fn advance(
        &self,
        open: &mut Writing,
        record: ChainRecord,
        before: Option<&ChainRecord>,
    ) -> Result<(), StoreError> {
        let seal = self.0.key.seal(&record);
        let changed = match before {
            Some(before) => update(open, &ChainRecord { seal, ..record }, before).await?,
            None => {
                let values: [Value<'_>; 8] = [
                    (&record.chain).into(),
                    record.number.into(),
                    record.started_at.into(),
                    record.length.into(),
                    (&record.head).into(),
                    record.first_sequence.into(),
                    (&record.anchor).into(),
                    (&seal).into(),
                ];
                const BEGIN: &str = "INSERT INTO audit_chains \
                    (chain, number, started_at, length, head, first_sequence, anchor, seal) \
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
                open.execute(BEGIN, &values).await?
            }
        };
        if changed == 1 { Ok(()) } else { Err(overtaken()) }
    }
}

/// Another process has advanced the chain: nothing is written, and the next attempt reads the new state.
pub(super) fn overtaken() -> StoreError {
    StoreError::Unavailable("an audit chain was moved by another process".into())
}

pub(super) async fn record(open: &mut Writing, chain: &str) -> Result<Option<ChainRecord>, StoreError> {
    // Retention and the drainer serialize on this row lock; SQLite has a single writer anyway.
    let locked = if open.is_postgres() { " FOR UPDATE" } else { "" };
    let text = sql(format!("SELECT {} FROM audit_chains WHERE chain = $1{locked}", ChainRecord::COLUMNS));
    open.fetch(text, &[chain.into()]).await?.first().map(ChainRecord::read).transpose()
}

/// Updates a record if it still has the expected state; returns 0 if it does not.
pub(super) async fn update(
    open: &mut Writing,
    record: &ChainRecord,
    before: &ChainRecord,
) -> Result<u64, StoreError> {
    const MOVE: &str = "UPDATE audit_chains SET length = $1, head = $2, first_sequence = $3, anchor = $4, seal = $5 \
        WHERE chain = $6 AND length = $7 AND first_sequence = $8";
    let values: [Value<'_>; 8] = [
        record.length.into(),
        (&record.head).into(),
        record.first_sequence.into(),
        (&record.anchor).into(),
        (&record.seal).into(),
        (&record.chain).into(),
        before.length.into(),
        before.first_sequence.into(),
    ];
    open.execute(MOVE, &values).await
}

/// Adds to the counts per quarter hour; negative counts subtract.
pub(super) async fn add(open: &mut Writing, counts: &BTreeMap<i64, i64>) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO audit_counts (bucket, entries) VALUES ($1, $2) \
        ON CONFLICT (bucket) DO UPDATE SET entries = audit_counts.entries + excluded.entries";
    for (bucket, count) in counts {
        open.execute(ADD, &[(*bucket).into(), (*count).into()]).await?;
    }
    Ok(())
}

/// The start of the quarter hour that contains a moment, in seconds.
pub(super) fn bucket(micros: i64) -> i64 {
    micros.div_euclid(QUARTER_HOUR * 1_000_000) * QUARTER_HOUR
}

fn bind<'a>(chain: &'a str, linked: &'a [Linked]) -> Vec<Value<'a>> {
    let mut values = Vec::with_capacity(linked.len() * WIDTH);
    for Linked { sequence, hash, fields } in linked {
        values.extend([Value::from(chain), (*sequence).into(), hash.into()]);
        values.extend(fields.iter().map(Field::value));
    }
    values
}
