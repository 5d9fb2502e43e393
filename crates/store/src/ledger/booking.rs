//! Booking: receipts become usage rows, many to a statement, and sums; each receipt once, by its id.

use std::borrow::Cow;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::{CostSource, Receipt};
use domain::usage::Tokens;
use serde::Deserialize;
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::rollup;
use crate::StoreError;
use crate::database::{Value, Writing};

/// A few sizes, so that each statement is prepared once and met again.
const SIZES: [usize; 3] = [64, 8, 1];

const COLUMNS: [&str; 30] = [
    "id",
    "at",
    "request_id",
    "provider_id",
    "model",
    "requested_model",
    "provider",
    "provider_name",
    "endpoint",
    "user_path",
    "auth_key_id",
    "tenant_id",
    "cache_type",
    "status",
    "stream",
    "estimated",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "audio_input",
    "output",
    "reasoning",
    "audio_output",
    "input_cost",
    "output_cost",
    "cost_source",
    "duration_us",
    "first_byte_us",
    "detail",
];

/// A receipt on its way into the ledger: its columns, and its own JSON as it lay in the journal.
#[derive(Debug)]
pub(crate) struct Booking {
    pub id: Arc<str>,
    pub at: Timestamp,
    request_id: Arc<str>,
    provider_id: Arc<str>,
    pub model: Arc<str>,
    requested_model: Arc<str>,
    pub provider: Arc<str>,
    pub provider_name: Arc<str>,
    endpoint: Arc<str>,
    pub user_path: Arc<str>,
    pub auth_key_id: Arc<str>,
    pub tenant_id: Arc<str>,
    pub cache_type: Arc<str>,
    pub status: u16,
    stream: bool,
    pub estimated: bool,
    pub tokens: [i64; 8],
    pub cost: Option<[i64; 2]>,
    cost_source: Arc<str>,
    duration_us: i64,
    first_byte_us: Option<i64>,
    detail: Arc<str>,
}

/// What the columns need of a receipt's JSON, in place.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Columns<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    at: Timestamp,
    #[serde(borrow)]
    request_id: Cow<'a, str>,
    #[serde(borrow)]
    provider_id: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    requested_model: Cow<'a, str>,
    #[serde(borrow)]
    provider: Cow<'a, str>,
    #[serde(borrow)]
    provider_name: Cow<'a, str>,
    #[serde(borrow)]
    endpoint: Cow<'a, str>,
    #[serde(borrow)]
    user_path: Cow<'a, str>,
    #[serde(borrow)]
    auth_key_id: Cow<'a, str>,
    #[serde(borrow)]
    tenant_id: Cow<'a, str>,
    #[serde(borrow)]
    auth_method: Cow<'a, str>,
    #[serde(borrow)]
    cache_type: Cow<'a, str>,
    status: u16,
    stream: bool,
    usage: Counted,
    cost: Option<Cost>,
    cost_source: CostSource,
    duration_us: u64,
    first_byte_us: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    tokens: Tokens,
    estimated: bool,
}

/// A receipt's JSON, read: its id, and the booking if it is one to be booked.
pub(crate) struct Read<'a> {
    pub id: Cow<'a, str>,
    pub booking: Option<Booking>,
}

/// Texts that many receipts share are kept once for each batch.
#[derive(Default)]
pub(crate) struct Texts<'a>(foldhash::HashMap<&'a str, Arc<str>>);

impl<'a> Texts<'a> {
    fn share(&mut self, text: Cow<'a, str>) -> Arc<str> {
        match text {
            Cow::Borrowed(text) => Arc::clone(self.0.entry(text).or_insert_with(|| storable(text))),
            Cow::Owned(text) => storable(&text),
        }
    }
}

/// PostgreSQL has no NUL character in text: one of them would hold up every receipt behind it.
fn storable(text: &str) -> Arc<str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

impl Booking {
    pub fn read<'a>(json: &'a str, texts: &mut Texts<'a>) -> Result<Read<'a>, serde_json::Error> {
        let columns: Columns<'a> = serde_json::from_str(json)?;
        // As `Receipt::is_booked` has it.
        if columns.auth_method.is_empty() {
            return Ok(Read { id: columns.id, booking: None });
        }
        let booking = Self {
            id: storable(&columns.id),
            at: columns.at,
            request_id: storable(&columns.request_id),
            provider_id: storable(&columns.provider_id),
            model: texts.share(columns.model),
            requested_model: texts.share(columns.requested_model),
            provider: texts.share(columns.provider),
            provider_name: texts.share(columns.provider_name),
            endpoint: texts.share(columns.endpoint),
            user_path: texts.share(columns.user_path),
            auth_key_id: texts.share(columns.auth_key_id),
            tenant_id: texts.share(columns.tenant_id),
            cache_type: texts.share(columns.cache_type),
            status: columns.status,
            stream: columns.stream,
            estimated: columns.usage.estimated,
            tokens: bounded_tokens(&columns.usage.tokens),
            cost: columns.cost.map(|cost| [bounded_cost(cost.input), bounded_cost(cost.output)]),
            cost_source: texts.share(Cow::Borrowed(columns.cost_source.as_str())),
            duration_us: bounded(columns.duration_us),
            first_byte_us: columns.first_byte_us.map(bounded),
            detail: json.into(),
        };
        Ok(Read { id: columns.id, booking: Some(booking) })
    }

    /// A receipt that was never in the journal itself; None when it is not one to be booked.
    pub fn of(receipt: &Receipt) -> Result<Option<Self>, StoreError> {
        let read = |json: &str| Self::read(json, &mut Texts::default()).map(|read| read.booking);
        let booking = serde_json::to_string(receipt).and_then(|json| read(&json));
        booking.map_err(|error| StoreError::Failed(error.to_string()))
    }

    fn bind<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        values.extend([
            Value::from(&self.id),
            self.at.micros().into(),
            (&self.request_id).into(),
            (&self.provider_id).into(),
            (&self.model).into(),
            (&self.requested_model).into(),
            (&self.provider).into(),
            (&self.provider_name).into(),
            (&self.endpoint).into(),
            (&self.user_path).into(),
            (&self.auth_key_id).into(),
            (&self.tenant_id).into(),
            (&self.cache_type).into(),
            i64::from(self.status).into(),
            i64::from(self.stream).into(),
            i64::from(self.estimated).into(),
        ]);
        values.extend(self.tokens.iter().map(|count| Value::from(*count)));
        values.extend([
            Value::from(self.cost.map(|[input, _]| input)),
            self.cost.map(|[_, output]| output).into(),
            (&self.cost_source).into(),
            self.duration_us.into(),
            self.first_byte_us.into(),
            (&self.detail).into(),
        ]);
    }
}

/// No single call can hold so many tokens or so much money; without a bound, one absurd figure would overflow a sum.
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_NANOS: i64 = 1_000_000_000_000_000;

pub(crate) fn bounded_tokens(tokens: &Tokens) -> [i64; 8] {
    [
        tokens.input,
        tokens.cache_read,
        tokens.cache_write_5m,
        tokens.cache_write_1h,
        tokens.audio_input,
        tokens.output,
        tokens.reasoning,
        tokens.audio_output,
    ]
    .map(|count| count.min(MOST_TOKENS) as i64)
}

pub(crate) fn bounded_cost(cost: Nanos) -> i64 {
    cost.0.clamp(-MOST_NANOS, MOST_NANOS)
}

fn bounded(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

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
                "INSERT INTO usage ({}) VALUES {values} ON CONFLICT (id) DO NOTHING",
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
        self.add_up(open, &fresh).await?;
        Ok(Booked::All)
    }

    async fn add_up(&self, open: &mut Writing, fresh: &[&Booking]) -> Result<(), StoreError> {
        let sums = rollup::add_up(fresh);
        let mut rest = &sums[..];
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

/// `(?, ?), (?, ?)`: SQLite finds a numbered parameter by searching all of them, so it gets unnumbered ones.
fn placeholders(columns: usize, rows: usize, postgres: bool) -> String {
    let mut text = String::with_capacity(columns * rows * 7);
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            if column > 0 {
                text.push_str(", ");
            }
            if postgres {
                text.push_str(&format!("${}", row * columns + column + 1));
            } else {
                text.push('?');
            }
        }
        text.push(')');
    }
    text
}

fn sql(text: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
}
