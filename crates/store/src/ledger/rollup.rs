//! Sums of calls (rollups): the columns, the tables that hold them, and the aggregation of bookings for each table.

use domain::clock::Timestamp;
use domain::usage::Tokens;
use foldhash::HashMap;

use super::booking::{Booking, Label};
use super::histogram::{Histogram, SLOTS, slot};
use crate::database::{Value, placeholders};

/// In seconds. Quarter hours, because some time zones are not offset by full hours.
pub(crate) const QUARTER_HOUR: i64 = 900;
pub(crate) const DAY: i64 = 86_400;

macro_rules! declare_axes {
    ($($(#[$doc:meta])* $axis:ident: $column:ident,)*) => {
        /// Grouping columns: labels that usage rows and sums have in common.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Axis {
            $($(#[$doc])* $axis,)*
        }

        pub(crate) const AXES: [Axis; [$(stringify!($axis)),*].len()] = [$(Axis::$axis),*];

        impl Axis {
            pub(crate) const fn column(self) -> &'static str {
                match self {
                    $(Self::$axis => stringify!($column),)*
                }
            }
        }

        /// The texts of `AXES`.
        pub(super) fn texts<'a>(label: &'a Label<'_>) -> [&'a str; AXES.len()] {
            [$(&label.$column),*]
        }
    };
}
declare_axes! {
    Model: model,
    /// The provider type.
    Provider: provider,
    ProviderName: provider_name,
    UserPath: user_path,
    AuthKeyId: auth_key_id,
    TenantId: tenant_id,
    CacheType: cache_type,
}

/// A rollup table: the length of its buckets and its grouping columns.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    pub name: &'static str,
    pub seconds: i64,
    pub axes: &'static [Axis],
    /// The index in `TABLES` of the table that it is aggregated from.
    finer: usize,
}

const MODELS: &[Axis] = &[Axis::Model, Axis::Provider, Axis::ProviderName, Axis::TenantId, Axis::CacheType];
const PATHS: &[Axis] = &[Axis::UserPath, Axis::TenantId, Axis::CacheType];
const TOTALS: &[Axis] = &[Axis::TenantId, Axis::CacheType];

/// From many rows to few: there can be more paths than models. Writers update them in this order, so that the rows on
/// which all writers contend are locked last; reports use the last one with sufficient columns.
pub(crate) static TABLES: [Table; 7] = [
    Table { name: "rollups", seconds: QUARTER_HOUR, axes: &AXES, finer: 0 },
    Table { name: "rollups_daily", seconds: DAY, axes: &AXES, finer: 0 },
    Table { name: "rollups_paths", seconds: QUARTER_HOUR, axes: PATHS, finer: 0 },
    Table { name: "rollups_paths_daily", seconds: DAY, axes: PATHS, finer: 2 },
    Table { name: "rollups_models", seconds: QUARTER_HOUR, axes: MODELS, finer: 0 },
    Table { name: "rollups_models_daily", seconds: DAY, axes: MODELS, finer: 4 },
    Table { name: "rollups_totals", seconds: QUARTER_HOUR, axes: TOTALS, finer: 4 },
];

/// The columns of the sums: calls, the token buckets, costs, the slots of two histograms, and figures of the response
/// cache and of prompt caches. Stored deltas number them by their order: a new column is added at the end.
const CALLS: [&str; 6] = ["requests", "errors", "status_2xx", "status_3xx", "status_4xx", "status_5xx"];
const COSTS: [&str; 5] = ["input_cost", "output_cost", "priced", "unpriced", "estimated"];
const CACHE: [&str; 3] = ["saved_cost", "cache_misses", "prompt_cache_savings"];
const REQUESTS: usize = 0;
const ERRORS: usize = 1;
const STATUS_2XX: usize = 2;
const TOKENS: usize = CALLS.len();
const INPUT_COST: usize = TOKENS + Tokens::BUCKETS.len();
const OUTPUT_COST: usize = INPUT_COST + 1;
const PRICED: usize = INPUT_COST + 2;
pub(crate) const UNPRICED: usize = INPUT_COST + 3;
const ESTIMATED: usize = INPUT_COST + 4;
const LATENCY: usize = INPUT_COST + COSTS.len();
const FIRST_BYTE: usize = LATENCY + SLOTS;
const SAVED_COST: usize = FIRST_BYTE + SLOTS;
const CACHE_MISSES: usize = SAVED_COST + 1;
const PROMPT_CACHE_SAVINGS: usize = SAVED_COST + 2;
const COUNT: usize = SAVED_COST + CACHE.len();

/// The start of a quarter hour in seconds, and the texts of `AXES`; empty for those that a table does not have.
pub(crate) type Key<'a> = (i64, [&'a str; AXES.len()]);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sums([i64; COUNT]);

impl Default for Sums {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

impl Sums {
    /// Number of columns.
    pub const COLUMNS: usize = COUNT;

    /// Adds one call.
    pub fn count(&mut self, booking: &Booking) {
        let class = usize::from(booking.status / 100);
        let [input, output] = booking.cost.unwrap_or_default();
        self.0[REQUESTS] += 1;
        self.0[ERRORS] += i64::from(booking.status >= 400);
        if (2..=5).contains(&class) {
            self.0[STATUS_2XX + class - 2] += 1;
        }
        self.0[TOKENS..INPUT_COST].iter_mut().zip(booking.tokens).for_each(|(sum, count)| *sum += count);
        self.0[INPUT_COST] += input;
        self.0[OUTPUT_COST] += output;
        self.0[PRICED] += i64::from(booking.cost.is_some());
        let consumed = booking.tokens.iter().any(|count| *count > 0);
        let needs_price = consumed && booking.label.cache_type.is_empty();
        self.0[UNPRICED] += i64::from(is_unpriced(needs_price, booking.cost));
        self.0[ESTIMATED] += i64::from(booking.estimated);
        self.0[LATENCY + slot(booking.duration_us)] += 1;
        if let Some(micros) = booking.first_byte_us {
            self.0[FIRST_BYTE + slot(micros)] += 1;
        }
        self.0[SAVED_COST] += booking.saved_cost.unwrap_or_default();
        self.0[CACHE_MISSES] += i64::from(booking.cache_miss);
        self.0[PROMPT_CACHE_SAVINGS] += booking.prompt_cache_savings.unwrap_or_default();
    }

    /// Visits the columns that are not zero, in their order.
    pub fn each_non_zero(&self, mut visit: impl FnMut(usize, i64)) {
        // Most columns are zero: the slots of histograms. Several are compared at once.
        const SEVERAL: usize = 8;
        for (chunk, first) in self.0.chunks(SEVERAL).zip((0..).step_by(SEVERAL)) {
            if chunk.iter().fold(0, |any, sum| any | sum) == 0 {
                continue;
            }
            for (sum, column) in chunk.iter().zip(first..) {
                if *sum != 0 {
                    visit(column, *sum);
                }
            }
        }
    }

    /// Adds the values of single columns.
    pub fn add_columns(&mut self, columns: &[(usize, i64)]) {
        columns.iter().for_each(|(column, value)| self.0[*column] += value);
    }

    /// The sum of some columns, by their numbers.
    pub fn total(&self, columns: &[usize]) -> i64 {
        columns.iter().map(|column| self.0[*column]).sum()
    }

    pub fn slots(&self, histogram: Histogram) -> &[i64] {
        match histogram {
            Histogram::Latency => &self.0[LATENCY..FIRST_BYTE],
            Histogram::FirstByte => &self.0[FIRST_BYTE..SAVED_COST],
        }
    }

    pub fn add(&mut self, more: &Self) {
        self.0.iter_mut().zip(&more.0).for_each(|(sum, value)| *sum += value);
    }

    /// The difference between two costs of a call; `None` means unpriced. The saved cost does not change.
    pub fn repriced(needs_price: bool, old: Option<[i64; 2]>, new: Option<[i64; 2]>) -> Self {
        let mut sums = Self::default();
        let ([old_input, old_output], [new_input, new_output]) =
            (old.unwrap_or_default(), new.unwrap_or_default());
        sums.0[INPUT_COST] = new_input - old_input;
        sums.0[OUTPUT_COST] = new_output - old_output;
        sums.0[PRICED] = i64::from(new.is_some()) - i64::from(old.is_some());
        sums.0[UNPRICED] =
            i64::from(is_unpriced(needs_price, new)) - i64::from(is_unpriced(needs_price, old));
        sums
    }

    /// Adds the difference between two savings of prompt caches.
    pub fn with_savings(mut self, old: Option<i64>, new: Option<i64>) -> Self {
        self.0[PROMPT_CACHE_SAVINGS] = new.unwrap_or_default() - old.unwrap_or_default();
        self
    }
}

/// True for a call that needs a price and has no cost. Calls without usage and answers from the cache need none.
fn is_unpriced(needs_price: bool, cost: Option<[i64; 2]>) -> bool {
    needs_price && cost.is_none()
}

impl Table {
    pub fn has(&self, axis: Axis) -> bool {
        self.axes.contains(&axis)
    }

    pub fn width(&self) -> usize {
        1 + self.axes.len() + COUNT
    }

    /// The columns of the primary key.
    fn keys(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once("bucket").chain(self.axes.iter().map(|axis| axis.column()))
    }

    /// The names of all columns.
    #[cfg(test)]
    pub fn columns(&self) -> impl Iterator<Item = String> {
        self.keys().map(str::to_owned).chain(sum_columns())
    }

    pub fn upsert(&self, rows: usize, postgres: bool) -> String {
        let keys = self.keys().collect::<Vec<_>>().join(", ");
        let sums = sum_columns();
        let name = self.name;
        let added: Vec<_> = sums.iter().map(|sum| format!("{sum} = {name}.{sum} + excluded.{sum}")).collect();
        format!(
            "INSERT INTO {name} ({keys}, {}) VALUES {} ON CONFLICT ({keys}) DO UPDATE SET {}",
            sums.join(", "),
            placeholders(self.width(), rows, postgres),
            added.join(", ")
        )
    }

    pub fn bind<'a>(&self, (bucket, texts): &Key<'a>, sums: &Sums, values: &mut Vec<Value<'a>>) {
        values.push((*bucket).into());
        values.extend(self.axes.iter().map(|axis| Value::from(texts[*axis as usize])));
        values.extend(sums.0.iter().map(|sum| Value::from(*sum)));
    }

    /// The key in this table for a key of a finer one.
    fn project<'a>(&self, (bucket, texts): &Key<'a>) -> Key<'a> {
        let mut kept = [""; AXES.len()];
        for axis in self.axes {
            kept[*axis as usize] = texts[*axis as usize];
        }
        (bucket.div_euclid(self.seconds) * self.seconds, kept)
    }
}

/// The number of a column of the sums.
pub(crate) fn sum_column(name: &str) -> Option<usize> {
    sum_columns().iter().position(|column| column == name)
}

/// The names of the columns of the sums.
pub(crate) fn sum_columns() -> Vec<String> {
    let slots = |of: Histogram| (0..SLOTS).map(move |slot| of.column(slot));
    let plain = CALLS.into_iter().chain(Tokens::BUCKETS).chain(COSTS);
    let slots = slots(Histogram::Latency).chain(slots(Histogram::FirstByte));
    plain.map(str::to_owned).chain(slots).chain(CACHE.map(str::to_owned)).collect()
}

/// Aggregates the sums for every table, in the order of `TABLES`.
pub(crate) fn spread<'a>(finest: Vec<(Key<'a>, Sums)>) -> Vec<Vec<(Key<'a>, Sums)>> {
    let mut spread: Vec<Vec<(Key<'a>, Sums)>> = vec![finest];
    for table in &TABLES[1..] {
        let coarser = gather(spread[table.finer].iter().map(|(key, sums)| (table.project(key), *sums)));
        spread.push(coarser);
    }
    spread
}

/// Adds up sums by key. The result is sorted by key, so that concurrent writers lock rows in the same order and cannot
/// deadlock.
pub(crate) fn gather<'a>(parts: impl Iterator<Item = (Key<'a>, Sums)>) -> Vec<(Key<'a>, Sums)> {
    let mut table: HashMap<Key<'a>, Sums> = HashMap::default();
    for (key, sums) in parts {
        table.entry(key).or_default().add(&sums);
    }
    let mut sorted: Vec<_> = table.into_iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted
}

/// The key for the sums of a call: its time, and its texts in the order of `AXES`.
pub(crate) fn key(at: Timestamp, texts: [&str; AXES.len()]) -> Key<'_> {
    (quarter(at), texts)
}

/// The start of the quarter hour that contains a moment.
pub(crate) fn quarter(at: Timestamp) -> i64 {
    at.seconds().div_euclid(QUARTER_HOUR) * QUARTER_HOUR
}
