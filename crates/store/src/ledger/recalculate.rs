//! Recalculates costs from current prices: rows and sums change in the same transaction, batch by batch, so that they
//! always agree.

use std::collections::BTreeMap;

use domain::caveat::Caveat;
use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::CostSource;
use domain::usage::Tokens;
use serde_json::value::{RawValue, to_raw_value};

use super::booking::read_tokens;
use super::column::{Column, bounded_cost, cost_source_number};
use super::rollup::{self, AXES, Axis};
use super::{Conditions, Ledger, UsageFilter};
use crate::StoreError;
use crate::database::{Row, Value, Writing, sql};

/// Rows read at a time.
const BATCH: i64 = 1_000;
/// Rows per transaction: small enough that receipts booked meanwhile do not wait long, and that a distant database
/// executes the statements within the operation timeout.
const PIECE: usize = 100;
/// Number of rows between two progress messages in the log.
const TOLD_EVERY: u64 = 50_000;

/// The usage of a call and its provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumed {
    pub model: String,
    /// The provider type.
    pub provider: String,
    /// The provider instance.
    pub provider_name: String,
    /// The tenant of the caller; empty if it has none.
    pub tenant: String,
    pub tokens: Tokens,
    /// Generated images.
    pub images: u64,
}

impl Consumed {
    fn is_nothing(&self) -> bool {
        self.tokens.total() == 0 && self.images == 0
    }
}

/// The new cost of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Repriced {
    pub cost: Cost,
    /// The cost that the prompt cache of the provider saved.
    pub savings: Option<Nanos>,
    /// The version of the price, unless it is the catalogue price.
    pub version: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recalculated {
    /// Calls that match the filter.
    pub matched: u64,
    /// Calls whose cost changed.
    pub recalculated: u64,
    /// Calls that were examined and have a price.
    pub with_pricing: u64,
    /// Calls that were examined and have no price.
    pub without_pricing: u64,
}

/// A call in the ledger.
struct Entry {
    at: i64,
    id: String,
    /// The texts of `AXES`.
    labels: [String; AXES.len()],
    consumed: Consumed,
    cost: Option<[i64; 2]>,
    savings: Option<i64>,
    source: CostSource,
    detail: BTreeMap<String, Box<RawValue>>,
}

/// An entry with its new cost.
struct Change {
    entry: Entry,
    cost: Option<[i64; 2]>,
    savings: Option<i64>,
    source: CostSource,
    detail: Option<String>,
}

type Price<'a> = &'a mut (dyn FnMut(&Consumed) -> Option<Repriced> + Send);

impl Ledger {
    /// Recalculates the costs of calls. Costs reported by a provider are kept, and so are those of calls that several
    /// providers served, because the tokens of each are not known. Answers from the cache cost nothing at any price:
    /// they keep their cost and their saved cost. Calls without usage are not changed. A call whose model has no price
    /// now gets no cost.
    pub async fn recalculate(
        &self,
        filter: &UsageFilter,
        price: Price<'_>,
    ) -> Result<Recalculated, StoreError> {
        let conditions = Conditions::new(filter);
        let mut done = Recalculated::default();
        let mut told = 0;
        let mut place = (filter.from.micros(), String::new());
        loop {
            let entries = self.next(&conditions, &place, filter.until.micros()).await?;
            let (count, last) =
                (entries.len() as i64, entries.last().map(|entry| (entry.at, entry.id.clone())));
            self.change(entries, &mut *price, &mut done).await?;
            match last {
                Some(last) if count == BATCH => place = last,
                _ => return Ok(done),
            }
            if done.matched - told >= TOLD_EVERY {
                told = done.matched;
                tracing::info!(done.matched, done.recalculated, "recalculating costs");
            }
        }
    }

    /// The calls after a position, in the order of the table.
    async fn next(
        &self,
        conditions: &Conditions,
        (at, id): &(i64, String),
        until: i64,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut text = format!(
            "SELECT at, id, {}, {}, input_cost, output_cost, cost_source, detail, prompt_cache_savings FROM usage \
             WHERE at >= $1 AND at < $2 AND (at > $1 OR id > $3)",
            AXES.map(Axis::column).join(", "),
            Tokens::BUCKETS.join(", ")
        );
        let mut values = vec![Value::from(*at), until.into(), id.into()];
        conditions.append(&mut text, &mut values);
        text.push_str(&format!(" ORDER BY at, id LIMIT {BATCH}"));
        self.database.fetch(sql(text), &values).await?.iter().map(read).collect()
    }

    async fn change(
        &self,
        entries: Vec<Entry>,
        price: Price<'_>,
        done: &mut Recalculated,
    ) -> Result<(), StoreError> {
        let mut counted = *done;
        let changes: Vec<Change> =
            entries.into_iter().filter_map(|entry| anew(entry, &mut *price, &mut counted)).collect();
        for piece in changes.chunks(PIECE) {
            counted.recalculated += self.database.limited(self.write(piece)).await?;
        }
        *done = counted;
        Ok(())
    }

    /// Writes changes. A row that was changed or removed since it was read is left alone, and so are its sums.
    async fn write(&self, changes: &[Change]) -> Result<u64, StoreError> {
        let mut open = self.database.begin().await?;
        let mut changed = Vec::with_capacity(changes.len());
        for change in changes {
            if change.write(&mut open).await? {
                changed.push(change);
            }
        }
        let sums = rollup::gather(changed.iter().map(|change| change.difference()));
        self.writer.add_to_rollups(&mut open, sums).await?;
        open.commit().await?;
        Ok(changed.len() as u64)
    }
}

/// Calculates the new cost of an entry; `None` if neither cost nor cost source changes.
fn anew(entry: Entry, price: Price<'_>, done: &mut Recalculated) -> Option<Change> {
    done.matched += 1;
    let mut caveats = text(&entry.detail, "caveat");
    let several = [Caveat::Resumed, Caveat::AnswerLost].iter().any(|caveat| caveat.is_in(caveats.as_deref()));
    let cached = !entry.labels[Axis::CacheType as usize].is_empty();
    let is_final = matches!(entry.source, CostSource::ProviderReported | CostSource::Client);
    let kept = is_final || several || cached;
    if kept || entry.consumed.is_nothing() {
        return None;
    }
    let priced = price(&entry.consumed);
    *(if priced.is_some() { &mut done.with_pricing } else { &mut done.without_pricing }) += 1;
    let source = if priced.is_some() { CostSource::ModelPricing } else { CostSource::None };
    let cost = priced.as_ref().map(|priced| [priced.cost.input.0, priced.cost.output.0].map(bounded_cost));
    let savings = priced.as_ref().and_then(|priced| priced.savings).map(|savings| bounded_cost(savings.0));
    if cost == entry.cost && source == entry.source && savings == entry.savings {
        return None;
    }
    let mut detail = entry.detail.clone();
    set(&mut detail, "pricing_version", priced.and_then(|priced| priced.version));
    let unpriced = cost.is_none() && entry.consumed.tokens.total() > 0;
    Caveat::Unpriced.remove_from(&mut caveats);
    if unpriced {
        Caveat::Unpriced.add_to(&mut caveats);
    }
    set(&mut detail, "caveat", caveats);
    let detail = Some(detail).filter(|detail| !detail.is_empty());
    let detail = detail.and_then(|detail| serde_json::to_string(&detail).ok());
    Some(Change { entry, cost, savings, source, detail })
}

impl Change {
    async fn write(&self, open: &mut Writing) -> Result<bool, StoreError> {
        const UPDATE: &str = "UPDATE usage SET input_cost = $1, output_cost = $2, cost_source = $3, detail = $4, \
             prompt_cache_savings = $10 WHERE at = $5 AND id = $6 AND cost_source = $7 AND input_cost IS NOT DISTINCT FROM $8 \
             AND output_cost IS NOT DISTINCT FROM $9 AND prompt_cache_savings IS NOT DISTINCT FROM $11";
        let half = |cost: Option<[i64; 2]>, index: usize| Value::from(cost.map(|cost| cost[index]));
        let before = self.entry.cost;
        let values = [
            half(self.cost, 0),
            half(self.cost, 1),
            cost_source_number(self.source).into(),
            self.detail.as_deref().into(),
            self.entry.at.into(),
            (&self.entry.id).into(),
            cost_source_number(self.entry.source).into(),
            half(before, 0),
            half(before, 1),
            self.savings.into(),
            self.entry.savings.into(),
        ];
        Ok(open.execute(UPDATE, &values).await? == 1)
    }

    fn difference(&self) -> (rollup::Key<'_>, rollup::Sums) {
        let Entry { at, labels, consumed, cost, savings, .. } = &self.entry;
        let sums = rollup::Sums::repriced(consumed.tokens.total() > 0, *cost, self.cost);
        let sums = sums.with_savings(*savings, self.savings);
        (rollup::key(Timestamp(*at), labels.each_ref().map(String::as_str)), sums)
    }
}

fn read(row: &Row) -> Result<Entry, StoreError> {
    const LABELS: usize = 2;
    const TOKENS: usize = LABELS + AXES.len();
    const COSTS: usize = TOKENS + Tokens::BUCKETS.len();
    let mut labels = [const { String::new() }; AXES.len()];
    for (index, label) in labels.iter_mut().enumerate() {
        *label = Column::read(row, LABELS + index)?;
    }
    let cost = row.get::<Option<i64>>(COSTS)?.zip(row.get::<Option<i64>>(COSTS + 1)?);
    let detail = row.get::<Option<String>>(COSTS + 3)?;
    let detail = detail.map_or(Ok(BTreeMap::new()), |detail| serde_json::from_str(&detail));
    let detail: BTreeMap<String, Box<RawValue>> =
        detail.map_err(|error| StoreError::Corrupt(format!("a usage row: {error}")))?;
    let images = detail.get("images").and_then(|images| images.get().parse().ok()).unwrap_or(0);
    let label = |axis: Axis| labels[axis as usize].clone();
    let consumed = Consumed {
        model: label(Axis::Model),
        provider: label(Axis::Provider),
        provider_name: label(Axis::ProviderName),
        tenant: label(Axis::TenantId),
        tokens: read_tokens(row, TOKENS)?,
        images,
    };
    Ok(Entry {
        at: row.get(0)?,
        id: row.get(1)?,
        labels,
        consumed,
        cost: cost.map(|(input, output)| [input, output]),
        savings: row.get(COSTS + 4)?,
        source: Column::read(row, COSTS + 2)?,
        detail,
    })
}

fn text(detail: &BTreeMap<String, Box<RawValue>>, name: &str) -> Option<String> {
    serde_json::from_str(detail.get(name)?.get()).ok()
}

fn set(detail: &mut BTreeMap<String, Box<RawValue>>, name: &str, value: Option<String>) {
    match value.and_then(|value| to_raw_value(&value).ok()) {
        Some(value) => drop(detail.insert(name.to_owned(), value)),
        None => drop(detail.remove(name)),
    }
}

#[cfg(test)]
mod tests;
