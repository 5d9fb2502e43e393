//! Reports: sums over a time range, grouped as requested, read from the smallest tables that suffice and from the deltas
//! that are not in the tables yet.

mod deltas;
mod figures;
mod plan;
mod statement;
#[cfg(test)]
mod tests;

use foldhash::HashMap;

use super::histogram::Histogram;
use super::rollup::Axis;
use super::{Conditions, Ledger, UsageFilter};
use crate::StoreError;
use crate::database::Snapshot;
use plan::Part;

pub use figures::Figures;
pub(super) use figures::{INPUT, OUTPUT, UNPRICED_ROW};

/// Time intervals of equal length; the number of an interval is `(seconds since the epoch + offset) / seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub seconds: i64,
    /// Offset of the local clock from UTC, in seconds.
    pub offset: i64,
}

/// A report request.
#[derive(Clone, Debug)]
pub struct Report {
    pub filter: UsageFilter,
    pub by: Vec<Axis>,
    pub step: Option<Step>,
    /// Restricts an axis to these values.
    pub only: Option<(Axis, Vec<String>)>,
    pub histogram: Option<Histogram>,
}

impl Report {
    pub fn of(filter: UsageFilter) -> Self {
        Self { filter, by: Vec::new(), step: None, only: None, histogram: None }
    }

    pub fn by(self, axes: &[Axis]) -> Self {
        Self { by: axes.to_vec(), ..self }
    }

    pub fn every(self, step: Step) -> Self {
        Self { step: Some(step), ..self }
    }

    /// The axes that a table needs in order to answer the report.
    fn axes(&self) -> Vec<Axis> {
        let filter = &self.filter;
        let mut axes = self.by.clone();
        axes.extend(self.only.as_ref().map(|(axis, _)| *axis));
        axes.extend(filter.user_path.as_ref().map(|_| Axis::UserPath));
        axes.extend(filter.model.as_ref().map(|_| Axis::Model));
        axes.extend(filter.auth_key_id.as_ref().map(|_| Axis::AuthKeyId));
        axes.extend(filter.tenant_id.as_ref().map(|_| Axis::TenantId));
        if filter.provider.is_some() {
            axes.extend([Axis::Provider, Axis::ProviderName]);
        }
        axes
    }
}

/// The figures by number of the interval and names.
type Groups = HashMap<(i64, Vec<String>), Figures>;

/// A group of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The number of the interval; 0 when not grouped by time.
    pub step: i64,
    /// In the order of the requested axes.
    pub names: Vec<String>,
    pub figures: Figures,
}

impl Ledger {
    /// Runs a report. Groups without calls are left out; the others are in no particular order.
    pub async fn report(&self, report: &Report) -> Result<Vec<Line>, StoreError> {
        let (conditions, parts) = plan_of(report);
        // Boxed, because a snapshot with its transaction is large.
        Box::pin(self.lines(report, &conditions, &parts)).await
    }

    /// Like `report`, in the caller's snapshot.
    pub(super) async fn report_in(
        &self,
        snapshot: &mut Snapshot,
        report: &Report,
    ) -> Result<Vec<Line>, StoreError> {
        let (conditions, parts) = plan_of(report);
        let (groups, waiting) = read(snapshot, report, &conditions, &parts).await?;
        into_lines(groups, &waiting, report, &conditions, &parts).await
    }

    async fn lines(
        &self,
        report: &Report,
        conditions: &Conditions,
        parts: &[Part],
    ) -> Result<Vec<Line>, StoreError> {
        // One snapshot, so that compaction cannot move sums from the deltas to the tables between two reads.
        let mut snapshot = self.database.snapshot().await?;
        let (groups, waiting) = read(&mut snapshot, report, conditions, parts).await?;
        snapshot.end().await?;
        into_lines(groups, &waiting, report, conditions, parts).await
    }
}

/// The conditions of a report and the parts that it is read from.
fn plan_of(report: &Report) -> (Conditions, Vec<Part>) {
    let conditions = Conditions::new(&report.filter);
    let axes = report.axes();
    let parts = if conditions.has_search() {
        plan::rows(report.filter.from, report.filter.until)
    } else {
        plan::plan(report.filter.from, report.filter.until, &axes, report.step)
    };
    (conditions, parts)
}

/// Reads the groups of the tables, and the deltas that are not in them.
async fn read(
    snapshot: &mut Snapshot,
    report: &Report,
    conditions: &Conditions,
    parts: &[Part],
) -> Result<(Groups, Vec<Vec<u8>>), StoreError> {
    let mut groups = Groups::default();
    for part in parts {
        let (text, values) = statement::statement(report, conditions, part);
        for row in snapshot.fetch(text, &values).await? {
            let step = if report.step.is_some() { row.get(0)? } else { 0 };
            let first = usize::from(report.step.is_some());
            let names = (0..report.by.len()).map(|index| row.get(first + index));
            let names = names.collect::<Result<Vec<String>, _>>()?;
            let figures = Figures::read(&row, first + report.by.len(), report.histogram)?;
            groups.entry((step, names)).or_default().add(&figures);
        }
    }
    let waiting = deltas::waiting(snapshot, parts).await?;
    Ok((groups, waiting))
}

/// Adds the deltas to the groups of the tables.
async fn into_lines(
    mut groups: Groups,
    waiting: &[Vec<u8>],
    report: &Report,
    conditions: &Conditions,
    parts: &[Part],
) -> Result<Vec<Line>, StoreError> {
    deltas::add(waiting, report, conditions, parts, &mut groups).await?;
    let lines = groups.into_iter().map(|((step, names), figures)| Line { step, names, figures });
    Ok(lines.filter(|line| line.figures.requests() > 0).collect())
}
