//! Exports the audit log as a file, read in pieces as fast as the client reads. CSV contains only data; JSONL ends with
//! a line that marks it as complete. A failed export ends the body without its terminator, so that clients notice.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::principal::Principal;
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

/// A column of the CSV file: its name and its cell of an entry.
type CsvColumn = (&'static str, fn(&AuditEntryView) -> String);

const COLUMNS: &[CsvColumn] = &[
    ("id", |entry| entry.id.clone()),
    ("timestamp", |entry| entry.timestamp.clone()),
    ("request_id", |entry| entry.request_id.clone()),
    ("method", |entry| entry.method.clone()),
    ("path", |entry| entry.path.clone()),
    ("status_code", |entry| entry.status_code.to_string()),
    ("error_type", |entry| some(&entry.error_type)),
    ("error_code", |entry| some(&entry.error_code)),
    ("error_message", |entry| some(&entry.data.error_message)),
    ("requested_model", |entry| entry.requested_model.clone()),
    ("resolved_model", |entry| some(&entry.resolved_model)),
    ("provider", |entry| some(&entry.provider)),
    ("provider_name", |entry| some(&entry.provider_name)),
    ("alias_used", |entry| entry.alias_used.to_string()),
    ("user_path", |entry| entry.user_path.clone()),
    ("auth_key_id", |entry| some(&entry.auth_key_id)),
    ("auth_method", |entry| some(&entry.auth_method)),
    ("tenant_id", |entry| some(&entry.tenant_id)),
    ("client_ip", |entry| entry.client_ip.clone()),
    ("user_agent", |entry| entry.data.user_agent.clone()),
    ("session_id", |entry| some(&entry.session_id)),
    ("response_id", |entry| some(&entry.response_id)),
    ("previous_response_id", |entry| some(&entry.previous_response_id)),
    ("stream", |entry| entry.stream.to_string()),
    ("cache_type", |entry| entry.cache_type.clone()),
    ("duration_ms", |entry| entry.duration_ms.to_string()),
    ("ttft_ms", |entry| some(&entry.ttft_ms)),
    ("attempts", |entry| entry.attempts.len().to_string()),
    ("input_tokens", |entry| some(&entry.usage.as_ref().map(|usage| usage.input_tokens))),
    ("output_tokens", |entry| some(&entry.usage.as_ref().map(|usage| usage.output_tokens))),
    ("total_cost", |entry| some(&entry.usage.as_ref().and_then(|usage| usage.total_cost))),
    ("workflow_version_id", |entry| some(&entry.workflow_version_id)),
    ("saved_cost", |entry| some(&entry.usage.as_ref().and_then(|usage| usage.saved_cost))),
    ("subject", |entry| some(&entry.subject)),
];

fn some(value: &Option<impl ToString>) -> String {
    value.as_ref().map(ToString::to_string).unwrap_or_default()
}

struct Export {
    app: Arc<App>,
    filter: AuditFilter,
    format: Format,
    reader: Principal,
    place: ExportPosition,
    entries: u64,
}

enum ExportPosition {
    Beginning,
    Behind(AuditCursor),
    /// All entries were read: the last line of JSONL is left.
    End,
    Over,
}

pub fn answer(app: Arc<App>, filter: AuditFilter, format: Format, reader: Principal) -> Response {
    let (media_type, name) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "audit-log.csv"),
        Format::Jsonl => ("application/jsonl", "audit-log.jsonl"),
    };
    let export = Export { app, filter, format, reader, place: ExportPosition::Beginning, entries: 0 };
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
            ExportPosition::Over => return Ok(None),
            ExportPosition::End if self.format == Format::Csv => return Ok(None),
            ExportPosition::End => {
                text = format!("{{\"end\":true,\"entries\":{}}}\n", self.entries);
                self.place = ExportPosition::Over;
                return Ok(Some((Bytes::from(text), self)));
            }
            ExportPosition::Beginning => {
                if self.format == Format::Csv {
                    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
                    text = format!("{}\r\n", names.join(","));
                }
                None
            }
            ExportPosition::Behind(cursor) => Some(cursor),
        };
        let (entries, end) = self.app.refresher.store().audit().piece(&self.filter, after).await?;
        self.entries += entries.len() as u64;
        for entry in entries {
            let shown = view::entry(entry, Some(&self.reader));
            match self.format {
                Format::Csv => row(&mut text, &shown),
                Format::Jsonl => {
                    text.push_str(&serde_json::to_string(&shown).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        self.place = end.map_or(ExportPosition::End, ExportPosition::Behind);
        Ok(Some((Bytes::from(text), self)))
    }
}

fn row(text: &mut String, entry: &AuditEntryView) {
    let cells: Vec<String> = COLUMNS.iter().map(|(_, cell)| cell(entry)).collect();
    csv::write_row(text, &cells);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a receipt that have no column in the CSV file, by reason. The columns are a contract with
    /// spreadsheets: a new one is added at the end.
    const LEFT_OUT: &[(&str, &[&str])] = &[
        ("the path contains it", &["endpoint"]),
        (
            "a column of the usage log, or a detail of it",
            &["run_id", "cost_source", "pricing_version", "raw_usage", "cache_miss", "prompt_cache_savings"],
        ),
        ("in the JSONL export", &["provider_id", "overhead_us", "interrupted", "trace"]),
        ("in the ledger only", &["resumed", "unbooked"]),
    ];

    #[test]
    fn a_field_is_exported_or_left_out_for_a_reason() {
        testkit::assert_shown_except(LEFT_OUT, |receipt| {
            let mut text = String::new();
            row(&mut text, &view::entry(receipt.clone(), None));
            text
        });
    }
}
