//! Statistics of audit entries: counts, statuses, latencies, and distribution over time.

use std::collections::BTreeMap;

use super::Audit;
use super::filter::{AuditFilter, AuditSort, Conditions, ScanRange};
use crate::StoreError;
use crate::database::sql;

/// Maximum number of entries; the newest ones are used.
const MOST: usize = 100_000;
/// Possible bucket widths in seconds; the smallest that yields about `ENOUGH` buckets or fewer is used.
const WIDTHS: [i64; 6] = [900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600, 28 * 24 * 3600];
const ENOUGH: i64 = 60;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditStats {
    pub count: u64,
    pub errors: u64,
    pub by_status: BTreeMap<u16, u64>,
    pub by_provider: BTreeMap<String, u64>,
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    pub bucket_seconds: i64,
    pub buckets: Vec<AuditBucket>,
    /// True if older entries are not included.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditBucket {
    /// In seconds.
    pub start: i64,
    pub count: u64,
    pub errors: u64,
}

impl Audit {
    pub async fn stats(&self, filter: &AuditFilter) -> Result<AuditStats, StoreError> {
        let unindexed = filter.is_unindexed();
        let stretch = if unindexed {
            self.stretch(filter, AuditSort::Newest, None).await?
        } else {
            ScanRange::whole(filter)
        };
        let beyond = stretch.edge.is_some();
        let mut conditions = Conditions::new(&stretch.filter);
        let most = conditions.bind(MOST as i64 + 1);
        let text = format!(
            "SELECT at, status, provider_name, duration_us FROM audit WHERE {} ORDER BY at DESC, id DESC LIMIT {most}",
            conditions.text
        );
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        let mut tally = Tally::new(rows.len() > MOST || beyond);
        for row in rows.iter().take(MOST) {
            tally.add(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        }
        Ok(tally.finish())
    }
}

struct Tally {
    stats: AuditStats,
    durations: Vec<i64>,
    moments: Vec<(i64, bool)>,
}

impl Tally {
    fn new(truncated: bool) -> Self {
        Self {
            stats: AuditStats { truncated, ..AuditStats::default() },
            durations: Vec::new(),
            moments: Vec::new(),
        }
    }

    fn add(&mut self, at: i64, status: i64, provider: String, duration_us: i64) {
        let failed = status >= 400;
        self.stats.count += 1;
        self.stats.errors += u64::from(failed);
        *self.stats.by_status.entry(u16::try_from(status).unwrap_or_default()).or_insert(0) += 1;
        if !provider.is_empty() {
            *self.stats.by_provider.entry(provider).or_insert(0) += 1;
        }
        self.durations.push(duration_us);
        self.moments.push((at.div_euclid(1_000_000), failed));
    }

    fn finish(mut self) -> AuditStats {
        self.durations.sort_unstable();
        self.stats.p50_us = percentile(&self.durations, 50);
        self.stats.p95_us = percentile(&self.durations, 95);
        self.stats.p99_us = percentile(&self.durations, 99);
        let newest = self.moments.iter().map(|(at, _)| *at).max().unwrap_or_default();
        let oldest = self.moments.iter().map(|(at, _)| *at).min().unwrap_or_default();
        let fits = |width: &&i64| (newest - oldest) / **width < ENOUGH;
        let width = *WIDTHS.iter().find(fits).unwrap_or(&WIDTHS[WIDTHS.len() - 1]);
        let mut buckets: BTreeMap<i64, AuditBucket> = BTreeMap::new();
        for (at, failed) in &self.moments {
            let start = at.div_euclid(width) * width;
            let bucket = buckets.entry(start).or_insert(AuditBucket { start, ..AuditBucket::default() });
            bucket.count += 1;
            bucket.errors += u64::from(*failed);
        }
        self.stats.bucket_seconds = width;
        self.stats.buckets = buckets.into_values().collect();
        self.stats
    }
}

/// The nearest-rank percentile: the smallest value that at least `percent` percent of the values do not exceed.
fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let all: Vec<i64> = (1..=100).collect();
        assert_eq!([50, 95, 99].map(|percent| percentile(&all, percent)), [Some(50), Some(95), Some(99)]);
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn buckets_are_few_and_hold_everything() {
        let mut tally = Tally::new(false);
        for hour in 0..100 {
            tally.add(hour * 3_600_000_000, if hour % 10 == 0 { 500 } else { 200 }, "a".into(), hour);
        }
        let stats = tally.finish();
        assert_eq!((stats.count, stats.errors, stats.bucket_seconds), (100, 10, 4 * 3600));
        assert_eq!(stats.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 100);
        assert_eq!(stats.by_status, BTreeMap::from([(200, 90), (500, 10)]));
    }
}
