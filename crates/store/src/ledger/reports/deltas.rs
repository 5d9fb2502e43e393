//! The part of a report that is not in the rollup tables yet: filters and groups the sums of waiting deltas as the
//! statements do those of the tables.

use foldhash::HashMap;

use super::plan::Part;
use super::{Figures, Groups, Report};
use crate::StoreError;
use crate::database::Snapshot;
use crate::ledger::Conditions;
use crate::ledger::delta::{self, Decoder};
use crate::ledger::rollup::{AXES, Key, Sums};

/// Reads the waiting deltas that concern the parts that are read from sums.
pub(super) async fn waiting(snapshot: &mut Snapshot, parts: &[Part]) -> Result<Vec<Vec<u8>>, StoreError> {
    let from = ranges(parts).map(|(from, _)| from).min();
    let until = ranges(parts).map(|(_, until)| until).max();
    match from.zip(until) {
        Some((from, until)) => delta::waiting(snapshot, from, until).await,
        None => Ok(Vec::new()),
    }
}

/// Adds the sums of deltas to the groups of a report.
pub(super) async fn add(
    deltas: &[Vec<u8>],
    report: &Report,
    conditions: &Conditions,
    parts: &[Part],
    groups: &mut Groups,
) -> Result<(), StoreError> {
    let mut found: HashMap<Key<'_>, Sums> = HashMap::default();
    let mut sums = Vec::new();
    for bytes in deltas {
        let mut decoder = Decoder::new(bytes)?;
        while let Some(key) = decoder.next(&mut sums)? {
            if is_wanted(&key, report, conditions, parts) {
                found.entry(group(&key, report)).or_default().add_columns(&sums);
            }
        }
        // A delta takes up to a millisecond, and there may be a hundred.
        tokio::task::yield_now().await;
    }
    for ((step, texts), sums) in &found {
        let names = report.by.iter().map(|axis| texts[*axis as usize].to_owned()).collect();
        groups.entry((*step, names)).or_default().add(&Figures::of(sums, report.histogram));
    }
    Ok(())
}

/// The time ranges that are read from sums, in seconds.
fn ranges(parts: &[Part]) -> impl Iterator<Item = (i64, i64)> {
    parts.iter().filter_map(|part| match part {
        Part::Sums(_, from, until) => Some((*from, *until)),
        Part::Rows(..) => None,
    })
}

fn is_wanted((bucket, texts): &Key<'_>, report: &Report, conditions: &Conditions, parts: &[Part]) -> bool {
    ranges(parts).any(|(from, until)| (from..until).contains(bucket))
        && conditions.cover(texts)
        && report
            .only
            .as_ref()
            .is_none_or(|(axis, names)| names.iter().any(|name| name == texts[*axis as usize]))
}

/// The number of the interval, and the texts by which the report is grouped.
fn group<'a>((bucket, texts): &Key<'a>, report: &Report) -> Key<'a> {
    let step = report.step.map_or(0, |step| (bucket + step.offset) / step.seconds);
    let mut kept = [""; AXES.len()];
    for axis in &report.by {
        kept[*axis as usize] = texts[*axis as usize];
    }
    (step, kept)
}
