//! The figures of a report group.

use std::sync::LazyLock;

use domain::money::Nanos;
use domain::usage::Tokens;

use crate::StoreError;
use crate::database::Row;
use crate::ledger::histogram::{Histogram, SLOTS, percentile};
use crate::ledger::rollup::{Sums, sum_column};

const COUNT: usize = 18;

/// The expression for each figure over sums, and over a usage row.
pub(super) static COLUMNS: LazyLock<[(&str, &str); COUNT]> = LazyLock::new(|| {
    [
        ("requests", "1"),
        ("errors", "CASE WHEN status >= 400 THEN 1 ELSE 0 END"),
        ("status_2xx", "CASE WHEN status / 100 = 2 THEN 1 ELSE 0 END"),
        ("status_3xx", "CASE WHEN status / 100 = 3 THEN 1 ELSE 0 END"),
        ("status_4xx", "CASE WHEN status / 100 = 4 THEN 1 ELSE 0 END"),
        ("status_5xx", "CASE WHEN status / 100 = 5 THEN 1 ELSE 0 END"),
        (INPUT.as_str(), INPUT.as_str()),
        (OUTPUT.as_str(), OUTPUT.as_str()),
        ("cache_read", "cache_read"),
        (CACHE_WRITE, CACHE_WRITE),
        ("reasoning", "reasoning"),
        ("input_cost", "COALESCE(input_cost, 0)"),
        ("output_cost", "COALESCE(output_cost, 0)"),
        ("priced", "CASE WHEN input_cost IS NULL THEN 0 ELSE 1 END"),
        ("saved_cost", "COALESCE(saved_cost, 0)"),
        ("cache_misses", "cache_miss"),
        ("prompt_cache_savings", "COALESCE(prompt_cache_savings, 0)"),
        ("unpriced", UNPRICED.as_str()),
    ]
});
/// The numbers of the columns of `Sums` that each figure adds up.
static SUM_COLUMNS: LazyLock<[Vec<usize>; COUNT]> =
    LazyLock::new(|| COLUMNS.each_ref().map(|(sums, _)| sums.split(" + ").filter_map(sum_column).collect()));
/// The sum of the buckets of one side.
pub(in crate::ledger) static INPUT: LazyLock<String> = LazyLock::new(|| Tokens::INPUT.join(" + "));
pub(in crate::ledger) static OUTPUT: LazyLock<String> = LazyLock::new(|| Tokens::OUTPUT.join(" + "));
/// The condition of rows that `Sums` counts as unpriced: answers from the cache need no price.
pub(in crate::ledger) static UNPRICED_ROW: LazyLock<String> =
    LazyLock::new(|| format!("input_cost IS NULL AND cache_type = '' AND {} + {} > 0", *INPUT, *OUTPUT));
static UNPRICED: LazyLock<String> =
    LazyLock::new(|| format!("CASE WHEN {} THEN 1 ELSE 0 END", *UNPRICED_ROW));
const CACHE_WRITE: &str = "cache_write_5m + cache_write_1h";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    sums: [i64; COUNT],
    slots: [i64; SLOTS],
}

impl Figures {
    pub(super) fn read(row: &Row, first: usize, histogram: Option<Histogram>) -> Result<Self, StoreError> {
        let mut figures = Self::default();
        for (index, sum) in figures.sums.iter_mut().enumerate() {
            *sum = row.get(first + index)?;
        }
        if histogram.is_some() {
            for (index, count) in figures.slots.iter_mut().enumerate() {
                *count = row.get(first + COUNT + index)?;
            }
        }
        Ok(figures)
    }

    pub(super) fn of(sums: &Sums, histogram: Option<Histogram>) -> Self {
        let mut figures =
            Self { sums: SUM_COLUMNS.each_ref().map(|columns| sums.total(columns)), ..Self::default() };
        if let Some(histogram) = histogram {
            figures.slots.copy_from_slice(sums.slots(histogram));
        }
        figures
    }

    pub fn add(&mut self, more: &Self) {
        self.combine(more, i64::saturating_add);
    }

    /// Subtracts figures that are part of these.
    pub fn subtract(&mut self, part: &Self) {
        self.combine(part, i64::saturating_sub);
    }

    fn combine(&mut self, other: &Self, with: fn(i64, i64) -> i64) {
        let theirs = other.sums.iter().chain(&other.slots);
        for (ours, theirs) in self.sums.iter_mut().chain(&mut self.slots).zip(theirs) {
            *ours = with(*ours, *theirs);
        }
    }

    pub fn requests(&self) -> i64 {
        self.sums[0]
    }

    pub fn errors(&self) -> i64 {
        self.sums[1]
    }

    /// The number of calls with a status of one class (0 for 2xx to 3 for 5xx); other figures are not known by class.
    pub fn of_status(&self, class: usize) -> Self {
        let mut figures = Self::default();
        figures.sums[0] = self.sums[2 + class];
        figures.sums[1] = if class >= 2 { self.sums[2 + class] } else { 0 };
        figures.sums[2 + class] = self.sums[2 + class];
        figures
    }

    pub fn input_tokens(&self) -> i64 {
        self.sums[6]
    }

    pub fn output_tokens(&self) -> i64 {
        self.sums[7]
    }

    pub fn total_tokens(&self) -> i64 {
        self.sums[6].saturating_add(self.sums[7])
    }

    pub fn cached_input_tokens(&self) -> i64 {
        self.sums[8]
    }

    pub fn cache_write_input_tokens(&self) -> i64 {
        self.sums[9]
    }

    pub fn reasoning_tokens(&self) -> i64 {
        self.sums[10]
    }

    /// `None` when no call was priced.
    pub fn input_cost(&self) -> Option<Nanos> {
        self.cost(self.sums[11])
    }

    pub fn output_cost(&self) -> Option<Nanos> {
        self.cost(self.sums[12])
    }

    pub fn total_cost(&self) -> Option<Nanos> {
        self.cost(self.sums[11].saturating_add(self.sums[12]))
    }

    fn cost(&self, nanos: i64) -> Option<Nanos> {
        (self.sums[13] > 0).then_some(Nanos(nanos))
    }

    /// The cost that answers from the cache saved; `None` when they saved none, or it is not known.
    pub fn saved_cost(&self) -> Option<Nanos> {
        (self.sums[14] != 0).then_some(Nanos(self.sums[14]))
    }

    /// The number of calls for which the cache was searched and had no answer.
    pub fn cache_misses(&self) -> i64 {
        self.sums[15]
    }

    /// The cost that prompt caches of providers saved; `None` when no call was priced.
    pub fn prompt_cache_savings(&self) -> Option<Nanos> {
        self.cost(self.sums[16])
    }

    /// The number of calls that consumed tokens and have no price.
    pub fn unpriced(&self) -> i64 {
        self.sums[17]
    }

    /// Percentile in milliseconds of the requested histogram; `None` when it counts no call.
    pub fn percentile(&self, hundredths: f64) -> Option<f64> {
        percentile(&self.slots, hundredths)
    }
}
