//! Exports the audit log as a file, read in pieces as fast as the client reads. CSV contains only data; JSONL ends with
//! a line that marks it as complete. A failed export ends the body without its terminator, so that clients notice.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use store::{AuditCursor, AuditFilter, StoreError};

use super::view::{self, AuditEntryView};
use crate::App;
use crate::csv;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Jsonl,
}

const COLUMNS: [&str; 31] = [
    "id",
    "timestamp",
    "request_id",
    "method",
    "path",
    "status_code",
    "error_type",
    "error_code",
    "error_message",
    "requested_model",
    "resolved_model",
    "provider",
    "provider_name",
    "alias_used",
    "user_path",
    "auth_key_id",
    "auth_method",
    "tenant_id",
    "client_ip",
    "user_agent",
    "session_id",
    "response_id",
    "previous_response_id",
    "stream",
    "cache_type",
    "duration_ms",
    "ttft_ms",
    "attempts",
    "input_tokens",
    "output_tokens",
    "total_cost",
];

struct Export {
    app: Arc<App>,
    filter: AuditFilter,
    format: Format,
    place: Place,
    entries: u64,
}

enum Place {
    Beginning,
    Behind(AuditCursor),
    /// All entries were read: the last line of JSONL is left.
    End,
    Over,
}

pub fn answer(app: Arc<App>, filter: AuditFilter, format: Format) -> Response {
    let (media_type, name) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "audit-log.csv"),
        Format::Jsonl => ("application/jsonl", "audit-log.jsonl"),
    };
    let export = Export { app, filter, format, place: Place::Beginning, entries: 0 };
    let headers = [
        (CONTENT_TYPE, media_type.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, Body::from_stream(stream::try_unfold(export, Export::next))).into_response()
}

impl Export {
    /// Produces the next piece. An error ends the body without its terminator.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, StoreError> {
        let mut text = String::new();
        let after = match &self.place {
            Place::Over => return Ok(None),
            Place::End if self.format == Format::Csv => return Ok(None),
            Place::End => {
                text = format!("{{\"end\":true,\"entries\":{}}}\n", self.entries);
                self.place = Place::Over;
                return Ok(Some((Bytes::from(text), self)));
            }
            Place::Beginning => {
                if self.format == Format::Csv {
                    text = format!("{}\r\n", COLUMNS.join(","));
                }
                None
            }
            Place::Behind(cursor) => Some(cursor),
        };
        let (entries, end) = self.app.refresher.store().audit().piece(&self.filter, after).await?;
        self.entries += entries.len() as u64;
        for entry in entries {
            let shown = view::entry(entry);
            match self.format {
                Format::Csv => row(&mut text, &shown),
                Format::Jsonl => {
                    text.push_str(&serde_json::to_string(&shown).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        self.place = end.map_or(Place::End, Place::Behind);
        Ok(Some((Bytes::from(text), self)))
    }
}

fn row(text: &mut String, entry: &AuditEntryView) {
    let some = |text: &Option<String>| text.clone().unwrap_or_default();
    let usage = entry.usage.as_ref();
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let cells: [String; COLUMNS.len()] = [
        entry.id.clone(),
        entry.timestamp.clone(),
        entry.request_id.clone(),
        entry.method.clone(),
        entry.path.clone(),
        entry.status_code.to_string(),
        some(&entry.error_type),
        some(&entry.error_code),
        some(&entry.data.error_message),
        entry.requested_model.clone(),
        some(&entry.resolved_model),
        some(&entry.provider),
        some(&entry.provider_name),
        entry.alias_used.to_string(),
        entry.user_path.clone(),
        some(&entry.auth_key_id),
        some(&entry.auth_method),
        some(&entry.tenant_id),
        entry.client_ip.clone(),
        entry.data.user_agent.clone(),
        some(&entry.session_id),
        some(&entry.response_id),
        some(&entry.previous_response_id),
        entry.stream.to_string(),
        entry.cache_type.clone(),
        entry.duration_ms.to_string(),
        entry.ttft_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        entry.attempts.len().to_string(),
        count(usage.map(|usage| usage.input_tokens)),
        count(usage.map(|usage| usage.output_tokens)),
        usage.and_then(|usage| usage.total_cost).map(|cost| cost.to_string()).unwrap_or_default(),
    ];
    csv::write_row(text, &cells);
}
