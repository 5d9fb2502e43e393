//! A histogram of durations with buckets of under one percent width, so that millions of samples take a few kilobytes.

use std::time::Duration;

/// Bits of resolution per power of two: the error is below 1 / 128.
const FINENESS: u32 = 7;

#[derive(Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub fn record(&mut self, duration: Duration) {
        let bucket = bucket_of(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.total += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    /// The given quantile in microseconds; 0 without samples.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = ((self.total as f64) * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return middle_of(bucket) / 1000.0;
            }
        }
        0.0
    }
}

fn bucket_of(nanos: u64) -> usize {
    let exponent = (u64::BITS - nanos.leading_zeros()).saturating_sub(FINENESS + 1);
    let mantissa = nanos >> exponent;
    ((u64::from(exponent) << FINENESS) + mantissa) as usize
}

fn middle_of(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let exponent = (bucket >> FINENESS).saturating_sub(1);
    let mantissa = bucket - (exponent << FINENESS);
    (mantissa as f64 + 0.5) * 2f64.powi(exponent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_comes_back_within_a_percent(nanos in 1_000u64..u64::MAX / 4) {
            let mut histogram = Histogram::default();
            histogram.record(Duration::from_nanos(nanos));
            let error = (histogram.quantile(0.5) * 1000.0 - nanos as f64).abs() / nanos as f64;
            prop_assert!(error < 0.01, "{error}");
        }

        #[test]
        fn buckets_keep_the_order(left in any::<u64>(), right in any::<u64>()) {
            prop_assert_eq!(left.cmp(&right).is_lt() && bucket_of(left) > bucket_of(right), false);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let (mut odd, mut even) = (Histogram::default(), Histogram::default());
        for micros in 1..=1000u64 {
            let histogram = if micros % 2 == 0 { &mut even } else { &mut odd };
            histogram.record(Duration::from_micros(micros));
        }
        odd.merge(&even);
        assert_eq!(odd.count(), 1000);
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            let found = odd.quantile(share);
            assert!((found - expected).abs() / expected < 0.01, "{share}: {found}");
        }
        assert_eq!(Histogram::default().quantile(0.5), 0.0);
    }
}
