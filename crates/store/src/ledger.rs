//! The ledger: usage and cost of every call, in rows and in sums per quarter hour and day.

pub(crate) mod booking;
mod cache_usage;
pub(crate) mod column;
mod compaction;
mod delta;
mod histogram;
pub(crate) mod leases;
pub(crate) mod ledger_writer;
mod log;
mod recalculate;
mod reports;
pub(crate) mod rollup;
pub(crate) mod spending;
mod summary;
#[cfg(test)]
mod tests;
mod unpriced;
mod usage_insert;
mod uses;

use domain::clock::Timestamp;

use crate::StoreError;
use crate::database::{Database, Value};
use crate::expiry::ExpiringTable;
use crate::ledger::leases::BudgetLeases;
use crate::ledger::ledger_writer::LedgerWriter;
use crate::ledger::spending::Turns;

pub use crate::ledger::cache_usage::CacheUsage;
pub use crate::ledger::histogram::Histogram;
pub use crate::ledger::log::{LogPage, LogPlace, LogSlice};
pub use crate::ledger::recalculate::{Consumed, Recalculated, Repriced};
pub use crate::ledger::reports::{Figures, Line, Report, Step};
pub use crate::ledger::rollup::Axis;
pub use crate::ledger::summary::UsageSummary;
pub use crate::ledger::unpriced::UnpricedUsage;

pub(crate) const EXPIRING: ExpiringTable = ExpiringTable { name: "usage", time: "at", key: "at, id" };

#[derive(Clone)]
pub struct Ledger {
    pub(crate) database: Database,
    pub(crate) writer: LedgerWriter,
    pub(crate) turns: Turns,
    pub(crate) leases: BudgetLeases,
}

/// Selects responses from providers, from our cache, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    Uncached,
    Cached,
    #[default]
    All,
}

#[derive(Clone, Debug)]
pub struct UsageFilter {
    pub from: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
    /// The path and everything below it.
    pub user_path: Option<String>,
    pub cache: CacheMode,
    pub model: Option<String>,
    /// The name of an instance or a provider type.
    pub provider: Option<String>,
    /// Substring of the model, provider, request id or provider id; case-insensitive.
    pub search: Option<String>,
    /// Empty for the master key.
    pub auth_key_id: Option<String>,
    pub tenant_id: Option<String>,
}

impl UsageFilter {
    pub fn between(from: Timestamp, until: Timestamp) -> Self {
        Self {
            from,
            until,
            user_path: None,
            cache: CacheMode::All,
            model: None,
            provider: None,
            search: None,
            auth_key_id: None,
            tenant_id: None,
        }
    }
}

impl Ledger {
    pub(crate) fn new(database: Database) -> Self {
        let writer = LedgerWriter::new(database.is_postgres());
        let leases = BudgetLeases::new(database.clone());
        Self { database, writer, turns: Turns::default(), leases }
    }

    /// The leases on budgets that replicas share.
    pub fn leases(&self) -> &BudgetLeases {
        &self.leases
    }

    /// Books receipts that did not pass through a journal, for tests and the generator; each id counts once.
    #[cfg(any(test, feature = "generate"))]
    pub async fn book(&self, receipts: &[domain::receipt::Receipt]) -> Result<(), StoreError> {
        let bookings = receipts.iter().map(booking::Booking::of);
        let bookings = bookings.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
        for one_at_a_time in [false, true] {
            let mut open = self.database.begin().await?;
            if self.writer.book(&mut open, &bookings, one_at_a_time).await?.is_some() {
                return open.commit().await;
            }
        }
        Err(StoreError::Failed("receipts were neither new nor known".into()))
    }

    /// The number of rows in the usage table.
    pub async fn count(&self) -> Result<i64, StoreError> {
        let rows = self.database.fetch("SELECT COUNT(*) FROM usage", &[]).await?;
        rows.first().ok_or(StoreError::NotFound)?.get(0)
    }

    /// Deletes rows of calls before a time, `batch` at a time, oldest first; sums are kept. Each batch is a separate
    /// transaction with a pause after it, so that booking is not blocked.
    pub async fn delete_before(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        EXPIRING.delete_before(&self.database, before, batch).await
    }
}

/// A filter, prepared for binding.
pub(crate) struct Conditions {
    user_path: String,
    below_from: String,
    below_until: String,
    cache: CacheMode,
    model: String,
    provider: String,
    auth_key_id: Option<String>,
    tenant_id: Option<String>,
    search: String,
}

impl Conditions {
    pub fn new(filter: &UsageFilter) -> Self {
        let text = |field: &Option<String>| field.as_deref().unwrap_or_default().replace('\0', "\u{fffd}");
        let user_path = text(&filter.user_path);
        let user_path = user_path.trim_end_matches('/');
        Self {
            // Paths below `/a` start with `/a/`, and `0` is the byte after the slash.
            below_from: format!("{user_path}/"),
            below_until: format!("{user_path}0"),
            user_path: user_path.to_owned(),
            cache: filter.cache,
            model: text(&filter.model),
            provider: text(&filter.provider),
            auth_key_id: filter.auth_key_id.as_ref().map(|_| text(&filter.auth_key_id)),
            tenant_id: filter.tenant_id.as_ref().map(|_| text(&filter.tenant_id)),
            search: like(&text(&filter.search)),
        }
    }

    pub fn has_search(&self) -> bool {
        !self.search.is_empty()
    }

    /// Appends the conditions that apply to both rows and sums as ` AND …`, and their values.
    pub fn append<'a>(&'a self, text: &mut String, values: &mut Vec<Value<'a>>) {
        let first = values.len() + 1;
        if !self.user_path.is_empty() {
            let (second, third) = (first + 1, first + 2);
            text.push_str(&format!(
                " AND (user_path = ${first} OR (user_path >= ${second} AND user_path < ${third}))"
            ));
            values.extend([&self.user_path, &self.below_from, &self.below_until].map(Value::from));
        }
        match self.cache {
            CacheMode::All => {}
            CacheMode::Uncached => text.push_str(" AND cache_type = ''"),
            CacheMode::Cached => text.push_str(" AND cache_type <> ''"),
        }
        for (value, condition) in
            [(&self.model, "model = $"), (&self.provider, "$ IN (provider, provider_name)")]
        {
            if !value.is_empty() {
                values.push(value.into());
                text.push_str(&format!(" AND {}", condition.replace('$', &format!("${}", values.len()))));
            }
        }
        // An empty id stands for calls without a key: those of the master key.
        if let Some(id) = &self.auth_key_id {
            values.push(id.into());
            text.push_str(&format!(" AND auth_key_id = ${}", values.len()));
        }
        // A missing tenant is NULL in rows and empty in sums.
        if let Some(tenant) = &self.tenant_id {
            values.push(tenant.into());
            text.push_str(&format!(" AND COALESCE(tenant_id, '') = ${}", values.len()));
        }
    }

    /// True for a label to which the conditions of `append` apply; the texts are those of `rollup::AXES`.
    pub fn cover(&self, texts: &[&str; rollup::AXES.len()]) -> bool {
        let text = |axis: Axis| texts[axis as usize];
        let path = text(Axis::UserPath);
        let below = self.below_from.as_str()..self.below_until.as_str();
        let within = self.user_path.is_empty() || path == self.user_path || below.contains(&path);
        let is_cached = !text(Axis::CacheType).is_empty();
        let providers = [text(Axis::Provider), text(Axis::ProviderName)];
        within
            && (self.cache == CacheMode::All || is_cached == (self.cache == CacheMode::Cached))
            && (self.model.is_empty() || text(Axis::Model) == self.model)
            && (self.provider.is_empty() || providers.contains(&self.provider.as_str()))
            && self.auth_key_id.as_ref().is_none_or(|id| text(Axis::AuthKeyId) == id)
            && self.tenant_id.as_ref().is_none_or(|tenant| text(Axis::TenantId) == tenant)
    }

    /// Appends the search condition, which applies to rows only.
    pub fn append_search<'a>(&'a self, text: &mut String, values: &mut Vec<Value<'a>>) {
        const SEARCHED: [&str; 5] = ["model", "provider", "provider_name", "request_id", "provider_id"];
        if self.has_search() {
            values.push((&self.search).into());
            let place = values.len();
            let like = SEARCHED.map(|column| format!("lower({column}) LIKE ${place} ESCAPE '!'"));
            text.push_str(&format!(" AND ({})", like.join(" OR ")));
        }
    }
}

/// A LIKE pattern that finds the text anywhere; `%` and `_` in it are escaped.
pub(crate) fn like(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character.to_ascii_lowercase());
    }
    pattern.push('%');
    pattern
}
