//! The planner: selects the tables that a report is read from. Whole days come from daily sums, whole quarter hours
//! from the finer ones, and the rest at the edges from rows; of the tables with the required axes, the smallest is
//! used.

use domain::clock::Timestamp;

use super::Step;
use crate::ledger::rollup::{Axis, DAY, QUARTER_HOUR, TABLES, Table};

const MICROS: i64 = 1_000_000;

/// A time range and its source.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    /// Usage rows; range in microseconds.
    Rows(i64, i64),
    /// Sums; range in seconds.
    Sums(&'static Table, i64, i64),
}

pub(crate) fn rows(from: Timestamp, until: Timestamp) -> Vec<Part> {
    if until <= from { Vec::new() } else { vec![Part::Rows(from.micros(), until.micros())] }
}

pub(crate) fn plan(from: Timestamp, until: Timestamp, axes: &[Axis], step: Option<Step>) -> Vec<Part> {
    if step.is_some_and(|step| !fits(step, QUARTER_HOUR)) {
        return rows(from, until);
    }
    let (first, last) = whole(from.micros(), until.micros(), QUARTER_HOUR * MICROS);
    if first >= last {
        return rows(from, until);
    }
    let (first, last) = (first / MICROS, last / MICROS);
    let mut parts = sums(first, last, axes, step);
    let before = rows(from, Timestamp(first.saturating_mul(MICROS)));
    let after = rows(Timestamp(last.saturating_mul(MICROS)), until);
    parts.extend(before.into_iter().chain(after));
    parts
}

/// True if no interval of a report starts inside a bucket.
fn fits(step: Step, bucket: i64) -> bool {
    step.seconds % bucket == 0 && step.offset % bucket == 0
}

fn sums(first: i64, last: i64, axes: &[Axis], step: Option<Step>) -> Vec<Part> {
    let quarters = smallest(QUARTER_HOUR, axes);
    if step.is_none_or(|step| fits(step, DAY)) {
        let (day, night) = whole(first, last, DAY);
        if day < night {
            let parts = [(quarters, first, day), (smallest(DAY, axes), day, night), (quarters, night, last)];
            let parts = parts.into_iter().filter(|(_, from, until)| from < until);
            return parts.map(|(table, from, until)| Part::Sums(table, from, until)).collect();
        }
    }
    vec![Part::Sums(quarters, first, last)]
}

/// The whole units within a range.
fn whole(from: i64, until: i64, unit: i64) -> (i64, i64) {
    let first = from.div_euclid(unit) + i64::from(from.rem_euclid(unit) != 0);
    (first.saturating_mul(unit), until.div_euclid(unit).saturating_mul(unit))
}

fn smallest(seconds: i64, axes: &[Axis]) -> &'static Table {
    let enough = |table: &&Table| table.seconds == seconds && axes.iter().all(|axis| table.has(*axis));
    TABLES.iter().rev().find(enough).unwrap_or(&TABLES[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `table from-until` of each part, in quarter hours, or in microseconds for rows.
    fn shown(from: i64, until: i64, axes: &[Axis], step: Option<Step>) -> String {
        let parts = plan(Timestamp(from), Timestamp(until), axes, step);
        let parts = parts.iter().map(|part| match part {
            Part::Rows(from, until) => format!("rows {from}-{until}"),
            Part::Sums(table, from, until) => format!("{} {}-{}", table.name, from / 900, until / 900),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_smallest_tables_that_can_tell() {
        const Q: i64 = 900 * MICROS;
        const D: i64 = 96 * Q;
        let step = |seconds: i64, offset: i64| Some(Step { seconds, offset });
        let path = [Axis::UserPath];
        let model = [Axis::Model];
        let both = [Axis::UserPath, Axis::Model];
        for (from, until, axes, step, expected) in [
            (0, 4 * Q, &[][..], None, "rollups_totals 0-4"),
            (1, 2 * Q + 1, &[], None, "rollups_totals 1-2, rows 1-900000000, rows 1800000000-1800000001"),
            (1, Q, &[], None, "rows 1-900000000"),
            (Q - 1, Q + 1, &[], None, "rows 899999999-900000001"),
            (5, 5, &[], None, ""),
            (7, 5, &[], None, ""),
            (-Q, 0, &[], None, "rollups_totals -1-0"),
            (0, D, &[], None, "rollups_models_daily 0-96"),
            (0, D, &path, None, "rollups_paths_daily 0-96"),
            (
                Q,
                2 * D + Q,
                &path,
                None,
                "rollups_paths 1-96, rollups_paths_daily 96-192, rollups_paths 192-193",
            ),
            (0, D, &both, None, "rollups_daily 0-96"),
            (0, D - Q, &both, None, "rollups 0-95"),
            (0, 2 * D, &model, step(86400, 0), "rollups_models_daily 0-192"),
            (0, 2 * D, &model, step(3600, 0), "rollups_models 0-192"),
            (0, 2 * D, &[], step(86400, 19800), "rollups_totals 0-192"),
            (0, D, &[], step(86400, 1234), "rows 0-86400000000"),
        ] {
            assert_eq!(shown(from, until, axes, step), expected, "{from} {until} {axes:?} {step:?}");
        }
        assert!(!plan(Timestamp(i64::MIN), Timestamp(i64::MAX), &[], None).is_empty());
    }
}
