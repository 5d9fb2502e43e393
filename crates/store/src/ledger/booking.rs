//! Bookings: receipts read from the journal, prepared for the ledger.

use std::borrow::Cow;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::receipt::{CostSource, Receipt};
use domain::usage::Tokens;
use serde::Deserialize;

use crate::StoreError;
use crate::database::Value;
use crate::journal_record;

/// In the order in which a booking binds them.
pub(super) const COLUMNS: [&str; 31] = [
    "at",
    "id",
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
    "run",
];

/// A receipt to be booked: its columns, and the remaining fields as JSON.
#[derive(Debug)]
pub(crate) struct Booking {
    pub id: Arc<str>,
    pub at: Timestamp,
    request_id: Arc<str>,
    provider_id: Arc<str>,
    pub label: Arc<Label>,
    pub status: u16,
    stream: bool,
    pub estimated: bool,
    pub tokens: [i64; Tokens::BUCKETS.len()],
    pub cost: Option<[i64; 2]>,
    cost_source: CostSource,
    pub duration_us: i64,
    pub first_byte_us: Option<i64>,
    detail: Option<Arc<str>>,
    run: Option<Arc<str>>,
}

/// The fields that many receipts share.
#[derive(Debug)]
pub(crate) struct Label {
    pub model: Arc<str>,
    requested_model: Arc<str>,
    pub provider: Arc<str>,
    pub provider_name: Arc<str>,
    endpoint: Arc<str>,
    pub user_path: Arc<str>,
    pub auth_key_id: Arc<str>,
    pub tenant_id: Arc<str>,
    pub cache_type: Arc<str>,
}

/// The first line of a receipt as `journal_record` writes it, borrowed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    at: Timestamp,
    #[serde(borrow)]
    request_id: Cow<'a, str>,
    #[serde(borrow)]
    provider_id: Cow<'a, str>,
    status: u16,
    stream: bool,
    estimated: bool,
    tokens: Tokens,
    input_cost: Option<i64>,
    output_cost: Option<i64>,
    cost_source: CostSource,
    duration_us: u64,
    first_byte_us: Option<u64>,
    #[serde(borrow)]
    run_id: Option<Cow<'a, str>>,
    unbooked: bool,
}

/// The second line.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenLabel<'a> {
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
    cache_type: Cow<'a, str>,
}

/// A decoded receipt: its id, and the booking if it has to be booked.
pub(crate) struct Read<'a> {
    pub id: Cow<'a, str>,
    pub booking: Option<Booking>,
}

/// Cache of labels: a batch has few, so each is parsed once and then found by its text.
#[derive(Default)]
pub(crate) struct Labels<'a>(foldhash::HashMap<&'a str, Arc<Label>>);

impl<'a> Labels<'a> {
    fn read(&mut self, json: &'a str) -> Result<Arc<Label>, serde_json::Error> {
        if let Some(label) = self.0.get(json) {
            return Ok(Arc::clone(label));
        }
        let written: WrittenLabel<'a> = serde_json::from_str(json)?;
        let label = Arc::new(Label {
            model: clipped(&written.model, MOST_MODEL),
            requested_model: clipped(&written.requested_model, MOST_MODEL),
            provider: clipped(&written.provider, MOST_NAME),
            provider_name: clipped(&written.provider_name, MOST_NAME),
            endpoint: storable(&written.endpoint),
            user_path: clipped(&written.user_path, MOST_PATH),
            auth_key_id: clipped(&written.auth_key_id, MOST_NAME),
            tenant_id: clipped(&written.tenant_id, MOST_NAME),
            cache_type: clipped(&written.cache_type, MOST_NAME),
        });
        self.0.insert(json, Arc::clone(&label));
        Ok(label)
    }
}

/// Replaces NUL characters, which PostgreSQL does not accept in text; a single one would block all receipts behind it.
fn storable(text: &str) -> Arc<str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Maximum lengths of indexed text. PostgreSQL index entries have at most 2704 bytes, and all of these are in one
/// index.
const MOST_PATH: usize = 500;
const MOST_MODEL: usize = 300;
const MOST_NAME: usize = 200;

fn clipped(text: &str, most: usize) -> Arc<str> {
    let text = storable(text);
    if text.len() <= most { text } else { text[..text.floor_char_boundary(most)].into() }
}

impl Booking {
    pub fn read<'a>(text: &'a str, labels: &mut Labels<'a>) -> Result<Read<'a>, serde_json::Error> {
        let [columns, label, detail] = journal_record::lines(text);
        let written: Written<'a> = serde_json::from_str(columns)?;
        if written.unbooked {
            return Ok(Read { id: written.id, booking: None });
        }
        let cost = written.input_cost.zip(written.output_cost);
        let booking = Self {
            id: clipped(&written.id, MOST_NAME),
            at: written.at,
            request_id: storable(&written.request_id),
            provider_id: storable(&written.provider_id),
            label: labels.read(label)?,
            status: written.status,
            stream: written.stream,
            estimated: written.estimated,
            tokens: bounded_tokens(&written.tokens),
            cost: cost.map(|(input, output)| [input, output].map(bounded_cost)),
            cost_source: written.cost_source,
            duration_us: bounded(written.duration_us),
            first_byte_us: written.first_byte_us.map(bounded),
            detail: Some(detail).filter(|detail| *detail != "{}").map(Arc::from),
            run: written.run_id.as_deref().map(|run| clipped(run, MOST_NAME)),
        };
        Ok(Read { id: written.id, booking: Some(booking) })
    }

    /// Converts a receipt that did not pass through the journal; `None` if it is not to be booked.
    pub fn of(receipt: &Receipt) -> Result<Option<Self>, StoreError> {
        let mut json = Vec::new();
        journal_record::receipt(&mut json, receipt);
        let unreadable = |error: &dyn std::fmt::Display| StoreError::Failed(error.to_string());
        let json = std::str::from_utf8(&json).map_err(|error| unreadable(&error))?;
        let read = Self::read(json, &mut Labels::default()).map_err(|error| unreadable(&error))?;
        Ok(read.booking)
    }

    pub(super) fn bind<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        let label = &*self.label;
        values.extend([
            Value::from(self.at.micros()),
            (&self.id).into(),
            (&self.request_id).into(),
            (&self.provider_id).into(),
            (&label.model).into(),
            Some(&label.requested_model).filter(|requested| **requested != label.model).into(),
            (&label.provider).into(),
            (&label.provider_name).into(),
            (&label.endpoint).into(),
            (&label.user_path).into(),
            (&label.auth_key_id).into(),
            Some(&label.tenant_id).filter(|tenant| !tenant.is_empty()).into(),
            (&label.cache_type).into(),
            i64::from(self.status).into(),
            i64::from(self.stream).into(),
            i64::from(self.estimated).into(),
        ]);
        values.extend(self.tokens.iter().map(|count| Value::from(*count)));
        values.extend([
            Value::from(self.cost.map(|[input, _]| input)),
            self.cost.map(|[_, output]| output).into(),
            cost_source_number(self.cost_source).into(),
            self.duration_us.into(),
            self.first_byte_us.into(),
            self.detail.as_ref().into(),
            self.run.as_ref().into(),
        ]);
    }
}

const COST_SOURCES: [CostSource; 3] =
    [CostSource::None, CostSource::ModelPricing, CostSource::ProviderReported];

/// The stored number of a cost source.
pub(super) fn cost_source_number(source: CostSource) -> i64 {
    COST_SOURCES.iter().position(|known| *known == source).map_or(0, |place| place as i64)
}

pub(super) fn cost_source(number: i64) -> CostSource {
    usize::try_from(number).ok().and_then(|number| COST_SOURCES.get(number).copied()).unwrap_or_default()
}

/// Bounds on the figures of a single call; without them, one absurd figure would overflow a sum.
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_NANOS: i64 = 1_000_000_000_000_000;

fn bounded_tokens(tokens: &Tokens) -> [i64; Tokens::BUCKETS.len()] {
    tokens.counts().map(|count| count.min(MOST_TOKENS) as i64)
}

pub(super) fn bounded_cost(nanos: i64) -> i64 {
    nanos.clamp(-MOST_NANOS, MOST_NANOS)
}

fn bounded(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}
