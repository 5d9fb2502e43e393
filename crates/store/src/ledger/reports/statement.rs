//! Builds the SQL statement for one part of a report.

use sqlx::SqlStr;

use super::figures::COLUMNS;
use super::plan::Part;
use super::{Report, Step};
use crate::database::{Value, sql};
use crate::ledger::Conditions;
use crate::ledger::histogram::SLOTS;
use crate::ledger::rollup::Axis;

pub(super) fn statement<'a>(
    report: &'a Report,
    conditions: &'a Conditions,
    part: &Part,
) -> (SqlStr, Vec<Value<'a>>) {
    let of_rows = matches!(part, Part::Rows(..));
    let step = report.step.map(|step| number(step, of_rows));
    let names = report.by.iter().map(|axis| axis_of(*axis, of_rows).to_owned());
    let groups: Vec<String> = step.into_iter().chain(names).collect();
    let figures = COLUMNS.iter().map(|(sums, row)| sum(if of_rows { row } else { sums }));
    let slots = report.histogram.into_iter().flat_map(|histogram| {
        (0..SLOTS)
            .map(move |slot| sum(&if of_rows { histogram.of_row(slot) } else { histogram.column(slot) }))
    });
    let selected: Vec<String> = groups.iter().cloned().chain(figures).chain(slots).collect();
    let (table, time, from, until) = match part {
        Part::Rows(from, until) => ("usage", "at", *from, *until),
        Part::Sums(table, from, until) => (table.name, "bucket", *from, *until),
    };
    let mut text = format!("SELECT {} FROM {table} WHERE {time} >= $1 AND {time} < $2", selected.join(", "));
    let mut values = vec![Value::from(from), Value::from(until)];
    conditions.append(&mut text, &mut values);
    if of_rows {
        conditions.append_search(&mut text, &mut values);
    }
    if let Some((axis, names)) = &report.only {
        append_only(&mut text, &mut values, axis_of(*axis, of_rows), names);
    }
    if !groups.is_empty() {
        let places: Vec<String> = (1..=groups.len()).map(|place| place.to_string()).collect();
        text.push_str(&format!(" GROUP BY {}", places.join(", ")));
    }
    (sql(text), values)
}

fn sum(expression: &str) -> String {
    format!("CAST(COALESCE(SUM({expression}), 0) AS BIGINT)")
}

fn number(step: Step, of_rows: bool) -> String {
    let seconds = if of_rows { "at / 1000000" } else { "bucket" };
    format!("({seconds} + {}) / {}", step.offset, step.seconds)
}

fn axis_of(axis: Axis, of_rows: bool) -> &'static str {
    // A missing tenant is NULL in rows and empty in sums.
    if of_rows && axis == Axis::TenantId { "COALESCE(tenant_id, '')" } else { axis.column() }
}

fn append_only<'a>(text: &mut String, values: &mut Vec<Value<'a>>, column: &str, names: &'a [String]) {
    let places: Vec<String> = (1..=names.len()).map(|place| format!("${}", values.len() + place)).collect();
    text.push_str(&format!(" AND {column} IN ({})", places.join(", ")));
    values.extend(names.iter().map(Value::from));
}
