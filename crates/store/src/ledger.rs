//! The ledger: what every call consumed and cost, row by row and in sums by the quarter hour.

pub(crate) mod booking;
pub(crate) mod books;
mod log;
pub(crate) mod rollup;
mod summary;
#[cfg(test)]
mod tests;

use domain::clock::Timestamp;

use crate::StoreError;
use crate::database::{Database, Value};
use crate::ledger::books::Books;

pub use crate::ledger::log::UsageRow;
pub use crate::ledger::summary::UsageSummary;

#[derive(Clone)]
pub struct Ledger {
    pub(crate) database: Database,
    pub(crate) books: Books,
}

/// Which answers count: those from a provider, those from our cache, or both.
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
    /// An instance's name or a provider's type.
    pub provider: Option<String>,
    /// Part of the model, the provider, the request id or the provider's id, in any case.
    pub search: Option<String>,
    pub auth_key_id: Option<String>,
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
        }
    }
}

impl Ledger {
    pub(crate) fn new(database: Database) -> Self {
        let books = Books::new(database.is_postgres());
        Self { database, books }
    }

    /// How many rows the usage table holds.
    pub async fn count(&self) -> Result<i64, StoreError> {
        let rows = self.database.fetch("SELECT COUNT(*) FROM usage", &[]).await?;
        rows.first().ok_or(StoreError::NotFound)?.get(0)
    }

    /// Forgets the rows of older calls, `batch` at a time, oldest first; the sums stay.
    pub async fn delete_before(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        const OLDEST: &str = "DELETE FROM usage WHERE (at, id) IN (SELECT at, id FROM usage WHERE at < $1 ORDER BY at, id LIMIT $2)";
        let batch = batch.max(1);
        let mut deleted = 0;
        loop {
            let count = self.database.execute(OLDEST, &[before.micros().into(), batch.into()]).await?;
            deleted += count;
            if count < batch as u64 {
                return Ok(deleted);
            }
        }
    }
}

/// The conditions that usage rows and rollups share; `$1` and `$2` are the range of time.
macro_rules! conditions {
    () => {
        " AND ($3 = '' OR user_path = $3 OR (user_path >= $4 AND user_path < $5)) \
         AND ($6 = 0 OR ($6 = 1 AND cache_type = '') OR ($6 = 2 AND cache_type <> '')) \
         AND ($7 = '' OR model = $7) AND ($8 = '' OR provider = $8 OR provider_name = $8) \
         AND ($9 = '' OR auth_key_id = $9)"
    };
}
/// Only rows can be searched.
macro_rules! search {
    () => {
        " AND ($10 = '' OR lower(model) LIKE $10 ESCAPE '!' OR lower(provider) LIKE $10 ESCAPE '!' \
         OR lower(provider_name) LIKE $10 ESCAPE '!' OR lower(request_id) LIKE $10 ESCAPE '!' \
         OR lower(provider_id) LIKE $10 ESCAPE '!')"
    };
}
pub(crate) use {conditions, search};

/// A filter in the form in which it is bound.
struct Conditions {
    user_path: String,
    below_from: String,
    below_until: String,
    cache: i64,
    model: String,
    provider: String,
    auth_key_id: String,
    search: String,
}

impl Conditions {
    fn new(filter: &UsageFilter) -> Self {
        let text = |field: &Option<String>| field.as_deref().unwrap_or_default().replace('\0', "\u{fffd}");
        let user_path = text(&filter.user_path);
        let user_path = user_path.trim_end_matches('/');
        Self {
            // Everything below `/a` begins with `/a/`, and `0` is the byte after the slash.
            below_from: format!("{user_path}/"),
            below_until: format!("{user_path}0"),
            user_path: user_path.to_owned(),
            cache: match filter.cache {
                CacheMode::All => 0,
                CacheMode::Uncached => 1,
                CacheMode::Cached => 2,
            },
            model: text(&filter.model),
            provider: text(&filter.provider),
            auth_key_id: text(&filter.auth_key_id),
            search: like(&text(&filter.search)),
        }
    }

    fn values(&self, from: i64, until: i64) -> [Value<'_>; 9] {
        [
            from.into(),
            until.into(),
            (&self.user_path).into(),
            (&self.below_from).into(),
            (&self.below_until).into(),
            self.cache.into(),
            (&self.model).into(),
            (&self.provider).into(),
            (&self.auth_key_id).into(),
        ]
    }

    fn values_with_search(&self, from: i64, until: i64) -> Vec<Value<'_>> {
        let mut values = self.values(from, until).to_vec();
        values.push((&self.search).into());
        values
    }
}

/// A pattern that finds the text itself anywhere: its own `%` and `_` stand for themselves.
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
