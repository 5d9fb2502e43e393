//! Latency histograms with fixed buckets: enough for percentiles, and they can be added up.

pub const SLOTS: usize = 24;

/// Upper bounds in milliseconds, inclusive; the last slot has none.
const BOUNDS: [i64; SLOTS - 1] = [
    1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10_000,
    20_000, 60_000,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histogram {
    /// From the first byte of the request to the last byte of the response.
    Latency,
    /// To the first byte of the response.
    FirstByte,
}

impl Histogram {
    pub(super) fn column(self, slot: usize) -> String {
        let name = match self {
            Self::Latency => "latency",
            Self::FirstByte => "first_byte",
        };
        BOUNDS.get(slot).map_or_else(|| format!("{name}_over"), |bound| format!("{name}_{bound}"))
    }

    /// The SQL expression for the contribution of a usage row to a bucket.
    pub(super) fn of_row(self, slot: usize) -> String {
        let micros = match self {
            Self::Latency => "duration_us",
            Self::FirstByte => "first_byte_us",
        };
        let above = slot.checked_sub(1).map(|below| format!("{micros} > {}", BOUNDS[below] * 1000));
        let within = BOUNDS.get(slot).map(|bound| format!("{micros} <= {}", bound * 1000));
        let bounds: Vec<String> = above.into_iter().chain(within).collect();
        format!("CASE WHEN {} THEN 1 ELSE 0 END", bounds.join(" AND "))
    }
}

pub(super) fn slot(micros: i64) -> usize {
    BOUNDS.partition_point(|bound| bound * 1000 < micros)
}

/// The percentile in milliseconds; `None` without calls. Interpolates linearly within a bucket; above the last bound it
/// returns that bound.
pub fn percentile(slots: &[i64; SLOTS], hundredths: f64) -> Option<f64> {
    let total: i64 = slots.iter().sum();
    if total <= 0 {
        return None;
    }
    let wanted = total as f64 * hundredths / 100.0;
    let mut below = 0.0;
    for (slot, count) in slots.iter().enumerate() {
        let count = *count as f64;
        if count > 0.0 && below + count >= wanted {
            let low = slot.checked_sub(1).map_or(0, |slot| BOUNDS[slot]) as f64;
            let high = BOUNDS.get(slot).map_or(low, |bound| *bound as f64);
            return Some(low + (high - low) * ((wanted - below) / count).clamp(0.0, 1.0));
        }
        below += count;
    }
    Some(BOUNDS[SLOTS - 2] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_end_at_their_bounds() {
        for (micros, expected) in
            [(0, 0), (1000, 0), (1001, 1), (2000, 1), (60_000_000, 22), (60_000_001, 23), (i64::MAX, 23)]
        {
            assert_eq!(slot(micros), expected, "{micros}");
        }
    }

    #[test]
    fn a_percentile_lies_in_its_slot_by_its_share() {
        let mut slots = [0; SLOTS];
        assert_eq!(percentile(&slots, 50.0), None);
        slots[8] = 10; // 75 to 100 ms
        assert_eq!(percentile(&slots, 50.0), Some(87.5));
        assert_eq!(percentile(&slots, 100.0), Some(100.0));
        slots[23] = 90;
        assert_eq!(percentile(&slots, 95.0), Some(60_000.0));
        slots = [0; SLOTS];
        slots[0] = 1;
        assert_eq!(percentile(&slots, 95.0), Some(0.95));
    }

    proptest! {
        /// The exact percentile of the durations is in the same bucket.
        #[test]
        fn never_further_off_than_a_slot(mut durations in proptest::collection::vec(0i64..70_000_000, 1..200), of in 1.0f64..100.0) {
            let mut slots = [0; SLOTS];
            durations.iter().for_each(|micros| slots[slot(*micros)] += 1);
            durations.sort_unstable();
            let rank = ((durations.len() as f64 * of / 100.0).ceil() as usize).clamp(1, durations.len());
            let true_slot = slot(durations[rank - 1]);
            let found = percentile(&slots, of).unwrap();
            let low = true_slot.checked_sub(1).map_or(0, |slot| BOUNDS[slot]) as f64;
            let high = BOUNDS.get(true_slot).map_or(low, |bound| *bound as f64);
            prop_assert!(low <= found && found <= high, "{found} is not in {low}..={high}");
        }
    }
}
