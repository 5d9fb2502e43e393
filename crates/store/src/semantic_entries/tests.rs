//! Entries of the semantic cache on both backends: written, read in pages, purged and expired.

use bytes::Bytes;

use super::*;
use crate::Store;
use crate::testing::for_each_backend;

async fn save(entries: &SemanticEntries) {
    while entries.0.backlog.save(&*entries.0).await.unwrap() > 0 {}
}

fn row(id: &str, user_path: &str, model: &str, lasts: i64, now: Timestamp) -> SemanticRow {
    SemanticRow {
        id: id.into(),
        partition: "p".into(),
        embedder: "local".into(),
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
        let stored = row("a", "/", "m", 60, now);
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
        assert_eq!(entries.purge(Some("/a"), Some("n")).await.unwrap(), 0);
        assert_eq!(entries.purge(Some("/a"), None).await.unwrap(), 2);
        assert_eq!(ids(&store).await, ["c", "d"]);
        assert_eq!(entries.purge(None, Some("n")).await.unwrap(), 1);
        assert_eq!(entries.purge(None, None).await.unwrap(), 1);
    })
    .await;
}
