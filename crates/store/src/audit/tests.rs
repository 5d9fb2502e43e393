//! The audit log on both databases: exactly-once entries, tamper detection, retention.

mod chains;
mod filters;
mod reading;

use domain::clock::Timestamp;
use domain::receipt::{Audited, Receipt};

use crate::ShardId;
use crate::testing::{journal, journal_config, receipt};
use crate::{
    AuditCursor, AuditEntry, AuditFilter, AuditPage, AuditSlice, AuditSort, AuditTotal, Drainer, Journal,
    Store,
};

fn audited(id: &str) -> Receipt {
    let audit = Audited {
        path: "/v1/chat/completions".into(),
        request_headers: vec![("accept".into(), "*/*".into())],
        request_body: Some(format!("{{\"n\":\"{id}\"}}\nsecond line \0")),
        response_body: Some("{}".into()),
        ..Audited::default()
    };
    Receipt { audit: Some(Box::new(audit)), ..receipt(id) }
}

fn at(id: &str, seconds: i64) -> Receipt {
    Receipt { at: Timestamp::from_seconds(seconds), ..audited(id) }
}

fn everything() -> AuditFilter {
    AuditFilter::between(Timestamp(0), Timestamp(i64::MAX))
}

/// A part of the entries, with their number.
fn slice(limit: i64, offset: i64, after: Option<&AuditCursor>) -> AuditSlice<'_> {
    AuditSlice { limit, offset, after, with_total: true, with_data: true }
}

/// The number of matching entries, which is exact.
fn exactly(entries: i64) -> Option<AuditTotal> {
    Some(AuditTotal { entries, is_exact: true })
}

async fn page(store: &Store, filter: &AuditFilter) -> AuditPage {
    store.audit().page(filter, AuditSort::Oldest, slice(1000, 0, None)).await.unwrap()
}

async fn ids(store: &Store) -> Vec<String> {
    page(store, &everything()).await.entries.into_iter().map(|entry| entry.id).collect()
}

/// Writes receipts to a journal and drains it into the store.
async fn fill(store: &Store, receipts: Vec<Receipt>) {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(journal_config(directory.path()));
    write(&journal, &receipts);
    Drainer::new(journal, store.clone()).drain_all().await;
}

fn write(journal: &Journal, receipts: &[Receipt]) {
    receipts.iter().for_each(|receipt| journal.close_call(receipt, ShardId::SHARED).unwrap());
}

async fn entry(store: &Store, id: &str) -> AuditEntry {
    store.audit().find(id).await.unwrap().unwrap()
}
