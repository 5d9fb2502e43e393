//! Draining the journal directories of replicas that vanished.

use std::path::Path;
use std::sync::Arc;

use domain::ids::Entropy;

use super::{ids, rows};
use crate::Store;
use crate::journal::abandoned::{DrainCounts, DrainError, drain_abandoned};
use crate::journal::segment;
use crate::journal::shard::ShardId;
use crate::replicas::Replica;
use crate::testing::{Hand, Noise, for_each_backend, journal, journal_config, opening, receipt};

async fn drain(path: &Path, store: &Store) -> Result<DrainCounts, DrainError> {
    let entropy: Arc<dyn Entropy> = Noise::fresh();
    drain_abandoned(path, store, Hand::at(1_800_000_100), entropy, |_| {}).await
}

/// A process that ended without draining: 20 finished calls, one that was running, one that waits for a background response.
fn vanished(root: &Path) -> String {
    let journal = journal(journal_config(root));
    for number in 0..20 {
        journal.open_call(opening(format!("call{number}")).as_ref(), ShardId::of_worker(number % 2)).unwrap();
        journal.close_call(&receipt(format!("call{number}")), ShardId::of_worker(number % 2)).unwrap();
    }
    journal.open_call(opening("running").as_ref(), ShardId::of_worker(0)).unwrap();
    let mut background = opening("background");
    background.follow = Some("resp_1".into());
    journal.open_call(background.as_ref(), ShardId::SHARED).unwrap();
    journal.name().to_owned()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => _ = std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap(),
        }
    }
}

#[tokio::test]
async fn receipts_of_a_vanished_replica_are_booked_once_however_often_its_journal_is_drained() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let (root, saved) = (directory.path().join("journal"), directory.path().join("saved"));
        let name = vanished(&root);
        copy(&root, &saved);
        let row = Replica {
            journal: name,
            host: "gone".into(),
            pid: 1,
            version: "1".into(),
            started_at: Default::default(),
            draining: false,
            lag: Default::default(),
        };
        store.replicas().beat(&row).await.unwrap();
        // The data directory may be named as well.
        let counts = drain(directory.path(), &store).await.unwrap();
        assert_eq!((counts.journals, counts.background_responses, counts.damaged), (1, 1, 0));
        assert!(counts.records >= 42 && counts.bytes > 1000, "{counts:?}");
        // Also checks that the sums agree.
        let booked = ids(&store).await;
        assert_eq!((rows(&store).await.len(), booked.len()), (22, 22), "{booked:?}");
        assert_eq!(segment::directories(&root).unwrap(), Vec::new());
        assert_eq!(store.replicas().list().await.unwrap(), []);

        // Nothing is left, which is no error.
        assert_eq!(drain(&root, &store).await.unwrap(), DrainCounts::default());
        // The same files again, as after a crash before they were removed.
        drain(&saved, &store).await.unwrap();
        assert_eq!((rows(&store).await.len(), ids(&store).await), (22, booked));
    })
    .await;
}

#[tokio::test]
async fn the_journal_of_a_running_process_is_left_alone() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        vanished(directory.path());
        let running = journal(journal_config(directory.path()));
        running.close_call(&receipt("mine"), ShardId::SHARED).unwrap();
        let refused = drain(directory.path(), &store).await.unwrap_err();
        assert!(matches!(&refused, DrainError::InUse(path) if path.ends_with(running.name())), "{refused}");
        assert!(rows(&store).await.is_empty());
        drop(running);
        assert_eq!(drain(directory.path(), &store).await.unwrap().journals, 2);
        assert_eq!(rows(&store).await.len(), 23);
    })
    .await;
}

#[tokio::test]
async fn other_directories_are_refused() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let refused = drain(directory.path(), &store).await.unwrap_err();
        assert!(matches!(refused, DrainError::NotAJournal(_)), "{refused}");
        std::fs::create_dir(directory.path().join("photos")).unwrap();
        assert!(matches!(drain(directory.path(), &store).await, Err(DrainError::NotAJournal(_))));
        let missing = directory.path().join("missing");
        assert!(matches!(drain(&missing, &store).await, Err(DrainError::Unreadable(..))));
        assert!(!missing.exists());
        // The directory of one process instead of that of all.
        let root = directory.path().join("journal");
        let name = vanished(&root);
        assert!(matches!(drain(&root.join(name), &store).await, Err(DrainError::NotAJournal(_))));
        assert!(rows(&store).await.is_empty());
    })
    .await;
}
