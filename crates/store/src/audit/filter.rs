//! Filters of audit entries, as SQL conditions that the indexes can serve.

use domain::clock::Timestamp;

use super::Audit;
use super::log::AuditCursor;
use super::row::Field;
use crate::StoreError;
use crate::database::{Value, sql};
use crate::ledger::like;

/// Maximum number of entries examined per page for filters that no index serves.
const MOST_EXAMINED: i64 = if cfg!(test) { 50 } else { 200_000 };

#[derive(Clone, Debug)]
pub struct AuditFilter {
    pub from: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
    /// The path and everything below it.
    pub user_path: Option<String>,
    pub requested_model: Option<String>,
    /// The name of an instance or a provider type.
    pub provider: Option<String>,
    pub method: Option<String>,
    /// The path as sent, or the route.
    pub path: Option<String>,
    pub error_type: Option<String>,
    pub status: Option<u16>,
    /// Only calls with a status of 400 or more or an error type, or only the others.
    pub failed: Option<bool>,
    pub stream: Option<bool>,
    pub auth_key_id: Option<String>,
    pub tenant_id: Option<String>,
    pub session_id: Option<String>,
    /// Substring of the request id, model, provider, method, path, error type or error message; case-insensitive.
    pub search: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditSort {
    #[default]
    Newest,
    Oldest,
    Slowest,
    Fastest,
}

impl AuditSort {
    pub(super) fn order(self) -> &'static str {
        match self {
            Self::Newest => "at DESC, id DESC",
            Self::Oldest => "at, id",
            Self::Slowest => "duration_us DESC, at DESC, id DESC",
            Self::Fastest => "duration_us, at, id",
        }
    }

    pub(super) fn is_by_time(self) -> bool {
        matches!(self, Self::Newest | Self::Oldest)
    }
}

impl AuditFilter {
    pub fn between(from: Timestamp, until: Timestamp) -> Self {
        Self {
            from,
            until,
            user_path: None,
            requested_model: None,
            provider: None,
            method: None,
            path: None,
            error_type: None,
            status: None,
            failed: None,
            stream: None,
            auth_key_id: None,
            tenant_id: None,
            session_id: None,
            search: None,
        }
    }

    /// True if the filter consists of the period only.
    pub(super) fn is_everything(&self) -> bool {
        !self.is_unindexed() && self.session_id.is_none() && self.failed.is_none()
    }

    /// True if no index serves the filter, so that rows have to be examined one by one. An index holds the failed calls,
    /// but serves no further condition.
    pub(super) fn is_unindexed(&self) -> bool {
        let texts = [
            &self.user_path,
            &self.requested_model,
            &self.provider,
            &self.method,
            &self.path,
            &self.error_type,
            &self.auth_key_id,
            &self.tenant_id,
            &self.search,
        ];
        self.session_id.is_none()
            && (texts.iter().any(|text| text.is_some())
                || self.status.is_some()
                || self.failed == Some(false)
                || self.stream.is_some())
    }
}

/// A WHERE condition being built, with its bound values.
pub(super) struct Conditions {
    pub text: String,
    fields: Vec<Field>,
}

impl Conditions {
    pub fn new(filter: &AuditFilter) -> Self {
        let mut conditions = Self { text: String::new(), fields: Vec::new() };
        conditions.number("at >= ?", filter.from.micros());
        conditions.number("at < ?", filter.until.micros());
        conditions.below(filter.user_path.as_deref());
        conditions.text("requested_model = ?", filter.requested_model.as_deref());
        conditions.text("(provider = ? OR provider_name = ?)", filter.provider.as_deref());
        conditions.text("method = ?", filter.method.as_deref());
        conditions.text("(path = ? OR endpoint = ?)", filter.path.as_deref());
        conditions.text("error_type = ?", filter.error_type.as_deref());
        conditions.text("auth_key_id = ?", filter.auth_key_id.as_deref());
        conditions.text("tenant_id = ?", filter.tenant_id.as_deref());
        conditions.text("session_id = ?", filter.session_id.as_deref());
        if let Some(status) = filter.status {
            conditions.number("status = ?", status.into());
        }
        match filter.failed {
            // The condition of the index `audit_by_error`, word for word.
            Some(true) => conditions.join("(status >= 400 OR error_type IS NOT NULL)"),
            Some(false) => conditions.join("status < 400 AND error_type IS NULL"),
            None => {}
        }
        if let Some(stream) = filter.stream {
            conditions.number("stream = ?", stream.into());
        }
        let columns = [
            "request_id",
            "requested_model",
            "model",
            "provider",
            "provider_name",
            "method",
            "path",
            "error_type",
            "error_message",
        ];
        let any = columns.map(|column| format!("lower({column}) LIKE ? ESCAPE '!'")).join(" OR ");
        let pattern = filter.search.as_deref().map(like);
        conditions.text(&format!("({any})"), pattern.as_deref());
        conditions
    }

    /// Adds a condition; every `?` in it stands for the same value.
    pub fn add(&mut self, condition: &str, field: Field) {
        self.fields.push(field);
        let placeholder = format!("${}", self.fields.len());
        self.join(&condition.replace('?', &placeholder));
    }

    fn join(&mut self, condition: &str) {
        if !self.text.is_empty() {
            self.text.push_str(" AND ");
        }
        self.text.push_str(condition);
    }

    fn number(&mut self, condition: &str, number: i64) {
        self.add(condition, Field::Integer(Some(number)));
    }

    fn text(&mut self, condition: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.add(condition, Field::Text(Some(text.replace('\0', "\u{fffd}"))));
        }
    }

    /// Restricts to a path and everything below it, as a range: paths below `/a` start with `/a/`, and `0` is the byte
    /// after the slash.
    fn below(&mut self, path: Option<&str>) {
        let Some(path) = path.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty()) else {
            return;
        };
        self.text("(user_path = ? OR (user_path > ? || '/' AND user_path < ? || '0'))", Some(path));
    }

    /// Binds a further value and returns its placeholder for the caller's own SQL.
    pub fn bind(&mut self, number: i64) -> String {
        self.fields.push(Field::Integer(Some(number)));
        format!("${}", self.fields.len())
    }

    /// Restricts to entries before or after a cursor, in the order of time.
    pub fn beside(&mut self, cursor: &AuditCursor, side: &str) {
        let at = self.bind(cursor.at.micros());
        self.fields.push(Field::Text(Some(cursor.id.replace('\0', "\u{fffd}"))));
        self.text.push_str(&format!(" AND (at, id) {side} ({at}, ${})", self.fields.len()));
    }

    pub fn values(&self) -> Vec<Value<'_>> {
        self.fields.iter().map(Field::value).collect()
    }
}

/// The part of a period that is examined for one page.
pub(super) struct ScanRange {
    pub filter: AuditFilter,
    /// The position to continue from, if the end of the period was not reached.
    pub edge: Option<AuditCursor>,
}

impl ScanRange {
    pub fn whole(filter: &AuditFilter) -> Self {
        Self { filter: filter.clone(), edge: None }
    }
}

impl Audit {
    /// Determines how far to examine rows from a position on, for filters that no index serves.
    pub(super) async fn stretch(
        &self,
        filter: &AuditFilter,
        sort: AuditSort,
        after: Option<&AuditCursor>,
    ) -> Result<ScanRange, StoreError> {
        let upwards = sort == AuditSort::Oldest;
        let mut conditions = Conditions::new(&AuditFilter::between(filter.from, filter.until));
        if let Some(cursor) = after {
            conditions.beside(cursor, if upwards { ">" } else { "<" });
        }
        let offset = conditions.bind(MOST_EXAMINED);
        let order = if upwards { AuditSort::Oldest } else { AuditSort::Newest }.order();
        let text = format!(
            "SELECT at FROM audit WHERE {} ORDER BY {order} LIMIT 1 OFFSET {offset}",
            conditions.text
        );
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        let mut stretch = ScanRange::whole(filter);
        if let Some(row) = rows.first() {
            // All entries with this timestamp are examined, so that the cursor does not need an entry id.
            let last = Timestamp(row.get(0)?);
            let beyond = Timestamp(last.micros().saturating_add(1));
            if upwards {
                stretch.filter.until = beyond.min(filter.until);
            } else {
                stretch.filter.from = last;
            }
            let at = if upwards { beyond } else { last };
            stretch.edge = Some(AuditCursor { at, id: String::new() });
        }
        Ok(stretch)
    }
}
