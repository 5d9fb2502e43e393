//! Sums by the quarter hour, model, provider, path, key, tenant and cache: what reports read.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use foldhash::HashMap;

use super::booking::{Booking, Label};
use crate::database::Value;

/// Seconds; a quarter, because there are time zones off the full hour.
pub(crate) const QUARTER_HOUR: i64 = 900;

const KEYS: [&str; 8] =
    ["bucket", "model", "provider", "provider_name", "user_path", "auth_key_id", "tenant_id", "cache_type"];
const SUMS: [&str; 19] = [
    "requests",
    "errors",
    "status_2xx",
    "status_3xx",
    "status_4xx",
    "status_5xx",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "audio_input",
    "output",
    "reasoning",
    "audio_output",
    "input_cost",
    "output_cost",
    "priced",
    "unpriced",
    "estimated",
];
pub(super) const WIDTH: usize = KEYS.len() + SUMS.len();

pub(super) type Key<'a> = (i64, [&'a str; KEYS.len() - 1]);
pub(super) type Sums = [i64; SUMS.len()];

pub(super) fn upsert(values: &str) -> String {
    let columns = KEYS.iter().chain(&SUMS).copied().collect::<Vec<_>>().join(", ");
    let added = SUMS.map(|sum| format!("{sum} = rollups.{sum} + excluded.{sum}")).join(", ");
    format!(
        "INSERT INTO rollups ({columns}) VALUES {values} ON CONFLICT ({}) DO UPDATE SET {added}",
        KEYS.join(", ")
    )
}

pub(super) fn bind<'a>((bucket, texts): &Key<'a>, sums: &Sums, values: &mut Vec<Value<'a>>) {
    values.push((*bucket).into());
    values.extend(texts.iter().map(|text| Value::from(*text)));
    values.extend(sums.iter().map(|sum| Value::from(*sum)));
}

/// In the order of the keys, so that two writers never wait for each other crosswise.
pub(super) fn add_up<'a>(bookings: &[&'a Booking]) -> Vec<(Key<'a>, Sums)> {
    // By label first: those of a batch are shared, so that where one lies tells it apart at once.
    let mut parts: HashMap<(i64, *const Label), (&'a Label, Sums)> = HashMap::default();
    for booking in bookings {
        let place = (bucket(booking.at), Arc::as_ptr(&booking.label));
        let (_, sums) = parts.entry(place).or_insert_with(|| (&booking.label, Sums::default()));
        add(sums, &figures(booking));
    }
    let mut table: BTreeMap<Key<'a>, Sums> = BTreeMap::new();
    for ((bucket, _), (label, sums)) in parts {
        add(table.entry((bucket, texts(label))).or_default(), &sums);
    }
    table.into_iter().collect()
}

pub(super) fn bucket(at: Timestamp) -> i64 {
    at.seconds().div_euclid(QUARTER_HOUR) * QUARTER_HOUR
}

/// What changes when calls that are summed up get another cost, by the place of each; in the order of the keys.
pub(super) fn correct<'a>(changes: impl Iterator<Item = (Key<'a>, Sums)>) -> Vec<(Key<'a>, Sums)> {
    let mut table: BTreeMap<Key<'a>, Sums> = BTreeMap::new();
    for (key, change) in changes {
        add(table.entry(key).or_default(), &change);
    }
    table.into_iter().collect()
}

/// What a call adds to the sums when it costs `after` and no longer `before`.
pub(super) fn repriced(consumed: bool, before: Option<[i64; 2]>, after: Option<[i64; 2]>) -> Sums {
    let mut sums = Sums::default();
    for (column, sum) in SUMS.iter().zip(&mut sums) {
        let of = |cost: Option<[i64; 2]>| match *column {
            "input_cost" => cost.unwrap_or_default()[0],
            "output_cost" => cost.unwrap_or_default()[1],
            "priced" => i64::from(cost.is_some()),
            "unpriced" => i64::from(is_unpriced(consumed, cost)),
            _ => 0,
        };
        *sum = of(after) - of(before);
    }
    sums
}

/// A call that consumed nothing lacks no price.
fn is_unpriced(consumed: bool, cost: Option<[i64; 2]>) -> bool {
    consumed && cost.is_none()
}

fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
}

fn texts(label: &Label) -> [&str; KEYS.len() - 1] {
    [
        &label.model,
        &label.provider,
        &label.provider_name,
        &label.user_path,
        &label.auth_key_id,
        &label.tenant_id,
        &label.cache_type,
    ]
}

fn figures(booking: &Booking) -> Sums {
    let class = |class: u16| i64::from(booking.status / 100 == class);
    let [input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output] =
        booking.tokens;
    let [input_cost, output_cost] = booking.cost.unwrap_or_default();
    [
        1,
        i64::from(booking.status >= 400),
        class(2),
        class(3),
        class(4),
        class(5),
        input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        audio_input,
        output,
        reasoning,
        audio_output,
        input_cost,
        output_cost,
        i64::from(booking.cost.is_some()),
        i64::from(is_unpriced(booking.tokens.iter().any(|count| *count > 0), booking.cost)),
        i64::from(booking.estimated),
    ]
}
