//! Uses on both backends: the newest counts, in whatever order and batches they come, and a key's figures add up.

use std::collections::{BTreeMap, HashMap};

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use crate::ledger::booking::Booking;
use crate::ledger::{KeyFigures, UsageFilter};
use crate::testing::{for_each_backend, receipt};
use crate::{CacheMode, Store};

const START: i64 = 1_800_000_000;

fn call(number: i64, key: Option<&str>, second: i64) -> Receipt {
    Receipt {
        auth_key_id: key.map(Into::into),
        at: Timestamp::from_seconds(START + second),
        ..receipt(format!("r{number}"))
    }
}

async fn book(store: &Store, receipts: &[Receipt]) {
    let bookings: Vec<Booking> =
        receipts.iter().map(|receipt| Booking::of(receipt).unwrap().unwrap()).collect();
    let mut open = store.database().begin().await.unwrap();
    store.ledger().books.book(&mut open, &bookings, false).await.unwrap();
    open.commit().await.unwrap();
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(START + second)
}

#[tokio::test]
async fn the_newest_use_counts() {
    for_each_backend(|store| async move {
        let ledger = store.ledger();
        book(
            &store,
            &[call(1, Some("a"), 30), call(2, Some("b"), 5), call(3, Some("a"), 10), call(4, None, 99)],
        )
        .await;
        book(&store, &[call(5, Some("a"), 20), call(6, Some("b"), 6)]).await;
        let expected = HashMap::from([("a".to_owned(), at(30)), ("b".to_owned(), at(6))]);
        assert_eq!(ledger.all_key_uses().await.unwrap(), expected);

        let noted = [("a", 29), ("b", 60), ("c", 1)].map(|(key, second)| (key.to_owned(), at(second)));
        ledger.note_key_uses(&BTreeMap::from(noted)).await.unwrap();
        let asked = ledger.key_uses(&["a", "b", "never", "c"]).await.unwrap();
        let expected = [("a", 30), ("b", 60), ("c", 1)].map(|(key, second)| (key.to_owned(), at(second)));
        assert_eq!(asked, HashMap::from(expected));
        assert!(ledger.key_uses(&[]).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn many_keys_are_noted_and_asked_for() {
    for_each_backend(|store| async move {
        let name = |number: i64| format!("key_{number:04}");
        let calls: Vec<Receipt> = (0..77).map(|number| call(number, Some(&name(number)), number)).collect();
        book(&store, &calls).await;
        let noted: BTreeMap<String, Timestamp> =
            (50..450).map(|number| (name(number), at(1_000 + number))).collect();
        store.ledger().note_key_uses(&noted).await.unwrap();
        let names: Vec<String> = (0..460).map(name).collect();
        let asked: Vec<&str> = names.iter().map(String::as_str).collect();
        let uses = store.ledger().key_uses(&asked).await.unwrap();
        assert_eq!(uses.len(), 450);
        assert_eq!((uses[&name(49)], uses[&name(50)], uses[&name(449)]), (at(49), at(1_050), at(1_449)));
        assert_eq!(uses, store.ledger().all_key_uses().await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn the_figures_of_a_key_are_its_own_and_add_up() {
    for_each_backend(|store| async move {
        let mut calls =
            vec![call(1, Some("a"), 0), call(2, Some("a"), 901), call(3, Some("b"), 0), call(4, None, 0)];
        calls.push(Receipt { status: 429, cost: None, model: "other".into(), ..call(5, Some("a"), 10) });
        calls.push(Receipt { cache_type: "exact".into(), ..call(6, Some("a"), 10) });
        book(&store, &calls).await;
        let day = 86_400;
        let filter = UsageFilter {
            auth_key_id: Some("a".into()),
            cache: CacheMode::Uncached,
            ..UsageFilter::between(at(-(START % day)), at(day - START % day))
        };
        let models = store.ledger().models_of_key(&filter).await.unwrap();
        let seen: Vec<_> =
            models.iter().map(|of| (&*of.model, of.figures.requests, of.figures.errors)).collect();
        assert_eq!(seen, [("gpt-4o-2024-08-06", 2, 0), ("other", 1, 1)]);
        assert_eq!((&*models[0].provider, &*models[0].provider_name), ("openai", "main"));
        assert_eq!(models[1].figures.cost(), None, "nothing priced is not free");
        let quarters = store.ledger().quarters_of_key(&filter).await.unwrap();
        let begins: Vec<i64> = quarters.iter().map(|(at, _)| at.seconds() - START).collect();
        assert_eq!(begins, [0, 900]);
        let sum = |all: Vec<KeyFigures>| {
            all.iter().fold(KeyFigures::default(), |mut sum, more| {
                sum.add(more);
                sum
            })
        };
        let by_model = sum(models.iter().map(|of| of.figures).collect());
        assert_eq!(by_model, sum(quarters.iter().map(|(_, figures)| *figures).collect()));
        assert_eq!(by_model.input_tokens, 300);
        let summary = store.ledger().summary(&filter).await.unwrap();
        assert_eq!(by_model.cost().map(|[input, output]| input + output), summary.total_cost);
        let bound = UsageFilter { user_path: Some("/elsewhere".into()), ..filter };
        assert!(store.ledger().models_of_key(&bound).await.unwrap().is_empty());
    })
    .await;
}
