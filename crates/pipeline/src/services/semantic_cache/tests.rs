//! The cache alone: what is similar enough, what is displaced, and what happens to answers that were wrong.

use bytes::Bytes;
use domain::call::Target;
use domain::user_path::UserPath;
use store::{SemanticChange, SemanticPurge, SemanticRow};
use testkit::word_vector;

use super::*;
use crate::services::recorded_answer::{AnswerHead, RecordedAnswer};

const NOW: Duration = Duration::from_secs(100);
const TIMES: (Duration, Timestamp) = (NOW, Timestamp(0));
const HERE: CacheKey = [1; 32];
const ELSEWHERE: CacheKey = [2; 32];
const QUESTION: &str = "How do I convert 5 km to miles?";

fn cache(max_entries: usize) -> SemanticCache {
    let limits = SemanticLimits { max_entries, max_bytes: 1 << 20, store_timeout: Duration::from_secs(1) };
    SemanticCache::new(limits, Embedder::Missing("none".into()), EntryStorage::Memory)
}

fn answer(body: &str, user_path: &str) -> CachedAnswer {
    let mut head = AnswerHead::default();
    head.set_target(&Target { instance: "east".into(), provider_type: "openai".into(), model: "m".into() });
    CachedAnswer {
        answer: RecordedAnswer::new(head, Bytes::from(body.to_owned())),
        is_stream: false,
        includes_usage: false,
        response_id: None,
        usage: None,
        cost: None,
        tenant: None,
        user_path: user_path.into(),
        expires_at: NOW + Duration::from_secs(10),
    }
}

fn insert(cache: &SemanticCache, partition: CacheKey, prompt: &str) {
    let generation = cache.generation();
    cache.insert(partition, prompt, &word_vector(prompt), answer(prompt, "/a"), generation, TIMES);
}

fn search(cache: &SemanticCache, partition: CacheKey, prompt: &str, prompt_similarity: f64) -> SemanticMatch {
    let vector = word_vector(prompt);
    let query =
        SemanticQuery { partition: &partition, prompt, vector: &vector, threshold: 0.95, prompt_similarity };
    cache.search(&query, NOW)
}

fn outcome(cache: &SemanticCache, partition: CacheKey, prompt: &str) -> &'static str {
    name(&search(cache, partition, prompt, 0.0))
}

fn name(found: &SemanticMatch) -> &'static str {
    match found.outcome {
        SemanticOutcome::Hit(_) => "hit",
        SemanticOutcome::NoEntry => "no entry",
        SemanticOutcome::BelowThreshold => "below threshold",
        SemanticOutcome::PromptChanged => "prompt changed",
    }
}

#[test]
fn a_hit_is_similar_in_meaning_and_in_decisive_words() {
    let cache = cache(100);
    assert_eq!(outcome(&cache, HERE, QUESTION), "no entry");
    insert(&cache, HERE, QUESTION);
    for (prompt, expected) in [
        (QUESTION, "hit"),
        ("Please convert 5 km to miles.", "hit"),
        ("Please convert 6 km to miles.", "prompt changed"),
        ("Who wrote Hamlet?", "below threshold"),
    ] {
        assert_eq!(outcome(&cache, HERE, prompt), expected, "{prompt}");
    }
    assert_eq!(outcome(&cache, ELSEWHERE, QUESTION), "no entry", "another partition");
    let found = search(&cache, HERE, "Please convert 5 km to miles.", 0.9);
    assert_eq!(name(&found), "prompt changed", "too few common words: {found:?}");
    assert!(
        found.score.is_some_and(|score| score > 0.99) && found.word_overlap.is_some_and(|share| share < 0.9)
    );
}

#[test]
fn another_entry_is_served_if_the_nearest_may_not_be() {
    let cache = cache(100);
    insert(&cache, HERE, "Convert 6 km to miles.");
    insert(&cache, HERE, "Convert 5 km to miles.");
    let found = search(&cache, HERE, QUESTION, 0.0);
    let SemanticOutcome::Hit(entry) = &found.outcome else { panic!("{found:?}") };
    assert_eq!(entry.prompt, "Convert 5 km to miles.");
}

#[test]
fn expired_answers_are_not_found() {
    let cache = cache(100);
    insert(&cache, HERE, QUESTION);
    let vector = word_vector(QUESTION);
    let query = SemanticQuery {
        partition: &HERE,
        prompt: QUESTION,
        vector: &vector,
        threshold: 0.95,
        prompt_similarity: 0.0,
    };
    let last = NOW + Duration::from_secs(10);
    assert_eq!(name(&cache.search(&query, last - Duration::from_nanos(1))), "hit");
    assert_eq!(name(&cache.search(&query, last)), "no entry");
}

#[test]
fn a_wrong_answer_needs_more_similarity() {
    let cache = cache(100);
    let (stored, similar) = (
        "Convert km to miles for the long road trip in May.",
        "Convert km to miles for the long road in May.",
    );
    insert(&cache, HERE, stored);
    let vector = word_vector(similar);
    let query = SemanticQuery {
        partition: &HERE,
        prompt: similar,
        vector: &vector,
        threshold: 0.5,
        prompt_similarity: 0.0,
    };
    let found = cache.index.read().search(&HERE, &vector, 1, NOW);
    let entry = cache.entries.get(&found[0].id).unwrap();
    assert!(found[0].score < 0.97, "{found:?}");
    cache.raise_min_score(&entry, f64::from(found[0].score), TIMES);
    assert_eq!(name(&cache.search(&query, NOW)), "below threshold");
    assert_eq!(outcome(&cache, HERE, stored), "hit", "the same text");
}

#[test]
fn the_same_text_comes_before_an_equally_similar_one() {
    let cache = cache(100);
    let (other, same) = ("miles to km convert 5", "convert 5 km to miles");
    insert(&cache, HERE, other);
    insert(&cache, HERE, same);
    let found = search(&cache, HERE, same, 0.0);
    let SemanticOutcome::Hit(entry) = &found.outcome else { panic!("{found:?}") };
    assert_eq!(entry.prompt, same);
    // An answer that was wrong at the highest score is one to the same text only.
    cache.raise_min_score(entry, 1.0, TIMES);
    assert!(cache.entries.get(&entry.id).unwrap().min_score > 1.0);
    assert_eq!(outcome(&cache, HERE, same), "hit");
}

#[test]
fn the_least_recently_used_entries_are_displaced() {
    let cache = cache(10);
    for number in 0..40_u8 {
        insert(&cache, [number; 32], QUESTION);
    }
    let entries = cache.len();
    assert!((5..=10).contains(&entries), "{entries} entries");
    assert_eq!(cache.index.read().len() as u64, entries, "the index follows");
    assert_eq!(outcome(&cache, [39; 32], QUESTION), "hit");
    assert_eq!(outcome(&cache, [0; 32], QUESTION), "no entry");
}

#[test]
fn a_purge_removes_what_its_filter_names() {
    let cache = cache(100);
    let generation = cache.generation();
    insert(&cache, HERE, QUESTION);
    let on_path = |path: &str| PurgeFilter {
        user_path: Some(UserPath::parse(path).unwrap()),
        ..PurgeFilter::default()
    };
    assert_eq!(cache.purge(&on_path("/b")), 0);
    assert_eq!(cache.purge(&on_path("/a")), 1);
    assert_eq!(outcome(&cache, HERE, QUESTION), "no entry");
    cache.insert(HERE, QUESTION, &word_vector(QUESTION), answer("late", "/a"), generation, TIMES);
    assert_eq!(outcome(&cache, HERE, QUESTION), "no entry", "an answer from before the purge");
    assert_eq!(cache.index.read().len(), 0);
}

#[test]
fn an_entry_is_read_back_as_it_was_stored() {
    let cache = cache(100);
    insert(&cache, HERE, QUESTION);
    let entry = cache.entries.iter().next().unwrap().1;
    let row = stored_entry::row(&entry, "e".into(), NOW, Timestamp(1_000)).unwrap();
    assert_eq!(row.expires_at, Timestamp(10_001_000));
    let later = (Duration::from_secs(7), Timestamp(4_001_000));
    let read = stored_entry::read(row.clone(), later.0, later.1).unwrap();
    let expected = CachedAnswer { expires_at: Duration::from_secs(13), ..answer(QUESTION, "/a") };
    assert_eq!(*read.cached, expected);
    assert_eq!((read.id, read.partition, &*read.prompt), (entry.id, HERE, QUESTION));
    assert!(stored_entry::read(row, later.0, Timestamp(10_001_000)).is_none(), "it has expired");
}

#[test]
fn changes_of_other_processes_are_applied() {
    let (here, there) = (cache(100), cache(100));
    insert(&there, HERE, QUESTION);
    let entry = there.entries.iter().next().unwrap().1;
    let row = stored_entry::row(&entry, "e".into(), NOW, Timestamp(0)).unwrap();
    let apply = |change: SemanticChange| here.apply(change, NOW, Timestamp(0));
    let put = || apply(SemanticChange::Put(Box::new(row.clone())));
    put();
    assert_eq!((outcome(&here, HERE, QUESTION), outcome(&here, ELSEWHERE, QUESTION)), ("hit", "no entry"));
    // A raised score replaces the entry.
    apply(SemanticChange::Put(Box::new(SemanticRow { min_score: 1_010_000, ..row.clone() })));
    assert_eq!(outcome(&here, HERE, "Please convert 5 km to miles."), "below threshold");
    assert_eq!((here.len(), here.index.read().len()), (1, 1));
    apply(SemanticChange::Removed(row.id.clone()));
    assert_eq!((outcome(&here, HERE, QUESTION), here.index.read().len()), ("no entry", 0));
    put();
    let generation = here.generation();
    let purge = |tenant: Option<&str>, path: &str, model: Option<&str>| {
        apply(SemanticChange::Purged(SemanticPurge {
            tenant_id: tenant.map(str::to_owned),
            user_path: Some(path.to_owned()),
            model: model.map(str::to_owned),
        }));
    };
    purge(None, "/b", None);
    assert_eq!(outcome(&here, HERE, QUESTION), "hit", "another path");
    purge(Some("acme"), "/a", None);
    assert_eq!(outcome(&here, HERE, QUESTION), "hit", "another tenant");
    purge(None, "/a", Some("m"));
    assert_eq!(outcome(&here, HERE, QUESTION), "no entry");
    here.insert(HERE, QUESTION, &word_vector(QUESTION), answer("late", "/a"), generation, TIMES);
    assert_eq!(outcome(&here, HERE, QUESTION), "no entry", "an answer from before the purge");
}
