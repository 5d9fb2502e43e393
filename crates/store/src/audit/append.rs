//! Entries into their chain, inside the transaction that moves the journal's position: each once, each linked.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::SqlStr;

use super::chain::{ChainKey, ChainRecord};
use super::entry::AuditEntry;
use super::row::{self, CONTENT, Field};
use crate::StoreError;
use crate::database::{Value, Writing, placeholders, sql};
use crate::ledger::books::Booked;
use crate::ledger::rollup::QUARTER_HOUR;

/// A few sizes, so that each statement is prepared once and met again.
const SIZES: [usize; 3] = [16, 4, 1];
/// Chain, sequence and hash come before what a row says.
const WIDTH: usize = CONTENT.len() + 3;

#[derive(Clone)]
pub(crate) struct Appender(Arc<Statements>);

struct Statements {
    key: Arc<ChainKey>,
    insert: [SqlStr; SIZES.len()],
}

/// A row with its place in the chain.
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

    /// `SomeKnown` when an entry is there already and nobody knows which: roll back and append one at a time.
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
                let linked = self.link(&record, chunk)?;
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

    fn link(&self, record: &ChainRecord, entries: &[AuditEntry]) -> Result<Vec<Linked>, StoreError> {
        let mut before = record.head.clone();
        let mut linked = Vec::with_capacity(entries.len());
        for (sequence, entry) in (record.length..).zip(entries) {
            let fields = row::fields(entry)?;
            let values: Vec<Value<'_>> = fields.iter().map(Field::value).collect();
            before = self.0.key.link(&before, &record.chain, sequence, &values);
            linked.push(Linked { sequence, hash: before.clone(), fields });
        }
        Ok(linked)
    }

    async fn begin(
        &self,
        open: &mut Writing,
        chain: &str,
        entries: &[AuditEntry],
    ) -> Result<ChainRecord, StoreError> {
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

/// Somebody else has moved the chain: nothing is written, and the next attempt sees what they did.
pub(super) fn overtaken() -> StoreError {
    StoreError::Unavailable("an audit chain was moved by another process".into())
}

pub(super) async fn record(open: &mut Writing, chain: &str) -> Result<Option<ChainRecord>, StoreError> {
    let text = sql(format!("SELECT {} FROM audit_chains WHERE chain = $1", ChainRecord::COLUMNS));
    open.fetch(text, &[chain.into()]).await?.first().map(ChainRecord::read).transpose()
}

/// Moves a record from what it was to what it is; 0 when it was something else.
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

/// Adds to the counts by the quarter hour; what is taken away is negative.
pub(super) async fn add(open: &mut Writing, counts: &BTreeMap<i64, i64>) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO audit_counts (bucket, entries) VALUES ($1, $2) \
        ON CONFLICT (bucket) DO UPDATE SET entries = audit_counts.entries + excluded.entries";
    for (bucket, count) in counts {
        open.execute(ADD, &[(*bucket).into(), (*count).into()]).await?;
    }
    Ok(())
}

/// Seconds at which the quarter hour of a moment begins.
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
