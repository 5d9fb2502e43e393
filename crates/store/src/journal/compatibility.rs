//! Compatibility with journals of earlier builds: a segment that one of them wrote is read, booked and audited.

use std::path::Path;

use domain::clock::Timestamp;
use serde_json::{Value, json};

use crate::database::sql;
use crate::testing::{for_each_backend, journal, journal_config};
use crate::{AuditEntry, Drainer, Store, UsageFilter};

/// The segment of a process that was killed: a receipt in which every field has a value, the receipt of an ordinary
/// call, a receipt for the audit log only, and a call that was never closed.
struct Golden {
    segment: &'static [u8],
    /// The rows that it has to become.
    rows: &'static str,
}

/// By the builds that encoded records as JSON.
const JSON: Golden = Golden {
    segment: include_bytes!("testdata/gatejnl1.journal"),
    rows: include_str!("testdata/gatejnl1.rows"),
};
/// By the first build with the binary encoding.
const BINARY: Golden = Golden {
    segment: include_bytes!("testdata/gatejnl1-binary.journal"),
    rows: include_str!("testdata/gatejnl1-binary.rows"),
};
/// The receipts that the usage log has to read from these rows, without default values.
const RECEIPTS: &str = include_str!("testdata/gatejnl1.receipts");

const USAGE: &str = "at, id, request_id, provider_id, model, requested_model, provider, provider_name, endpoint, \
    user_path, auth_key_id, tenant_id, cache_type, status, stream, estimated, input, cache_read, cache_write_5m, \
    cache_write_1h, audio_input, output, reasoning, audio_output, input_cost, output_cost, cost_source, duration_us, \
    first_byte_us, run, detail";
const AUDIT: &str = "at, id, request_id, method, path, endpoint, requested_model, model, provider, provider_name, \
    user_path, auth_key_id, tenant_id, session_id, response_id, previous_response_id, thread, parent, cache_type, \
    status, stream, error_type, error_code, error_message, duration_us, first_byte_us, overhead_us, request_body, \
    response_body";

#[tokio::test]
async fn a_segment_of_an_earlier_build_is_booked_and_audited() {
    for golden in [JSON, BINARY] {
        let golden = &golden;
        for_each_backend(|store| async move { check(golden, &store).await }).await;
    }
}

async fn check(golden: &Golden, store: &Store) {
    let root = tempfile::tempdir().unwrap();
    leave_segment(root.path(), golden.segment);
    let journal = journal(journal_config(root.path()));
    Drainer::new(journal, store.clone()).drain_all().await;
    let mut found = rows(store, "usage", USAGE).await;
    found.push_str(&rows(store, "audit", AUDIT).await);
    let (expected, documents) = golden.rows.split_at(golden.rows.find("data ").unwrap());
    assert_eq!(found, expected);
    for (id, document) in ["complete", "refused"].into_iter().zip(documents.lines()) {
        let entry = store.audit().find(id).await.unwrap().unwrap();
        let expected: Value = serde_json::from_str(document.strip_prefix("data ").unwrap()).unwrap();
        assert_eq!(without_defaults(shown(&entry)), without_defaults(expected));
    }
    let everything = UsageFilter::between(Timestamp(0), Timestamp(i64::MAX));
    let (receipts, _) = store.ledger().log(&everything, 10, 0).await.unwrap();
    for line in RECEIPTS.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let read = receipts.iter().find(|receipt| expected["id"] == receipt.id).unwrap();
        assert_eq!(without_defaults(serde_json::to_value(read).unwrap()), expected);
    }
}

/// The fields of an entry that have no column, under the names that earlier builds store them by.
fn shown(entry: &AuditEntry) -> Value {
    let audited = entry.audit.as_deref().unwrap();
    json!({
        "auth_method": entry.auth_method,
        "client_ip": entry.client_ip,
        "user_agent": entry.user_agent,
        "provider_id": entry.provider_id,
        "query": audited.query,
        "reason": audited.reason,
        "alias_used": entry.alias_used,
        "interrupted": entry.interrupted,
        "attempts": entry.attempts,
        "tokens": entry.usage.tokens,
        "estimated": entry.usage.estimated,
        "input_cost": entry.cost.map(|cost| cost.input),
        "output_cost": entry.cost.map(|cost| cost.output),
        "cost_source": entry.cost_source,
        "trace_id": entry.trace.as_ref().map(|trace| &trace.trace_id),
        "request_headers": audited.request_headers,
        "response_headers": audited.response_headers,
        "request_truncated": audited.request_truncated,
        "response_truncated": audited.response_truncated,
        "request_lossy": audited.request_lossy,
        "response_lossy": audited.response_lossy,
    })
}

fn without_defaults(mut document: Value) -> Value {
    let defaults = [json!(null), json!(""), json!(false), json!(0), json!([])];
    document.as_object_mut().unwrap().retain(|_, value| !defaults.contains(value));
    document
}

/// Puts the segment where a process that ended would have left it.
fn leave_segment(root: &Path, segment: &[u8]) {
    let directory = root.join("ended");
    std::fs::create_dir(&directory).unwrap();
    let id = std::str::from_utf8(&segment[8..40]).unwrap();
    std::fs::write(directory.join(format!("0000000001-{id}.journal")), segment).unwrap();
}

/// Every row of a table as a line, with one `column=value` after the other; columns that are NULL are left out.
async fn rows(store: &Store, table: &str, columns: &str) -> String {
    let names: Vec<&str> = columns.split(", ").collect();
    let texts: Vec<String> = names.iter().map(|name| format!("CAST({name} AS TEXT)")).collect();
    let query = sql(format!("SELECT {} FROM {table} ORDER BY at, id", texts.join(", ")));
    let mut lines = String::new();
    for row in store.database().fetch(query, &[]).await.unwrap() {
        lines.push_str(table);
        for (index, name) in names.iter().enumerate() {
            if let Some(text) = row.get::<Option<String>>(index).unwrap() {
                lines.push_str(&format!(" {name}={text:?}"));
            }
        }
        lines.push('\n');
    }
    lines
}
