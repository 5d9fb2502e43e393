//! Shards: appended to by several threads at once, rotated, cut by a crash, and read as one journal.

use std::collections::BTreeSet;

use super::*;
use crate::JournalConfig;

const WORKERS: usize = 3;
const CALLS: usize = 400;

fn small_segments(directory: &Path) -> Journal {
    journal(JournalConfig { workers: WORKERS, segment_bytes: 4096, ..journal_config(directory) })
}

/// Appends calls from one thread per worker; every third call is left open.
fn append_from_workers(journal: &Journal) -> BTreeSet<String> {
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            scope.spawn(move || {
                ShardId::of_worker(worker).assign_to_this_thread();
                for n in 0..CALLS {
                    let (id, shard) = (format!("w{worker}-{n:03}"), ShardId::of_this_thread());
                    journal.open_call(opening(&id).as_ref(), shard).unwrap();
                    if n % 3 > 0 {
                        journal.close_call(&receipt(&id), shard).unwrap();
                    }
                }
            });
        }
    });
    let worker_ids = |worker| (0..CALLS).map(move |n| format!("w{worker}-{n:03}"));
    (0..WORKERS).flat_map(worker_ids).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_all_workers_are_booked_once_also_after_a_crash() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = small_segments(directory.path());
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let appending = journal.clone();
        let append = async {
            let appended = tokio::task::spawn_blocking(move || append_from_workers(&appending)).await;
            stop.send(true).unwrap();
            appended.unwrap()
        };
        let drain = Drainer::new(journal.clone(), store.clone()).run(stopped);
        let (all, ()) = tokio::join!(append, drain);
        let booked = ids(&store).await;
        assert_eq!(booked.len(), WORKERS * CALLS - WORKERS * CALLS.div_ceil(3), "open calls are not booked");

        // A dead process: its open calls are charged by the next one.
        drop(journal);
        let next = successor(directory.path(), &store).await;
        assert_eq!(ids(&store).await, all);
        let interrupted = rows(&store).await.into_iter().filter(|row| row.interrupted).count();
        assert_eq!(interrupted, WORKERS * CALLS.div_ceil(3));
        assert_eq!((next.lag(), next.damaged()), (crate::Lag::default(), 0));
    })
    .await;
}

#[tokio::test]
async fn a_record_larger_than_a_segment_has_its_own() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = small_segments(directory.path());
        close(&journal, "small");
        let large = Receipt { user_agent: "x".repeat(20_000), ..receipt("large") };
        journal.close_call(&large, ShardId::SHARED).unwrap();
        close(&journal, "next");
        assert_eq!(segments(directory.path()).len(), 3);
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        assert_eq!(ids(&store).await, set(["large", "next", "small"]));
    })
    .await;
}

#[tokio::test]
async fn a_record_that_a_crash_cut_is_no_damage_wherever_it_was_cut() {
    for_each_backend(|store| async move {
        let root = tempfile::tempdir().unwrap();
        let model = small_segments(&root.path().join("model"));
        close(&model, "whole");
        let whole = model.first_segment().unwrap().length as usize;
        close(&model, "cut");
        let segment = model.first_segment().unwrap();
        let bytes = std::fs::read(&segment.path).unwrap();
        for copied in [0, 1, 4, 8, 9, 10, 60, segment.length as usize - whole - 1] {
            let directory = root.path().join(copied.to_string());
            let process = directory.join("dead");
            std::fs::create_dir_all(&process).unwrap();
            let mut bytes = bytes.clone();
            bytes[whole + copied..].fill(0);
            std::fs::write(process.join(segment.path.file_name().unwrap()), bytes).unwrap();
            let next = successor(&directory, &store).await;
            assert_eq!(ids(&store).await, set(["whole"]), "{copied} bytes");
            assert_eq!((next.damaged(), next.lag().bytes), (0, 0), "{copied} bytes");
        }
    })
    .await;
}

#[tokio::test]
async fn a_segment_that_cannot_be_created_fails_its_record_only() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = small_segments(directory.path());
        let process = journal.0.directory.clone();
        let aside = directory.path().join(".aside");
        std::fs::rename(&process, &aside).unwrap();
        assert!(journal.close_call(&receipt("lost"), ShardId::SHARED).is_err());
        assert_eq!((journal.lag(), journal.has_room()), (crate::Lag::default(), false));
        std::fs::rename(&aside, &process).unwrap();
        assert!(journal.has_room());
        close(&journal, "after");
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        assert_eq!(ids(&store).await, set(["after"]));
    })
    .await;
}

#[tokio::test]
async fn the_newest_opening_of_a_call_survives_the_repetition_of_an_older_one() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = small_segments(directory.path());
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        let fill = |from: usize| (from..from + 40).for_each(|n| close(&journal, &format!("r{n}")));
        journal.open_call(opening("a").as_ref(), ShardId::SHARED).unwrap();
        fill(0);
        let again = domain::receipt::Opening { follow: Some("resp_1".into()), ..opening("a") };
        journal.open_call(again.as_ref(), ShardId::SHARED).unwrap();
        // One batch at a time: the older opening is repeated before the newer one is read.
        drainer.drain_once().await.unwrap();
        for round in 1..5 {
            fill(round * 40);
            drainer.drain_all().await;
        }
        drop((drainer, journal));
        let next = successor(directory.path(), &store).await;
        let followed: Vec<_> = next.take_followed().into_iter().map(|opening| opening.follow).collect();
        assert_eq!(followed, [Some("resp_1".to_owned())]);
    })
    .await;
}

#[tokio::test]
async fn segments_stay_while_a_backup_runs() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = small_segments(directory.path());
        let mut drainer = Drainer::new(journal.clone(), store.clone());
        (0..60).for_each(|n| close(&journal, &format!("r{n}")));
        let before = segments(directory.path()).len();
        let lock = crate::backup::keep_journal(directory.path()).unwrap();
        drainer.drain_all().await;
        assert_eq!(segments(directory.path()).len(), before);
        drop(lock);
        drainer.drain_all().await;
        assert_eq!(segments(directory.path()).len(), 1);
        assert_eq!(ids(&store).await.len(), 60);
    })
    .await;
}

#[tokio::test]
async fn a_backlog_of_many_segments_is_drained_without_pauses() {
    for_each_backend(|store| async move {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [plain, measured] = directories.each_ref().map(|directory| small_segments(directory.path()));
        for (number, journal) in [&plain, &measured].into_iter().enumerate() {
            (0..300).for_each(|n| close(journal, &format!("r{number}-{n:03}")));
        }
        let segments = u32::try_from(segments(directories[1].path()).len()).unwrap();
        assert!(segments > 20);
        // The time of the work alone, which depends on the machine.
        let begun = tokio::time::Instant::now();
        Drainer::new(plain.clone(), store.clone()).drain_all().await;
        let work = begun.elapsed();

        let (stop, stopped) = tokio::sync::watch::channel(false);
        let begun = tokio::time::Instant::now();
        let booked = async {
            while measured.lag().records > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.send(true).unwrap();
            begun.elapsed()
        };
        let drain = Drainer::new(measured.clone(), store.clone()).run(stopped);
        let (took, ()) = tokio::join!(booked, drain);
        let pauses = Duration::from_millis(100) * segments;
        assert!(took < work * 2 + pauses / 2, "{took:?}, of which {work:?} is work");
    })
    .await;
}
