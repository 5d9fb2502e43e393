//! The usage log: single calls, newest first. Sums show which quarter hours contain the rows of a page, so that neither
//! a distant page nor a rare filter requires reading all rows before it.

mod windows;

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use super::booking::{self, COLUMNS};
use super::reports::{Report, Step};
use super::rollup::{DAY, QUARTER_HOUR};
use super::{Conditions, Ledger, UsageFilter};
use crate::StoreError;
use crate::database::{Value, sql};
use windows::windows;

/// Maximum number of rows examined by a search; the newest ones of the range are used.
const EXAMINED: i64 = 200_000;

/// The position at which a page ended; the next one starts after it.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPlace {
    pub at: Timestamp,
    pub id: String,
}

#[derive(Debug, Default)]
pub struct LogPage {
    pub rows: Vec<Receipt>,
    /// Total number of matching rows; `None` if it was not asked for.
    pub total: Option<i64>,
    /// `None` on the last page.
    pub next: Option<LogPlace>,
    /// True if older rows were not searched.
    pub search_truncated: bool,
}

/// The requested part of the matching rows.
#[derive(Clone, Debug, Default)]
pub struct LogSlice {
    pub limit: i64,
    pub offset: i64,
    pub after: Option<LogPlace>,
    /// Whether the matching rows are counted. A page without a search knows their number anyway.
    pub with_total: bool,
}

impl Ledger {
    /// The newest rows and the total number of rows.
    #[cfg(test)]
    pub async fn log(
        &self,
        filter: &UsageFilter,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Receipt>, i64), StoreError> {
        let page = self.page(filter, &LogSlice { limit, offset, after: None, with_total: true }).await?;
        Ok((page.rows, page.total.unwrap_or_default()))
    }

    pub async fn page(&self, filter: &UsageFilter, slice: &LogSlice) -> Result<LogPage, StoreError> {
        // Sums are kept longer than rows, so nothing before the oldest remaining row is counted.
        let oldest = self.database.fetch("SELECT MIN(at) FROM usage", &[]).await?;
        let Some(oldest) = oldest.first().ok_or(StoreError::NotFound)?.get::<Option<i64>>(0)? else {
            return Ok(LogPage { total: slice.with_total.then_some(0), ..LogPage::default() });
        };
        let mut filter = UsageFilter { from: filter.from.max(Timestamp(oldest)), ..filter.clone() };
        let (limit, offset) = (slice.limit.max(0), slice.offset.max(0));
        // One more row shows whether there is a next page.
        let with_total = slice.with_total;
        let slice = LogSlice { limit: limit.saturating_add(1), offset, ..slice.clone() };
        let mut page = if filter.search.as_ref().is_some_and(|search| !search.is_empty()) {
            let search_truncated = self.bound_search(&mut filter).await?;
            let total = match with_total {
                true => Some(self.summary(&filter).await?.total_requests),
                false => None,
            };
            let rows = self.rows(&filter, &slice).await?;
            LogPage { rows, total, next: None, search_truncated }
        } else {
            self.walk(&filter, slice).await?
        };
        if page.rows.len() as i64 > limit {
            page.rows.truncate(limit as usize);
            page.next = page.rows.last().map(|row| LogPlace { at: row.at, id: row.id.clone() });
        }
        Ok(page)
    }

    /// Limits the range of a search to the number of rows that may be examined; true if it was shortened.
    async fn bound_search(&self, filter: &mut UsageFilter) -> Result<bool, StoreError> {
        const BOUND: &str =
            "SELECT at FROM usage WHERE at >= $1 AND at < $2 ORDER BY at DESC, id DESC LIMIT 1 OFFSET $3";
        let values = [filter.from.micros().into(), filter.until.micros().into(), EXAMINED.into()];
        let rows = self.database.fetch(BOUND, &values).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        filter.from = Timestamp(row.get::<i64>(0)? + 1);
        Ok(true)
    }

    /// Reads a page by days and then quarter hours, skipping those without rows of the page.
    async fn walk(&self, filter: &UsageFilter, mut slice: LogSlice) -> Result<LogPage, StoreError> {
        let days = self.counts(filter, DAY).await?;
        let total = slice.with_total.then(|| days.iter().map(|(_, count)| count).sum());
        let mut page = LogPage { total, ..LogPage::default() };
        let until = slice
            .after
            .as_ref()
            .map_or(filter.until, |after| filter.until.min(Timestamp(after.at.micros().saturating_add(1))));
        let whole = UsageFilter { until, ..filter.clone() };
        for (day, count) in days {
            if slice.offset >= count {
                slice.offset -= count;
                continue;
            }
            let Some(day) = within(&whole, day, day + 1, DAY) else { continue };
            for window in windows(&self.counts(&day, QUARTER_HOUR).await?, slice.limit) {
                if slice.offset >= window.count {
                    slice.offset -= window.count;
                    continue;
                }
                let Some(window) = within(&day, window.first, window.last + 1, QUARTER_HOUR) else {
                    continue;
                };
                let rows = self.rows(&window, &slice).await?;
                slice.offset = 0;
                slice.limit -= rows.len() as i64;
                page.rows.extend(rows);
                if slice.limit <= 0 {
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }

    /// The number of rows per interval of this length, newest first.
    async fn counts(&self, filter: &UsageFilter, seconds: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let lines = self.report(&Report::of(filter.clone()).every(Step { seconds, offset: 0 })).await?;
        let mut counts: Vec<_> = lines.iter().map(|line| (line.step, line.figures.requests())).collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        Ok(counts)
    }

    async fn rows(&self, filter: &UsageFilter, slice: &LogSlice) -> Result<Vec<Receipt>, StoreError> {
        let conditions = Conditions::new(filter);
        let mut text = format!("SELECT {} FROM usage WHERE at >= $1 AND at < $2", &*COLUMNS);
        let mut values = vec![Value::from(filter.from.micros()), Value::from(filter.until.micros())];
        conditions.append(&mut text, &mut values);
        conditions.append_search(&mut text, &mut values);
        if let Some(after) = &slice.after {
            let (at, id) = (values.len() + 1, values.len() + 2);
            text.push_str(&format!(" AND (at < ${at} OR (at = ${at} AND id < ${id}))"));
            values.extend([Value::from(after.at.micros()), Value::from(&after.id)]);
        }
        let (limit, offset) = (values.len() + 1, values.len() + 2);
        text.push_str(&format!(" ORDER BY at DESC, id DESC LIMIT ${limit} OFFSET ${offset}"));
        values.extend([Value::from(slice.limit), Value::from(slice.offset)]);
        let rows = self.database.fetch(sql(text), &values).await?;
        rows.iter().map(booking::read).collect()
    }
}

/// The part of a filter's range that overlaps these intervals; `None` if there is none.
fn within(filter: &UsageFilter, first: i64, last: i64, seconds: i64) -> Option<UsageFilter> {
    let micros = |stretch: i64| Timestamp(stretch.saturating_mul(seconds).saturating_mul(1_000_000));
    let (from, until) = (filter.from.max(micros(first)), filter.until.min(micros(last)));
    (from < until).then(|| UsageFilter { from, until, ..filter.clone() })
}
