//! The journal and its drainer: truncated, duplicated, crashed, full and concurrent, on both backends.

mod abandoned;
mod shards;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use super::Journal;
use super::frame::{self, RecordKind, RecordType};
use super::read::{self, Stretch};
use super::segment::{HEADER, Segment};
use super::shard::ShardId;
use crate::database::sql;
use crate::journal_record;
use crate::ledger::booking::Booking;
use crate::ledger::rollup::TABLES;
use crate::testing::{Hand, Noise, for_each_backend, journal, journal_config, opening, receipt};
use crate::{Drainer, Store, UsageFilter};

fn everything() -> UsageFilter {
    UsageFilter::between(Timestamp(0), Timestamp(i64::MAX))
}

async fn rows(store: &Store) -> Vec<Receipt> {
    let (rows, total) = store.ledger().log(&everything(), 100_000, 0).await.unwrap();
    assert_eq!(total, rows.len() as i64);
    assert_eq!(
        store.ledger().summary(&everything()).await.unwrap().total_requests,
        total,
        "sums and rows agree"
    );
    rows
}

async fn ids(store: &Store) -> BTreeSet<String> {
    rows(store).await.into_iter().map(|row| row.id).collect()
}

fn set<const N: usize>(ids: [&str; N]) -> BTreeSet<String> {
    ids.into_iter().map(str::to_owned).collect()
}

/// The segment files of every process, oldest first.
fn segments(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let inside = std::fs::read_dir(entry.path()).unwrap().flatten().map(|entry| entry.path());
        found.extend(inside.filter(|path| path.extension().is_some_and(|extension| extension == "journal")));
    }
    found.sort();
    found
}

impl Journal {
    /// The first segment of the shared shard.
    fn first_segment(&self) -> Option<Segment> {
        self.shard(ShardId::SHARED).lock().segment_after(None)
    }
}

/// The content of a segment, without the zeros behind it.
fn content(segment: &Segment) -> Vec<u8> {
    let mut bytes = std::fs::read(&segment.path).unwrap();
    bytes.truncate(segment.length as usize);
    bytes
}

fn close(journal: &Journal, id: &str) {
    journal.close_call(&receipt(id), ShardId::SHARED).unwrap();
}

fn open_and_close(journal: &Journal, id: &str) {
    journal.open_call(opening(id).as_ref(), ShardId::SHARED).unwrap();
    close(journal, id);
}

/// Starts a process on the same directory and books what earlier ones left.
async fn successor(root: &Path, store: &Store) -> Journal {
    let journal = journal(journal_config(root));
    Drainer::new(journal.clone(), store.clone()).drain_all().await;
    journal
}

#[tokio::test]
async fn what_is_closed_is_booked_and_the_lag_goes_to_nothing() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        for n in 0..1234 {
            open_and_close(&journal, &format!("r{n}"));
        }
        journal
            .close_call(&Receipt { auth_method: String::new(), ..receipt("refused") }, ShardId::SHARED)
            .unwrap();
        let lag = journal.lag();
        assert_eq!((lag.records, lag.oldest.is_some()), (2469, true));
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        assert!(drainer.drain_once().await.unwrap() > 0);
        drainer.drain_all().await;
        assert_eq!(journal.lag(), crate::Lag::default());
        assert_eq!(ids(&store).await.len(), 1234, "a refused caller is not booked");
        assert_eq!(drainer.drain_once().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_journal_that_is_read_twice_is_booked_once() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        (0..700).for_each(|n| close(&journal, &format!("r{n}")));
        Drainer::new(journal.clone(), store.clone()).drain_once().await.unwrap();
        let half = rows(&store).await.len();
        assert!(half > 0 && half < 700, "{half}");
        // New drainers know only the positions in the database.
        let mut one = Drainer::new(journal.clone(), store.clone());
        let mut other = Drainer::new(journal.clone(), store.clone());
        while one.drain_once().await.unwrap() + other.drain_once().await.unwrap() > 0 {}
        assert_eq!(rows(&store).await.len(), 700);
    })
    .await;
}

#[tokio::test]
async fn a_crash_before_the_commit_books_nothing_and_after_it_everything_once() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        (0..20).for_each(|n| close(&journal, &format!("r{n}")));
        let segment = journal.first_segment().unwrap();
        {
            let mut open = store.database().begin().await.unwrap();
            let insert =
                "INSERT INTO journal_positions (segment, journal, drained) VALUES ($1, 'x', 9999999)";
            open.execute(insert, &[(&segment.id).into()]).await.unwrap();
            let bookings: Vec<Booking> =
                (0..20).map(|n| Booking::of(&receipt(format!("r{n}"))).unwrap().unwrap()).collect();
            store.ledger().writer.book(&mut open, &bookings, false).await.unwrap();
        }
        assert_eq!(rows(&store).await.len(), 0);
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        drainer.drain_all().await;
        assert_eq!(rows(&store).await.len(), 20);

        // A commit whose confirmation was lost: the database is ahead of the drainer.
        (20..30).for_each(|n| close(&journal, &format!("r{n}")));
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        (30..40).for_each(|n| close(&journal, &format!("r{n}")));
        drainer.drain_all().await;
        assert_eq!(rows(&store).await.len(), 40);

        // A database restored from an older backup: what is still in the journal is booked again.
        store.database().execute("DELETE FROM usage", &[]).await.unwrap();
        for table in &TABLES {
            store.database().execute(sql(format!("DELETE FROM {}", table.name)), &[]).await.unwrap();
        }
        store.database().execute("DELETE FROM rollup_deltas", &[]).await.unwrap();
        store.database().execute("DELETE FROM journal_positions", &[]).await.unwrap();
        close(&journal, "r40");
        drainer.drain_all().await;
        assert_eq!(rows(&store).await.len(), 41);
    })
    .await;
}

#[tokio::test]
async fn a_dead_process_is_succeeded_and_its_open_calls_are_charged_once() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        open_and_close(&journal, "whole");
        journal.open_call(opening("late").as_ref(), ShardId::SHARED).unwrap();
        journal.open_call(opening("cut").as_ref(), ShardId::SHARED).unwrap();
        drainer.drain_all().await;
        close(&journal, "late");
        assert_eq!(ids(&store).await, set(["whole"]), "an open call of a live process is only open");
        assert!(super::source::JournalSource::orphans(&journal).unwrap().is_empty());

        let left = tempfile::tempdir().unwrap();
        copy(directory.path(), left.path());
        drop((drainer, journal));
        let second = successor(directory.path(), &store).await;
        assert_eq!(ids(&store).await, set(["cut", "late", "whole"]));
        let cut = rows(&store).await.into_iter().find(|row| row.id == "cut").unwrap();
        assert!(cut.interrupted && cut.usage.estimated);
        assert_eq!((cut.usage.tokens.output, cut.total_cost().unwrap().0), (4096, 41_000));
        assert_eq!(segments(directory.path()).len(), 0, "the directory of the dead process is removed");
        let positions = store.database().fetch("SELECT segment FROM journal_positions", &[]).await.unwrap();
        assert!(positions.is_empty());
        assert_eq!(second.lag(), crate::Lag::default());

        // The same directory again, as if its removal had been interrupted.
        successor(left.path(), &store).await;
        assert_eq!(ids(&store).await.len(), 3);
    })
    .await;
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_call_may_outlive_its_segment() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal =
            journal(crate::JournalConfig { segment_bytes: 4096, ..journal_config(directory.path()) });
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        journal.open_call(opening("long").as_ref(), ShardId::SHARED).unwrap();
        journal.open_call(opening("lost").as_ref(), ShardId::SHARED).unwrap();
        for n in 0..100 {
            open_and_close(&journal, &format!("r{n}"));
            if n % 9 == 0 {
                drainer.drain_all().await;
                assert!(segments(directory.path()).len() <= 3, "drained segments go, open calls or not");
            }
        }
        close(&journal, "long");
        drainer.drain_all().await;
        assert_eq!(rows(&store).await.len(), 101);
        let positions = store.database().fetch("SELECT segment FROM journal_positions", &[]).await.unwrap();
        assert!(positions.len() <= 2);
        drop((drainer, journal));
        successor(directory.path(), &store).await;
        assert_eq!(rows(&store).await.len(), 102);
        assert!(ids(&store).await.contains("lost"));
    })
    .await;
}

#[tokio::test]
async fn a_close_that_overtakes_the_carried_opening_ends_the_call() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal =
            journal(crate::JournalConfig { segment_bytes: 1024, ..journal_config(directory.path()) });
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        journal.open_call(opening("a").as_ref(), ShardId::SHARED).unwrap();
        for n in 0..5 {
            close(&journal, &format!("r{n}"));
        }
        // The close is in the journal before the drainer, which lags behind, carries the opening over.
        close(&journal, "a");
        drainer.drain_all().await;
        for n in 5..12 {
            close(&journal, &format!("r{n}"));
        }
        drainer.drain_all().await;
        assert_eq!(segments(directory.path()).len(), 1, "no segment waits for a call that is over");
        drop((drainer, journal));
        successor(directory.path(), &store).await;
        assert_eq!(rows(&store).await.len(), 13);
        assert!(rows(&store).await.iter().all(|row| !row.interrupted));
    })
    .await;
}

#[tokio::test]
async fn a_call_that_opened_again_in_the_batch_of_its_close_is_over() {
    for_each_backend(|store| async move {
        // The close is in the batch of the second opening or in a separate one, before and after the carried opening.
        for apart in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let journal =
                journal(crate::JournalConfig { segment_bytes: 1024, ..journal_config(directory.path()) });
            let mut drainer = Drainer::new(journal.clone(), store.clone());
            let id = format!("a{apart}");
            journal.open_call(opening(&id).as_ref(), ShardId::SHARED).unwrap();
            drainer.drain_all().await;
            (0..5).for_each(|n| close(&journal, &format!("{apart}{n}")));
            journal.open_call(opening(&id).as_ref(), ShardId::SHARED).unwrap();
            if apart {
                drainer.drain_all().await;
            }
            close(&journal, &id);
            drainer.drain_all().await;
            (5..12).for_each(|n| close(&journal, &format!("{apart}{n}")));
            drainer.drain_all().await;
            assert_eq!(segments(directory.path()).len(), 1);
            for path in segments(directory.path()) {
                let bytes = std::fs::read(path).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains(&id), "it is not carried on");
            }
            // Retention has deleted the row, so only the position shows that it is booked.
            store.database().execute("DELETE FROM usage", &[]).await.unwrap();
            drop((drainer, journal));
            successor(directory.path(), &store).await;
            assert_eq!(store.ledger().count().await.unwrap(), 0);
        }
    })
    .await;
}

/// Makes the database reject receipts that match a condition.
async fn refuse(store: &Store, table: &str, condition: &str) {
    let text = if store.database().is_postgres() {
        format!("ALTER TABLE {table} ADD CONSTRAINT refused CHECK (NOT ({condition})) NOT VALID")
    } else {
        let condition = condition.replace("id", "NEW.id");
        format!(
            "CREATE TRIGGER refused_{table} BEFORE INSERT ON {table} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
    };
    store.database().execute(sql(text), &[]).await.unwrap();
}

#[tokio::test]
async fn a_receipt_that_is_refused_holds_up_no_other() {
    for_each_backend(|store| async move {
        refuse(&store, "usage", "id = 'r7'").await;
        refuse(&store, "audit", "id = 'r9'").await;
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        for n in 0..20 {
            let audit = Some(Box::default());
            journal.close_call(&Receipt { audit, ..receipt(format!("r{n}")) }, ShardId::SHARED).unwrap();
        }
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        while drainer.drain_once().await.unwrap() > 0 {}
        let booked = ids(&store).await;
        assert_eq!((booked.len(), booked.contains("r7")), (19, false));
        assert!(store.audit().find("r7").await.unwrap().is_some());
        assert!(store.audit().find("r9").await.unwrap().is_none());
        assert!(store.audit().verify().await.unwrap().breaks.is_empty());
        assert_eq!((journal.damaged(), journal.lag().records), (2, 0));
        let aside = || std::fs::read_dir(directory.path().join("damaged")).unwrap().count();
        assert_eq!(aside(), 1, "at once, not when the segment goes");
        drop((drainer, journal));
        successor(directory.path(), &store).await;
        assert_eq!((aside(), ids(&store).await.len()), (1, 19));
    })
    .await;
}

#[tokio::test]
async fn a_database_that_refuses_everything_is_waited_for() {
    for_each_backend(|store| async move {
        refuse(&store, "usage", "id <> ''").await;
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        (0..3).for_each(|n| close(&journal, &format!("r{n}")));
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        assert!(drainer.drain_once().await.is_err());
        assert_eq!((journal.damaged(), journal.lag().records), (0, 3));
    })
    .await;
}

#[tokio::test]
async fn long_texts_are_cut_where_they_stand_in_a_key() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        // Varied characters, because PostgreSQL would compress a repeated one.
        let noise: String = (0..1500u64)
            .map(|n| char::from_u32(0x4e00 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as u32).unwrap())
            .collect();
        let text = || Some(noise.clone());
        let long = Receipt {
            user_path: format!("/{noise}"),
            model: noise.clone(),
            requested_model: noise.clone(),
            provider: noise.clone(),
            provider_name: noise.clone(),
            cache_type: noise.clone(),
            auth_key_id: text(),
            tenant_id: text(),
            session_id: text(),
            run_id: text(),
            response_id: text(),
            previous_response_id: text(),
            request_id: noise.clone(),
            audit: Some(Box::default()),
            ..receipt("long")
        };
        journal.close_call(&long, ShardId::SHARED).unwrap();
        close(&journal, "next");
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        while drainer.drain_once().await.unwrap() > 0 {}
        assert_eq!((ids(&store).await, journal.damaged()), (set(["long", "next"]), 0));
        assert!(store.audit().find("long").await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn bodies_do_not_cost_the_room_of_receipts() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal =
            journal(crate::JournalConfig { max_bytes: 512 << 10, ..journal_config(directory.path()) });
        let audit = domain::receipt::Audited { request_body: Some("x".repeat(40_000)), ..Default::default() };
        let mut taken = 0;
        let audited = |n| Receipt { audit: Some(Box::new(audit.clone())), ..receipt(format!("r{n}")) };
        while journal.close_call(&audited(taken), ShardId::SHARED).is_ok() {
            taken += 1;
        }
        assert!(taken > 200, "{taken}");
        Drainer::new(journal, store.clone()).drain_all().await;
        let first = store.audit().find("r0").await.unwrap().unwrap();
        let last = store.audit().find(&format!("r{}", taken - 1)).await.unwrap().unwrap();
        let [first, last] = [first, last].map(|entry| entry.audit.unwrap());
        assert!(first.request_body.is_some() && !first.request_truncated);
        assert!(last.request_body.is_none() && last.request_truncated);
    })
    .await;
}

/// Reads a whole segment; returns the ids of its receipts and whether its end counts as a truncated tail.
fn read_whole(bytes: &[u8]) -> (Vec<String>, Option<bool>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("segment");
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let (mut from, end) = (0, bytes.len() as u64);
    let (mut ids, mut tail) = (Vec::new(), None);
    while from < end {
        let stretch = Stretch { from, end, booked_until: 0, most: read::MOST_RECEIPTS };
        let mut buffer = Vec::new();
        let length = read::load(&file, stretch, &mut buffer).unwrap();
        let batch = read::parse(&file, stretch, &buffer[..length]).unwrap();
        assert!(batch.progress.until > from, "every read gets on");
        ids.extend(batch.bookings.into_iter().map(|booking| booking.id.to_string()));
        tail = batch.progress.losses.last().map(|loss| loss.tail).or(tail);
        from = batch.progress.until;
    }
    (ids, tail)
}

fn frames(count: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends, mut buffer) = (Vec::new(), vec![0], Vec::new());
    for n in 0..count {
        let receipt = receipt(format!("r{n}"));
        frame::encode(&mut buffer, RecordType::new(RecordKind::Receipt), |buffer| {
            journal_record::receipt(buffer, &receipt)
        })
        .unwrap();
        bytes.extend_from_slice(&buffer);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn a_tail_torn_at_any_byte_costs_only_itself() {
    let (bytes, ends) = frames(3);
    for cut in 0..=bytes.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let (ids, tail) = read_whole(&bytes[..cut]);
        assert_eq!(ids.len(), whole, "cut at {cut}");
        assert_eq!(tail, (!ends.contains(&cut)).then_some(true), "cut at {cut}");
    }
    // A disk may also keep the length of a file and lose its bytes.
    for cut in ends[1] + 1..bytes.len() {
        let mut zeroed = bytes.clone();
        zeroed[cut..].fill(0);
        let (ids, tail) = read_whole(&zeroed);
        assert_eq!(ids.len(), if cut >= ends[2] { 2 } else { 1 }, "zeros from {cut}");
        assert_eq!(tail, Some(true), "zeros from {cut}");
    }
}

#[test]
fn damage_in_the_middle_costs_one_record_and_is_told() {
    let (bytes, ends) = frames(3);
    for place in ends[1]..ends[2] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x55;
        assert_eq!(
            read_whole(&damaged),
            (vec!["r0".to_owned(), "r2".to_owned()], Some(false)),
            "byte {place}"
        );
    }
}

#[tokio::test]
async fn a_damaged_segment_is_counted_and_put_aside() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let first = journal(journal_config(directory.path()));
        ["a", "b", "c"].into_iter().for_each(|id| close(&first, id));
        let segment = first.first_segment().unwrap();
        drop(first);
        let mut bytes = content(&segment);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes.truncate(bytes.len() - 1);
        std::fs::write(&segment.path, &bytes).unwrap();
        let second = successor(directory.path(), &store).await;
        assert_eq!(ids(&store).await, set(["a"]));
        assert_eq!(second.damaged(), 0, "the last two are gone, and it looks like one torn tail");

        let third = journal(journal_config(directory.path()));
        ["d", "e", "f"].into_iter().for_each(|id| close(&third, id));
        let segment = third.first_segment().unwrap();
        drop(third);
        let mut bytes = content(&segment);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&segment.path, &bytes).unwrap();
        let fourth = successor(directory.path(), &store).await;
        assert_eq!(ids(&store).await, set(["a", "d", "f"]));
        assert_eq!(fourth.damaged(), 1);
        assert_eq!(std::fs::read_dir(directory.path().join("damaged")).unwrap().count(), 1);
    })
    .await;
}

#[tokio::test]
async fn many_threads_append_and_nothing_is_lost() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal =
            journal(crate::JournalConfig { segment_bytes: 50_000, ..journal_config(directory.path()) });
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let journal = journal.clone();
                std::thread::spawn(move || {
                    (0..300).for_each(|n| open_and_close(&journal, &format!("{thread}-{n}")))
                })
            })
            .collect();
        while !threads.iter().all(std::thread::JoinHandle::is_finished) {
            drainer.drain_once().await.unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drainer.drain_all().await;
        assert_eq!(rows(&store).await.len(), 1200);
        assert_eq!(journal.damaged(), 0);
        assert_eq!(journal.lag(), crate::Lag::default());
    })
    .await;
}

#[tokio::test]
async fn a_full_journal_says_so_and_keeps_room_for_calls_under_way() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal =
            journal(crate::JournalConfig { max_bytes: 64 << 10, ..journal_config(directory.path()) });
        let mut opened = 0;
        let refusal = loop {
            match journal.open_call(opening(format!("r{opened}")).as_ref(), ShardId::SHARED) {
                Ok(()) => opened += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(refusal.kind(), std::io::ErrorKind::QuotaExceeded);
        assert!(refusal.to_string().contains("the journal is full"), "{refusal}");
        let mut closed = 0;
        while closed < opened && journal.close_call(&receipt(format!("r{closed}")), ShardId::SHARED).is_ok() {
            closed += 1;
        }
        assert!(closed > 0 && closed < opened);
        assert!(journal.lag().bytes <= 64 << 10);
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        drainer.drain_all().await;
        for n in closed..opened {
            close(&journal, &format!("r{n}"));
            drainer.drain_all().await;
        }
        assert_eq!(rows(&store).await.len(), opened);
    })
    .await;
}

#[tokio::test]
async fn two_processes_drain_into_one_database() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let mut drainers = tokio::task::JoinSet::new();
        for process in 0..3 {
            let journal = journal(journal_config(directory.path()));
            let store = store.clone();
            drainers.spawn(async move {
                let mut drainer = Drainer::new(journal.clone(), store);
                for round in 0..5 {
                    (0..150).for_each(|n| open_and_close(&journal, &format!("{process}-{round}-{n}")));
                    drainer.drain_all().await;
                }
                drainer
            });
        }
        // All drainers stay alive until the end, so that none takes over from another.
        assert_eq!(drainers.join_all().await.len(), 3);
        assert_eq!(rows(&store).await.len(), 3 * 5 * 150);
    })
    .await;
}

#[tokio::test]
async fn the_drainer_runs_until_told_and_finds_orphans_on_its_way() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let clock = Hand::at(1_800_000_000);
        let own = Journal::open(journal_config(directory.path()), clock.clone(), Noise::fresh()).unwrap();
        let other = journal(journal_config(directory.path()));
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let mut running = tokio::task::JoinSet::new();
        running.spawn(Drainer::new(own.clone(), store.clone()).run(stopped));
        close(&own, "own");
        other.open_call(opening("other").as_ref(), ShardId::SHARED).unwrap();
        wait_for(&store, &["own"]).await;
        drop(other);
        clock.advance(Duration::from_secs(11));
        wait_for(&store, &["own", "other"]).await;
        close(&own, "last");
        stop.send(true).unwrap();
        running.join_all().await;
        assert_eq!(ids(&store).await, set(["last", "other", "own"]));
    })
    .await;
}

async fn wait_for(store: &Store, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|id| (*id).to_owned()).collect();
    let mut seen = BTreeSet::new();
    for _ in 0..500 {
        // Not `ids`: it reads rows and sums one after the other, while the drainer keeps running.
        let (rows, _) = store.ledger().log(&everything(), 100, 0).await.unwrap();
        seen = rows.into_iter().map(|row| row.id).collect();
        if seen == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{seen:?} instead of {expected:?}");
}

#[tokio::test]
async fn whoever_waits_for_records_hears_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(journal_config(directory.path()));
    close(&journal, "a");
    journal.until_records(1).await;
    let wait = |records| tokio::time::timeout(Duration::from_millis(20), journal.until_records(records));
    assert!(wait(3).await.is_err());
    let mut writing = tokio::task::JoinSet::new();
    let writer = journal.clone();
    writing.spawn(async move {
        for id in ["b", "c"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
            close(&writer, id);
        }
    });
    assert!(tokio::time::timeout(Duration::from_secs(5), journal.until_records(3)).await.is_ok());
    assert_eq!(journal.records(), 3);
    assert!(wait(4).await.is_err());
}

#[test]
fn a_failed_write_leaves_whole_records_only() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(journal_config(directory.path()));
    close(&journal, "a");
    let path = segments(directory.path()).remove(0);
    let length = std::fs::metadata(&path).unwrap().len();
    let huge = Receipt { user_agent: "x".repeat(frame::MOST), ..receipt("huge") };
    assert!(journal.close_call(&huge, ShardId::SHARED).is_err());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    close(&journal, "b");
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(read_whole(&bytes[HEADER as usize..]).0, ["a", "b"]);
}

#[test]
fn calls_that_close_in_their_batch_are_not_open_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(journal_config(directory.path()));
    open_and_close(&journal, "a");
    journal.open_call(opening("b").as_ref(), ShardId::SHARED).unwrap();
    close(&journal, "c");
    let segment = journal.first_segment().unwrap();
    let file = std::fs::File::open(&segment.path).unwrap();
    let stretch =
        Stretch { from: HEADER, end: segment.length, booked_until: HEADER, most: read::MOST_RECEIPTS };
    let mut buffer = Vec::new();
    let length = read::load(&file, stretch, &mut buffer).unwrap();
    let progress = read::parse(&file, stretch, &buffer[..length]).unwrap().progress;
    let opened: Vec<&str> = progress.opened.iter().map(|opened| &*opened.id).collect();
    assert_eq!((opened, progress.closed.iter().collect::<Vec<_>>()), (vec!["b"], vec!["a", "c"]));
}

/// Run in release mode to see the figures: `cargo test --release -p store drain_cost -- --ignored --nocapture`.
///
/// 300 keys × 40 paths in no particular order: nearly every receipt of a batch has a label of its own. The rows are one
/// quarter hour at 333 calls per second, in which each label is called 25 times, and the drain includes all compaction:
/// merging whenever many deltas wait, and adding the quarter hour to the rollup tables once, at the end. The cost of the
/// latter per row is inversely proportional to the number of calls per label and quarter hour.
#[tokio::test]
#[ignore = "a measurement"]
async fn drain_cost() {
    const ROWS: usize = 300_000;
    const STRETCH: usize = 20_000;
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        let [mut appending, mut draining, mut merging] = [0.0; 3];
        for stretch in 0..ROWS / STRETCH {
            let calls: Vec<_> = (stretch * STRETCH..(stretch + 1) * STRETCH).map(measured_call).collect();
            let before = cpu_micros();
            for (opening, receipt) in &calls {
                journal.open_call(opening.as_ref(), ShardId::SHARED).unwrap();
                journal.close_call(receipt, ShardId::SHARED).unwrap();
            }
            let appended = cpu_micros();
            appending += appended - before;
            while drainer.drain_once().await.unwrap() > 0 {}
            let drained = cpu_micros();
            draining += drained - appended;
            // As `Ledger::keep_compacting` does when many deltas wait.
            store.ledger().compact(Timestamp(0)).await.unwrap();
            merging += cpu_micros() - drained;
        }
        let before = cpu_micros();
        store.ledger().compact_all().await.unwrap();
        let adding = cpu_micros() - before;
        let [append, drain, merge, add] = [appending, draining, merging, adding].map(|cpu| cpu / ROWS as f64);
        println!(
            "{}: append {append:.2} CPU-µs a call (open and close), drain {:.2} CPU-µs a row \
             (booking {drain:.2}, merging deltas {merge:.2}, adding to the tables {add:.2})",
            store.backend_name(),
            drain + merge + add,
        );
        assert_eq!(store.ledger().count().await.unwrap(), ROWS as i64);
        assert_eq!(store.ledger().summary(&everything()).await.unwrap().total_requests, ROWS as i64);
    })
    .await;
}

fn measured_call(number: usize) -> (domain::receipt::Opening, Receipt) {
    let noise = |bound: u64| ((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % bound;
    let id = domain::ids::unique(Timestamp(number as i64 * 1000), &Noise::new(number as u64)).to_string();
    let label = number * 7_919 % 12_000;
    let mut receipt = receipt(&id);
    receipt.at = Timestamp(1_800_000_000_000_000 + number as i64 * 3_000);
    receipt.auth_key_id = Some(format!("key_{:03}", label % 300));
    receipt.user_path = format!("/team{}/app", label / 300);
    receipt.duration_us = 80_000 + noise(10_000_000);
    receipt.first_byte_us = Some(50_000 + noise(1_000_000));
    (opening(&id), receipt)
}

/// CPU time of this process so far, user and system, all threads.
fn cpu_micros() -> f64 {
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        total +=
            text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok()).unwrap_or_default()
                / 1000.0;
    }
    total
}

#[tokio::test]
async fn an_orderly_stop_leaves_nothing_to_take_over() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let one = journal(journal_config(directory.path()));
        (0..30).for_each(|n| open_and_close(&one, &format!("r{n}")));
        let (stop, stopped) = tokio::sync::watch::channel(true);
        Drainer::new(one.clone(), store.clone()).run(stopped.clone()).await;
        one.retire(&store).await;
        assert_eq!(segments(directory.path()), Vec::<PathBuf>::new());
        let left = store.database().fetch("SELECT segment FROM journal_positions", &[]).await.unwrap();
        assert!(left.is_empty(), "no position stays behind");
        assert_eq!(rows(&store).await.len(), 30);

        // An open call, or one that came after the last drain, is left for the next process.
        let two = journal(journal_config(directory.path()));
        two.open_call(opening("open").as_ref(), ShardId::SHARED).unwrap();
        Drainer::new(two.clone(), store.clone()).run(stopped.clone()).await;
        two.retire(&store).await;
        let three = journal(journal_config(directory.path()));
        Drainer::new(three.clone(), store.clone()).run(stopped).await;
        close(&three, "late");
        three.retire(&store).await;
        drop((two, three, stop));
        assert_eq!(segments(directory.path()).len(), 2);
        let _next = successor(directory.path(), &store).await;
        assert!(ids(&store).await.is_superset(&set(["open", "late"])));
    })
    .await;
}
