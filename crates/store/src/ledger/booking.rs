//! Bookings: receipts read from the journal, prepared for the ledger, and receipts read back from its rows.
//!
//! `domain::receipt_fields` declares the columns; the columns of tokens and cost are added here.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use domain::money::Cost;
use domain::receipt::Receipt;
use domain::receipt_fields;
use domain::usage::{Tokens, Usage};
use foldhash::HashMap;
use serde::Deserialize;

use super::column::{Column, Null, bounded_cost};
use crate::StoreError;
use crate::database::{Row, Value};
use crate::journal_record::{self, Encoding, FieldReader, ReceiptRecord, RecordError, Recorded};

/// The columns that belong to no single field, besides those of the token buckets.
const COMPOSED: [&str; 4] = ["estimated", "input_cost", "output_cost", "detail"];
/// Number of columns that a booking binds.
pub(super) const WIDTH: usize = FIELDS.len() + LABEL.len() + Tokens::BUCKETS.len() + COMPOSED.len();

/// The names of all columns, in the order in which a booking binds them.
pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().chain(LABEL).copied().chain(Tokens::BUCKETS).chain(COMPOSED)
}

/// True for the place of a column in the label.
pub(super) fn is_label(place: usize) -> bool {
    (FIELDS.len()..FIELDS.len() + LABEL.len()).contains(&place)
}

/// The list of all columns for a statement.
pub(super) static COLUMNS: LazyLock<String> = LazyLock::new(|| columns().collect::<Vec<_>>().join(", "));

macro_rules! define_booking {
    ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
        const FIELDS: &[&str] = &[$(stringify!($column)),*];

        /// A receipt to be booked: its columns, and the remaining fields as JSON. Texts are borrowed from its record.
        #[derive(Debug)]
        pub(crate) struct Booking<'a> {
            $(pub $name: <$type as Column>::Stored<'a>,)*
            pub label: Arc<Label<'a>>,
            pub tokens: [i64; Tokens::BUCKETS.len()],
            pub estimated: bool,
            pub cost: Option<[i64; 2]>,
            detail: Option<Cow<'a, str>>,
        }

        /// The columns section of a receipt as `journal_record` writes it, borrowed.
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

        impl<'a> Written<'a> {
            fn decode(columns: &'a [u8]) -> Result<Self, RecordError> {
                let mut written = Self::default();
                let mut fields = FieldReader::new(columns);
                while let Some(field) = fields.next_field()? {
                    match field.number {
                        $($number => written.$name = field.decode()?,)*
                        journal_record::UNBOOKED => written.unbooked = field.decode()?,
                        journal_record::USAGE => {
                            let usage: Usage = field.decode()?;
                            (written.tokens, written.estimated) = (usage.tokens, usage.estimated);
                        }
                        journal_record::COST => {
                            let cost: Cost = field.decode()?;
                            written.input_cost = Some(cost.input.0);
                            written.output_cost = Some(cost.output.0);
                        }
                        _ => {}
                    }
                }
                Ok(written)
            }
        }

        impl<'a> Booking<'a> {
            fn new(written: Written<'a>, label: Arc<Label<'a>>, detail: &'a str) -> Self {
                let cost = written.input_cost.zip(written.output_cost);
                Self {
                    $($name: <$type as Column>::store(written.$name, 0 $(+ $most)?),)*
                    label,
                    tokens: written.tokens.counts().map(|count| count.min(MOST_TOKENS) as i64),
                    estimated: written.estimated,
                    cost: cost.map(|(input, output)| [input, output].map(bounded_cost)),
                    detail: Some(detail).filter(|detail| *detail != "{}").map(Cow::Borrowed),
                }
            }

            /// Copies what is borrowed from the record.
            fn into_owned(self) -> Booking<'static> {
                Booking {
                    $($name: <$type as Column>::into_owned(self.$name),)*
                    label: Arc::new(Label::clone(&self.label).into_owned()),
                    detail: self.detail.map(|detail| Cow::Owned(detail.into_owned())),
                    tokens: self.tokens,
                    estimated: self.estimated,
                    cost: self.cost,
                }
            }

            fn bind_fields<'b>(&'b self, values: &mut Vec<Value<'b>>) {
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
    ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
        const LABEL: &[&str] = &[$(stringify!($column)),*];

        /// The fields that many receipts share.
        #[derive(Clone, Debug)]
        pub(crate) struct Label<'a> {
            $(pub $name: <$type as Column>::Stored<'a>,)*
        }

        /// The label section.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct WrittenLabel<'a> {
            $(#[serde(borrow)] $name: <$type as Column>::Written<'a>,)*
        }

        impl<'a> WrittenLabel<'a> {
            fn decode(label: &'a [u8]) -> Result<Self, RecordError> {
                let mut written = Self::default();
                let mut fields = FieldReader::new(label);
                while let Some(field) = fields.next_field()? {
                    match field.number {
                        $($number => written.$name = field.decode()?,)*
                        _ => {}
                    }
                }
                Ok(written)
            }
        }

        impl<'a> Label<'a> {
            fn new(written: WrittenLabel<'a>) -> Self {
                Self { $($name: <$type as Column>::store(written.$name, 0 $(+ $most)?),)* }
            }

            fn into_owned(self) -> Label<'static> {
                Label { $($name: <$type as Column>::into_owned(self.$name),)* }
            }

            fn bind<'b>(&'b self, values: &mut Vec<Value<'b>>) {
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

/// Cache of labels: a batch has few, so each is decoded once and then found by its bytes.
#[derive(Default)]
pub(crate) struct Labels<'a> {
    known: HashMap<(Encoding, &'a [u8]), Arc<Label<'a>>>,
    last: Option<(Encoding, &'a [u8], Arc<Label<'a>>)>,
}

impl<'a> Labels<'a> {
    pub fn with_capacity(labels: usize) -> Self {
        Self { known: HashMap::with_capacity_and_hasher(labels, Default::default()), last: None }
    }

    fn read(&mut self, record: &ReceiptRecord<'a>) -> Result<Arc<Label<'a>>, RecordError> {
        let key = (record.encoding, record.label);
        if let Some((encoding, bytes, label)) = &self.last
            && (*encoding, *bytes) == key
        {
            return Ok(Arc::clone(label));
        }
        let label = match self.known.get(&key) {
            Some(label) => Arc::clone(label),
            None => self.decode(record)?,
        };
        self.last = Some((record.encoding, record.label, Arc::clone(&label)));
        Ok(label)
    }

    fn decode(&mut self, record: &ReceiptRecord<'a>) -> Result<Arc<Label<'a>>, RecordError> {
        let written = match record.encoding {
            Encoding::Json => serde_json::from_slice(record.label)?,
            Encoding::Binary => WrittenLabel::decode(record.label)?,
        };
        let label = Arc::new(Label::new(written));
        self.known.insert((record.encoding, record.label), Arc::clone(&label));
        Ok(label)
    }
}

impl<'a> Booking<'a> {
    /// Decodes a receipt; returns its id. The booking is added to `bookings`, if it has to be booked.
    pub fn read(
        record: &ReceiptRecord<'a>,
        labels: &mut Labels<'a>,
        bookings: &mut Vec<Self>,
    ) -> Result<Cow<'a, str>, RecordError> {
        let written: Written<'a> = match record.encoding {
            Encoding::Json => serde_json::from_slice(record.columns)?,
            Encoding::Binary => Written::decode(record.columns)?,
        };
        // Borrowed, unless it has JSON escapes.
        let id = written.id.0.clone();
        if !written.unbooked {
            bookings.push(Self::new(written, labels.read(record)?, record.detail));
        }
        Ok(id)
    }

    pub(super) fn bind<'b>(&'b self, values: &mut Vec<Value<'b>>) {
        self.bind_fields(values);
        self.label.bind(values);
        values.extend(self.tokens.iter().map(|count| Value::from(*count)));
        values.extend([
            Value::from(i64::from(self.estimated)),
            self.cost.map(|[input, _]| input).into(),
            self.cost.map(|[_, output]| output).into(),
            self.detail.as_deref().into(),
        ]);
    }
}

impl Booking<'static> {
    /// Converts a receipt that did not pass through the journal; `None` if it is not to be booked.
    pub fn of(receipt: &Receipt) -> Result<Option<Self>, StoreError> {
        let mut payload = Vec::new();
        journal_record::receipt(&mut payload, receipt);
        let mut bookings = Vec::new();
        ReceiptRecord::parse(Encoding::Binary, &payload)
            .and_then(|record| Booking::read(&record, &mut Labels::default(), &mut bookings))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(bookings.pop().map(Booking::into_owned))
    }
}

/// Bound on the tokens of a single call in each bucket; without it, one absurd figure would overflow a sum.
const MOST_TOKENS: u64 = 1_000_000_000_000;
