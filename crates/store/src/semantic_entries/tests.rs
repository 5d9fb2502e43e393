//! Entries of the semantic cache on both backends: written, read in pages, purged and expired.

use bytes::Bytes;

use super::*;
use crate::Store;
use crate::testing::{for_each_backend, for_each_database, open};

async fn save(entries: &SemanticEntries) {
    while entries.0.backlog.save(&*entries.0).await.unwrap() > 0 {}
}

fn row(id: &str, user_path: &str, model: &str, lasts: i64, now: Timestamp) -> SemanticRow {
    SemanticRow {
        id: id.into(),
        partition: "p".into(),
        embedder: "local".into(),
        tenant_id: String::new(),
        user_path: user_path.into(),
        model: model.into(),
        min_score: 0,
        expires_at: Timestamp(now.micros() + lasts * 1_000_000),
        vector: vec![0, 127, 129],
        facts: "{}".into(),
        prompt: "a\0b".into(),
        answer: KeptAnswer { head: "{}".into(), body: Bytes::from_static(b"\0\xff") },
    }
}

fn purge(user_path: Option<&str>, model: Option<&str>) -> SemanticPurge {
    SemanticPurge {
        user_path: user_path.map(str::to_owned),
        model: model.map(str::to_owned),
        ..SemanticPurge::default()
    }
}

async fn ids(store: &Store) -> Vec<String> {
    let entries = store.semantic_entries();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = entries.page("local", after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { return found };
        after = Some(SemanticCursor::after(last));
        found.extend(page.into_iter().map(|row| row.id));
    }
}

#[tokio::test]
async fn entries_are_read_back_as_they_were_written() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        let stored = SemanticRow { tenant_id: "acme".into(), ..row("a", "/", "m", 60, now) };
        entries.put(stored.clone());
        save(entries).await;
        assert_eq!(entries.page("local", None, 10).await.unwrap(), std::slice::from_ref(&stored));
        assert_eq!(entries.page("other", None, 10).await.unwrap(), []);
        let raised = SemanticRow { min_score: 970_000, ..stored };
        entries.put(raised.clone());
        save(entries).await;
        assert_eq!(entries.page("local", None, 10).await.unwrap(), [raised]);
        entries.remove("a".into());
        save(entries).await;
        assert_eq!(ids(&store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn pages_begin_with_the_entries_that_last_longest() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        for (id, lasts) in [("a", 10), ("b", 30), ("c", 30), ("d", 20), ("e", 0)] {
            entries.put(row(id, "/", "m", lasts, now));
        }
        save(entries).await;
        assert_eq!(ids(&store).await, ["b", "c", "d", "a"], "expired ones are left out");
        assert_eq!(entries.expire(Timestamp(now.micros() + 20_000_000)).await.unwrap(), 3);
        assert_eq!(ids(&store).await, ["b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn a_purge_removes_what_it_names_also_before_it_is_written() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        for (id, path, model) in [("a", "/a", "m"), ("b", "/a/b", "m"), ("c", "/ab", "m"), ("d", "/", "n")] {
            entries.put(row(id, path, model, 60, now));
        }
        assert_eq!(entries.purge(&purge(Some("/a"), Some("n"))).await.unwrap(), 0);
        assert_eq!(entries.purge(&purge(Some("/a"), None)).await.unwrap(), 2);
        assert_eq!(ids(&store).await, ["c", "d"]);
        assert_eq!(entries.purge(&purge(None, Some("n"))).await.unwrap(), 1);
        assert_eq!(entries.purge(&purge(None, None)).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_purge_of_a_tenant_keeps_the_entries_of_others() {
    for_each_pair(|one, two| async move {
        let (entries, now) = (one.semantic_entries(), one.semantic_entries().0.clock.now());
        let start = two.semantic_entries().position().await.unwrap();
        for (id, tenant) in [("a", "acme"), ("b", "other"), ("c", "")] {
            entries.put(SemanticRow { tenant_id: tenant.into(), ..row(id, "/", "m", 60, now) });
        }
        let of_acme = SemanticPurge { tenant_id: Some("acme".into()), ..SemanticPurge::default() };
        assert_eq!(entries.purge(&of_acme).await.unwrap(), 1);
        assert_eq!(ids(&one).await, ["b", "c"]);
        let changes = two.semantic_entries().changes("local", start, 100).await.unwrap().changes;
        assert_eq!(changes.last(), Some(&SemanticChange::Purged(of_acme)));
    })
    .await;
}

/// Two stores on one database, as two processes have them.
async fn for_each_pair<F, Fut>(test: F)
where
    F: Fn(Store, Store) -> Fut,
    Fut: Future<Output = ()>,
{
    for_each_database(|backend| async { test(open(backend.clone()).await, open(backend).await).await }).await;
}

#[tokio::test]
async fn another_process_reads_changes_in_their_order_and_not_its_own() {
    for_each_pair(|one, two| async move {
        let (writer, reader) = (one.semantic_entries(), two.semantic_entries());
        let now = writer.0.clock.now();
        let start = reader.position().await.unwrap();
        let (a, b) = (row("a", "/a", "m", 60, now), row("b", "/b", "m", 60, now));
        for entry in [&a, &b] {
            writer.put(entry.clone());
            save(writer).await;
        }
        writer.remove("a".into());
        writer.remove("never".into());
        save(writer).await;
        writer.purge(&purge(Some("/b"), None)).await.unwrap();
        let c = row("c", "/b", "m", 60, now);
        writer.put(c.clone());
        save(writer).await;
        let found = reader.changes("local", start, 10).await.unwrap();
        let purge = SemanticChange::Purged(purge(Some("/b"), None));
        // Entries that are gone again are not read.
        let expected = [SemanticChange::Removed("a".into()), purge, SemanticChange::Put(Box::new(c.clone()))];
        assert_eq!((found.changes.as_slice(), found.has_more), (expected.as_slice(), false));
        assert_eq!(found.position, reader.position().await.unwrap());
        assert_eq!(reader.changes("local", found.position, 10).await.unwrap().changes, []);
        assert_eq!(writer.changes("local", start, 10).await.unwrap().changes, [], "its own");
        assert_eq!(reader.changes("other", start, 10).await.unwrap().changes.len(), 2, "of another embedder");
        let raised = SemanticRow { min_score: 970_000, ..c };
        writer.put(raised.clone());
        save(writer).await;
        let again = reader.changes("local", found.position, 10).await.unwrap();
        assert_eq!(again.changes, [SemanticChange::Put(Box::new(raised))]);
    })
    .await;
}

#[tokio::test]
async fn changes_are_read_in_bounded_steps() {
    for_each_pair(|one, two| async move {
        let (writer, reader) = (one.semantic_entries(), two.semantic_entries());
        let now = writer.0.clock.now();
        for number in 0..5 {
            writer.put(row(&format!("e{number}"), "/", "m", 60, now));
            save(writer).await;
        }
        writer.purge(&purge(Some("/nowhere"), None)).await.unwrap();
        let (mut position, mut ids, mut steps) = (0, Vec::new(), 0);
        loop {
            let found = reader.changes("local", position, 2).await.unwrap();
            assert!(found.position > position && found.changes.len() <= 3, "{found:?}");
            ids.extend(found.changes.into_iter().map(|change| match change {
                SemanticChange::Put(row) => row.id,
                SemanticChange::Removed(_) | SemanticChange::Purged(_) => "purge".into(),
            }));
            (position, steps) = (found.position, steps + 1);
            if !found.has_more {
                break;
            }
        }
        assert_eq!((ids.join(" ").as_str(), steps), ("e0 e1 e2 e3 e4 purge", 3));
    })
    .await;
}

#[tokio::test]
async fn surplus_entries_and_old_removals_are_deleted() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        for (id, lasts) in [("a", 10), ("b", 30), ("c", 20)] {
            entries.put(row(id, "/", "m", lasts, now));
        }
        save(entries).await;
        assert_eq!((entries.trim(3).await.unwrap(), entries.trim(2).await.unwrap()), (0, 1));
        assert_eq!((ids(&store).await, entries.count().await.unwrap()), (vec!["b".into(), "c".into()], 2));
        (0..2 * LARGE_ROWS).for_each(|at| entries.put(row(&format!("x{at}"), "/", "m", 5, now)));
        save(entries).await;
        assert_eq!(entries.trim(2).await.unwrap(), 2 * LARGE_ROWS as u64);
        entries.purge(&purge(None, None)).await.unwrap();
        let removals = async || {
            let count = "SELECT COUNT(*) FROM semantic_removals";
            entries.0.database.fetch(count, &[]).await.unwrap()[0].get::<i64>(0).unwrap()
        };
        entries.expire(now).await.unwrap();
        assert_eq!(removals().await, 1);
        entries.expire(Timestamp(now.micros() + KEPT_REMOVALS.as_micros() as i64 + 1)).await.unwrap();
        assert_eq!(removals().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_score_is_raised_and_a_removed_entry_stays_removed() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        entries.put(row("a", "/", "m", 60, now));
        save(entries).await;
        for (score, expected) in [(970_000, 970_000), (960_000, 970_000)] {
            entries.raise_min_score("a", score).await.unwrap();
            assert_eq!(entries.find("a").await.unwrap().unwrap().min_score, expected);
        }
        entries.purge(&purge(None, None)).await.unwrap();
        entries.raise_min_score("a", 980_000).await.unwrap();
        assert_eq!(entries.find("a").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn vectors_need_postgresql() {
    for_each_backend(|store| async move {
        if !store.semantic_entries().is_shared() {
            let error = store.semantic_entries().open_vectors().await.unwrap_err().to_string();
            assert!(error.contains("STORAGE_TYPE=postgres"), "{error}");
        }
    })
    .await;
}

/// Runs on a PostgreSQL with pgvector: `suites/semantic` starts one.
#[tokio::test]
#[ignore = "needs PostgreSQL with pgvector: make suite semantic"]
async fn the_nearest_entries_of_a_partition_are_found_by_their_vectors() {
    for_each_backend(|store| async move {
        let (entries, now) = (store.semantic_entries(), store.semantic_entries().0.clock.now());
        if !entries.is_shared() {
            return;
        }
        entries.open_vectors().await.unwrap();
        entries.open_vectors().await.unwrap();
        let entry = |id: &str, partition: &str, lasts: i64, vector: [i8; 3]| SemanticRow {
            partition: partition.into(),
            vector: vector.iter().map(|component| component.cast_unsigned()).collect(),
            prompt: format!("prompt {id}"),
            ..row(id, "/a", "m", lasts, now)
        };
        entries.put(entry("far", "p", 60, [0, 127, 0]));
        entries.put(entry("near", "p", 60, [127, 10, 0]));
        entries.put(entry("expired", "p", 0, [127, 0, 0]));
        entries.put(entry("elsewhere", "q", 60, [127, 0, 0]));
        entries.put(SemanticRow { embedder: "other".into(), ..entry("other", "p", 60, [127, 0, 0]) });
        entries.put(SemanticRow { vector: vec![1, 2], ..entry("short", "p", 60, [0; 3]) });
        save(entries).await;
        let nearest = async |partition: &str, limit: i64| {
            let found = entries.nearest(partition, "local", &[0.9, 0.0, 0.0], limit).await.unwrap();
            found.into_iter().map(|near| near.id).collect::<Vec<_>>()
        };
        assert_eq!(nearest("p", 8).await, ["near", "far"]);
        assert_eq!(nearest("p", 1).await, ["near"]);
        assert_eq!(nearest("q", 8).await, ["elsewhere"]);
        let best = entries.nearest("p", "local", &[0.9, 0.0, 0.0], 1).await.unwrap().remove(0);
        assert!((996_000..998_000).contains(&best.score) && best.prompt == "prompt near", "{best:?}");
        // A replaced entry replaces its vector, and a purged one takes it along.
        entries.put(entry("near", "p", 60, [0, 0, 127]));
        save(entries).await;
        let again = entries.nearest("p", "local", &[0.0, 0.0, 1.0], 1).await.unwrap();
        assert_eq!((&*again[0].id, again[0].score), ("near", 1_000_000));
        assert_eq!(entries.find("near").await.unwrap().unwrap().prompt, "prompt near");
        entries.purge(&purge(Some("/a"), None)).await.unwrap();
        assert_eq!(nearest("p", 8).await, [""; 0]);
        assert_eq!(entries.find("near").await.unwrap(), None);
    })
    .await;
}
