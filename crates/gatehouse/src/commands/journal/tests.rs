//! Tests of `gatehouse journal drain`.

use std::path::Path;

use domain::receipt::Receipt;
use store::{Journal, JournalConfig, ShardId};

use super::*;
use crate::settings;

fn settings_in(directory: &Path) -> Settings {
    let variables = [("DATA_DIR".to_owned(), directory.join("own").display().to_string())].into();
    settings::load(variables, directory, None, &["openai"]).unwrap()
}

/// Leaves a receipt, as a gateway does that was killed.
fn kill_gateway(data_dir: &Path, id: &str) -> Journal {
    let config = JournalConfig {
        directory: data_dir.join("journal"),
        workers: 1,
        segment_bytes: 64 << 10,
        max_bytes: 1 << 20,
        fsync: false,
    };
    let journal = Journal::open(config, Arc::new(SystemClock), Arc::new(SystemEntropy)).unwrap();
    let receipt = Receipt { id: id.into(), auth_method: "api_key".into(), ..Receipt::default() };
    journal.close_call(&receipt, ShardId::SHARED).unwrap();
    journal
}

/// The number of rows in the usage table.
async fn booked(settings: &Settings) -> i64 {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = assemble::open_store(settings, &clock, &entropy).await.unwrap();
    let rows = store.ledger().count().await.unwrap();
    store.close().await;
    rows
}

#[tokio::test]
async fn the_journal_of_a_killed_gateway_is_booked_into_the_configured_database() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings_in(directory.path());
    let vanished = directory.path().join("vanished");
    drop(kill_gateway(&vanished, "a"));
    drop(kill_gateway(&vanished, "b"));
    let text = drain(&settings, &vanished.join("journal")).await.unwrap();
    assert!(text.contains("2 journals of ended processes, 2 records"), "{text}");
    assert_eq!(booked(&settings).await, 2);
    let again = drain(&settings, &vanished.join("journal")).await.unwrap();
    assert!(again.contains("is empty"), "{again}");
    assert_eq!(booked(&settings).await, 2);
}

#[tokio::test]
async fn a_journal_in_use_and_other_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings_in(directory.path());
    let data = directory.path().join("running");
    let running = kill_gateway(&data, "a");
    let refused = drain(&settings, &data).await.unwrap_err();
    assert!(
        refused.contains("belongs to a running process") && refused.contains(running.name()),
        "{refused}"
    );
    let refused = drain(&settings, &directory.path().join("none")).await.unwrap_err();
    assert!(refused.contains("cannot be read"), "{refused}");
    let refused = drain(&settings, directory.path()).await.unwrap_err();
    assert!(refused.contains("is not a journal directory"), "{refused}");
    assert_eq!(booked(&settings).await, 0);
}
