//! Which entries are meant, as conditions that the indexes can serve.

use domain::clock::Timestamp;

use super::Audit;
use super::log::AuditCursor;
use super::row::Field;
use crate::StoreError;
use crate::database::Value;
use crate::ledger::like;

/// What no index answers is looked for in so many of the newest entries of the period.
pub(super) const MOST_EXAMINED: i64 = 200_000;

#[derive(Clone, Debug)]
pub struct AuditFilter {
    pub from: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
    /// The path and everything below it.
    pub user_path: Option<String>,
    pub requested_model: Option<String>,
    /// An instance's name or a provider's type.
    pub provider: Option<String>,
    pub method: Option<String>,
    /// As it was written, or the route.
    pub path: Option<String>,
    pub error_type: Option<String>,
    pub status: Option<u16>,
    pub stream: Option<bool>,
    pub auth_key_id: Option<String>,
    pub session_id: Option<String>,
    /// Part of the request id, model, provider, method, path, or the error's type or message, in any case.
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
            stream: None,
            auth_key_id: None,
            session_id: None,
            search: None,
        }
    }

    /// The period alone is asked for.
    pub(super) fn is_everything(&self) -> bool {
        !self.is_unindexed() && self.session_id.is_none()
    }

    /// Rows have to be looked at one by one.
    pub(super) fn is_unindexed(&self) -> bool {
        let texts = [
            &self.user_path,
            &self.requested_model,
            &self.provider,
            &self.method,
            &self.path,
            &self.error_type,
            &self.auth_key_id,
            &self.search,
        ];
        self.session_id.is_none()
            && (texts.iter().any(|text| text.is_some()) || self.status.is_some() || self.stream.is_some())
    }
}

/// A condition under way, with what it is bound to.
pub(super) struct Conditions {
    pub text: String,
    fields: Vec<Field>,
}

impl Conditions {
    /// `floor` is the earliest moment that is looked at.
    pub fn new(filter: &AuditFilter, floor: Timestamp) -> Self {
        let mut conditions = Self { text: String::new(), fields: Vec::new() };
        conditions.number("at >= ?", floor.max(filter.from).micros());
        conditions.number("at < ?", filter.until.micros());
        conditions.below(filter.user_path.as_deref());
        conditions.text("requested_model = ?", filter.requested_model.as_deref());
        conditions.text("(provider = ? OR provider_name = ?)", filter.provider.as_deref());
        conditions.text("method = ?", filter.method.as_deref());
        conditions.text("(path = ? OR endpoint = ?)", filter.path.as_deref());
        conditions.text("error_type = ?", filter.error_type.as_deref());
        conditions.text("auth_key_id = ?", filter.auth_key_id.as_deref());
        conditions.text("session_id = ?", filter.session_id.as_deref());
        if let Some(status) = filter.status {
            conditions.number("status = ?", status.into());
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

    /// Adds a condition; each `?` stands for the same value.
    pub fn add(&mut self, condition: &str, field: Field) {
        self.fields.push(field);
        let placeholder = format!("${}", self.fields.len());
        if !self.text.is_empty() {
            self.text.push_str(" AND ");
        }
        self.text.push_str(&condition.replace('?', &placeholder));
    }

    fn number(&mut self, condition: &str, number: i64) {
        self.add(condition, Field::Integer(Some(number)));
    }

    fn text(&mut self, condition: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.add(condition, Field::Text(Some(text.replace('\0', "\u{fffd}"))));
        }
    }

    /// Everything below `/a` begins with `/a/`, and `0` is the byte after the slash.
    fn below(&mut self, path: Option<&str>) {
        let Some(path) = path.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty()) else {
            return;
        };
        self.text("(user_path = ? OR (user_path > ? || '/' AND user_path < ? || '0'))", Some(path));
    }

    /// A further value, which the caller's own text names by the returned placeholder.
    pub fn bind(&mut self, number: i64) -> String {
        self.fields.push(Field::Integer(Some(number)));
        format!("${}", self.fields.len())
    }

    /// On one side of an entry, in the order of time.
    pub fn beside(&mut self, cursor: &AuditCursor, side: &str) {
        let at = self.bind(cursor.at.micros());
        self.fields.push(Field::Text(Some(cursor.id.replace('\0', "\u{fffd}"))));
        self.text.push_str(&format!(" AND (at, id) {side} ({at}, ${})", self.fields.len()));
    }

    pub fn values(&self) -> Vec<Value<'_>> {
        self.fields.iter().map(Field::value).collect()
    }
}

impl Audit {
    /// Where to stop looking, when rows are looked at one by one; and whether that leaves any out.
    pub(super) async fn floor(&self, filter: &AuditFilter) -> Result<(Timestamp, bool), StoreError> {
        const LAST: &str =
            "SELECT at FROM audit WHERE at >= $1 AND at < $2 ORDER BY at DESC, id DESC LIMIT 1 OFFSET $3";
        let values = [filter.from.micros().into(), filter.until.micros().into(), MOST_EXAMINED.into()];
        let rows = self.database.fetch(LAST, &values).await?;
        Ok(match rows.first() {
            Some(row) => (Timestamp(row.get(0)?), true),
            None => (filter.from, false),
        })
    }
}
