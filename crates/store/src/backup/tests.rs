//! Backups taken while calls are journalled, drained and deleted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::Timestamp;

use super::*;
use crate::ShardId;
use crate::testing::{journal, journal_config, open as open_store, opening, receipt};
use crate::{Backend, Drainer, JournalConfig, Store, UsageFilter};

async fn ids(store: &Store) -> BTreeSet<String> {
    let everything = UsageFilter::between(Timestamp(0), Timestamp(i64::MAX));
    let (rows, total) = store.ledger().log(&everything, 1_000_000, 0).await.unwrap();
    let sums = store.ledger().summary(&everything).await.unwrap();
    assert_eq!((rows.len() as i64, sums.total_requests), (total, total), "sums and rows agree");
    let ids: BTreeSet<String> = rows.into_iter().map(|row| row.id).collect();
    assert_eq!(ids.len() as i64, total, "no row is there twice");
    ids
}

/// Small segments, so that many are created, drained and removed during the backup.
fn small_segments(root: &Path) -> JournalConfig {
    JournalConfig { segment_bytes: 64 << 10, ..journal_config(root) }
}

async fn restored(directory: &Path) -> Store {
    let store = open_store(Backend::Sqlite { path: directory.join("gatehouse.db") }).await;
    let journal = journal(small_segments(&directory.join("journal")));
    Drainer::new(journal, store.clone()).drain_all().await;
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_no_gaps_or_duplicates() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = source.path().join("gatehouse.db");
    let store = open_store(Backend::Sqlite { path: database.clone() }).await;
    let journal = journal(small_segments(&source.path().join("journal")));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut draining = tokio::task::JoinSet::new();
    draining.spawn(Drainer::new(journal.clone(), store.clone()).run(stopped));
    let (written, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let writing = {
        let (journal, written, over) = (journal.clone(), written.clone(), over.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let number = written.load(Ordering::Relaxed);
                let id = format!("r{number}");
                journal.open_call(opening(&id).as_ref(), ShardId::SHARED).unwrap();
                journal.close_call(&receipt(&id), ShardId::SHARED).unwrap();
                written.store(number + 1, Ordering::Release);
                std::thread::sleep(Duration::from_micros(600));
            }
        })
    };
    for round in 0..5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let copy = target.path().join(format!("{round}"));
        fs::create_dir(&copy).unwrap();
        let before = written.load(Ordering::Acquire);
        link_journal(&source.path().join("journal"), &copy.join("journal")).unwrap();
        copy_database(&database, &copy.join("gatehouse.db")).await.unwrap();
        let linked = link_journal(&source.path().join("journal"), &copy.join("journal")).unwrap();
        assert!(!linked.is_empty());
        check_database(&copy.join("gatehouse.db")).await.unwrap();
        // A link shares its file with the running journal; a backup contains a copy at that moment.
        for segment in &linked {
            let file = copy.join("journal").join(segment);
            let content = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            fs::write(&file, content).unwrap();
        }
        let found = ids(&restored(&copy).await).await;
        for number in 0..before {
            assert!(found.contains(&format!("r{number}")), "r{number} of {before} is lost");
        }
        assert!(found.len() as u64 <= written.load(Ordering::Acquire) + 1);
    }
    over.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    stop.send(true).unwrap();
    draining.join_all().await;
    Drainer::new(journal.clone(), store.clone()).drain_all().await;
    assert_eq!(ids(&store).await.len() as u64, written.load(Ordering::Acquire));
}

#[tokio::test]
async fn access_is_exclusive_only_while_no_process_has_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("journal");
    let held = exclusive_access(&root).unwrap();
    assert!(held.is_some());
    assert!(exclusive_access(&root).unwrap().is_none(), "one at a time");
    drop(held);
    let running = journal(journal_config(&root));
    assert!(exclusive_access(&root).unwrap().is_none(), "a process uses it");
    drop(running);
    assert!(exclusive_access(&root).unwrap().is_some());
}
