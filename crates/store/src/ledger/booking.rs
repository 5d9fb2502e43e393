//! Bookings: receipts read from the journal, prepared for the ledger, and receipts read back from its rows.
//!
//! `domain::receipt_fields` declares the columns; the columns of tokens and cost are added here.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use domain::receipt::Receipt;
use domain::receipt_fields;
use domain::usage::Tokens;
use foldhash::HashMap;
use parking_lot::Mutex;
use serde::Deserialize;

use super::column::{Column, Null};
use crate::StoreError;
use crate::database::{Row, Value};
use crate::journal_record::{self, Recorded};

/// The columns that belong to no single field, besides those of the token buckets.
const COMPOSED: [&str; 4] = ["estimated", "input_cost", "output_cost", "detail"];
/// Number of columns that a booking binds.
pub(super) const WIDTH: usize = FIELDS.len() + LABEL.len() + Tokens::BUCKETS.len() + COMPOSED.len();

/// The names of all columns, in the order in which a booking binds them.
pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().chain(LABEL).copied().chain(Tokens::BUCKETS).chain(COMPOSED)
}

/// The list of all columns for a statement.
pub(super) static COLUMNS: LazyLock<String> = LazyLock::new(|| columns().collect::<Vec<_>>().join(", "));

macro_rules! define_booking {
    ($($name:ident: $type:ty => $null:ident $column:ident [$($most:literal)?],)*) => {
        const FIELDS: &[&str] = &[$(stringify!($column)),*];

        /// A receipt to be booked: its columns, and the remaining fields as JSON.
        #[derive(Debug)]
        pub(crate) struct Booking {
            $(pub $name: <$type as Column>::Stored,)*
            pub label: Arc<Label>,
            pub tokens: [i64; Tokens::BUCKETS.len()],
            pub estimated: bool,
            pub cost: Option<[i64; 2]>,
            detail: Option<Arc<str>>,
        }

        /// The first line of a receipt as `journal_record` writes it, borrowed.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Written<'a> {
            $(#[serde(borrow)] $name: <$type as Column>::Written<'a>,)*
            unbooked: bool,
            tokens: Tokens,
            estimated: bool,
            input_cost: Option<i64>,
            output_cost: Option<i64>,
        }

        impl Booking {
            fn new(written: &Written<'_>, label: Arc<Label>, detail: &str) -> Self {
                let cost = written.input_cost.zip(written.output_cost);
                Self {
                    $($name: <$type as Column>::store(&written.$name, 0 $(+ $most)?),)*
                    label,
                    tokens: written.tokens.counts().map(|count| count.min(MOST_TOKENS) as i64),
                    estimated: written.estimated,
                    cost: cost.map(|(input, output)| [input, output].map(bounded_cost)),
                    detail: Some(detail).filter(|detail| *detail != "{}").map(Arc::from),
                }
            }

            fn bind_fields<'a>(&'a self, values: &mut Vec<Value<'a>>) {
                values.extend([$(<$type as Column>::bind(&self.$name, Null::$null)),*]);
            }
        }

        fn read_fields(row: &Row, receipt: &mut Receipt) -> Result<(), StoreError> {
            let mut indexes = 0..;
            $(receipt.$name = Column::read(row, next(&mut indexes))?;)*
            Ok(())
        }
    };
}
receipt_fields!(column => define_booking);

macro_rules! define_label {
    ($($name:ident: $type:ty => $null:ident $column:ident [$($most:literal)?],)*) => {
        const LABEL: &[&str] = &[$(stringify!($column)),*];

        /// The fields that many receipts share.
        #[derive(Debug)]
        pub(crate) struct Label {
            $(pub $name: <$type as Column>::Stored,)*
        }

        /// The second line.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct WrittenLabel<'a> {
            $(#[serde(borrow)] $name: <$type as Column>::Written<'a>,)*
        }

        impl Label {
            fn new(written: &WrittenLabel<'_>) -> Self {
                Self { $($name: <$type as Column>::store(&written.$name, 0 $(+ $most)?),)* }
            }

            fn bind<'a>(&'a self, values: &mut Vec<Value<'a>>) {
                // Most calls are served by the model that they requested: NULL stands for that one.
                let is_same = self.requested_model == self.model;
                values.extend([$(
                    if is_same && stringify!($name) == REQUESTED_MODEL {
                        Value::Text(None)
                    } else {
                        <$type as Column>::bind(&self.$name, Null::$null)
                    }
                ),*]);
            }
        }

        fn read_label(row: &Row, receipt: &mut Receipt) -> Result<(), StoreError> {
            let mut is_same = false;
            let mut indexes = FIELDS.len()..;
            $(
                let index = next(&mut indexes);
                receipt.$name = Column::read(row, index)?;
                if stringify!($name) == REQUESTED_MODEL {
                    is_same = row.get::<Option<String>>(index)?.is_none();
                }
            )*
            if is_same {
                receipt.requested_model = receipt.model.clone();
            }
            Ok(())
        }
    };
}
receipt_fields!(label => define_label);

const REQUESTED_MODEL: &str = "requested_model";

fn next(indexes: &mut std::ops::RangeFrom<usize>) -> usize {
    indexes.next().unwrap_or_default()
}

/// Reads the receipt of a row whose selected columns are `COLUMNS`. It has no audit data.
pub(super) fn read(row: &Row) -> Result<Receipt, StoreError> {
    let tokens = FIELDS.len() + LABEL.len();
    let [estimated, input_cost, output_cost, detail] =
        std::array::from_fn(|index| tokens + Tokens::BUCKETS.len() + index);
    let mut recorded = match row.get::<Option<String>>(detail)? {
        Some(detail) => {
            Recorded::read(&detail).map_err(|error| StoreError::Corrupt(format!("a usage row: {error}")))?
        }
        None => Recorded::default(),
    };
    read_fields(row, &mut recorded.receipt)?;
    read_label(row, &mut recorded.receipt)?;
    recorded.composed.tokens = read_tokens(row, tokens)?;
    recorded.composed.estimated = Column::read(row, estimated)?;
    recorded.composed.input_cost = row.get(input_cost)?;
    recorded.composed.output_cost = row.get(output_cost)?;
    let mut receipt = recorded.complete();
    if receipt.auth_method.is_empty() {
        receipt.auth_method = journal_record::implied_auth_method(&receipt).into();
    }
    Ok(receipt)
}

/// Reads the columns of the token buckets.
pub(super) fn read_tokens(row: &Row, first: usize) -> Result<Tokens, StoreError> {
    let mut counts = [0; Tokens::BUCKETS.len()];
    for (index, count) in counts.iter_mut().enumerate() {
        *count = Column::read(row, first + index)?;
    }
    Ok(Tokens::from_counts(counts))
}

/// A decoded receipt: its id, and the booking if it has to be booked.
pub(crate) struct Read<'a> {
    pub id: Cow<'a, str>,
    pub booking: Option<Booking>,
}

/// Labels of recent receipts by their text, so that most are parsed once and shared.
static RECENT_LABELS: LazyLock<Mutex<HashMap<Box<str>, Arc<Label>>>> = LazyLock::new(Mutex::default);
/// Number of recent labels at which they are forgotten; about ten megabytes.
const MOST_LABELS: usize = 16_384;

/// The labels of a batch.
#[derive(Default)]
pub(crate) struct Labels<'a>(HashMap<&'a str, Arc<Label>>);

impl<'a> Labels<'a> {
    fn read(&mut self, json: &'a str) -> Result<Arc<Label>, serde_json::Error> {
        if let Some(label) = self.0.get(json) {
            return Ok(Arc::clone(label));
        }
        let label = recent_label(json)?;
        self.0.insert(json, Arc::clone(&label));
        Ok(label)
    }
}

fn recent_label(json: &str) -> Result<Arc<Label>, serde_json::Error> {
    let mut recent = RECENT_LABELS.lock();
    if let Some(label) = recent.get(json) {
        return Ok(Arc::clone(label));
    }
    let label = Arc::new(Label::new(&serde_json::from_str(json)?));
    if recent.len() >= MOST_LABELS {
        recent.clear();
    }
    recent.insert(json.into(), Arc::clone(&label));
    Ok(label)
}

impl Booking {
    pub fn read<'a>(text: &'a str, labels: &mut Labels<'a>) -> Result<Read<'a>, serde_json::Error> {
        let [columns, label, detail] = journal_record::lines(text);
        let written: Written<'a> = serde_json::from_str(columns)?;
        let booking =
            if written.unbooked { None } else { Some(Self::new(&written, labels.read(label)?, detail)) };
        Ok(Read { id: written.id.0, booking })
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
        self.bind_fields(values);
        self.label.bind(values);
        values.extend(self.tokens.iter().map(|count| Value::from(*count)));
        values.extend([
            Value::from(i64::from(self.estimated)),
            self.cost.map(|[input, _]| input).into(),
            self.cost.map(|[_, output]| output).into(),
            self.detail.as_ref().into(),
        ]);
    }
}

/// Bounds on the figures of a single call; without them, one absurd figure would overflow a sum.
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_NANOS: i64 = 1_000_000_000_000_000;

pub(super) fn bounded_cost(nanos: i64) -> i64 {
    nanos.clamp(-MOST_NANOS, MOST_NANOS)
}
