//! Key uses on both backends: the latest counts, in whatever order and batches they arrive, and the figures of a key
//! add up.

use std::collections::{BTreeMap, HashMap};

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use crate::Store;
use crate::ledger::booking::Booking;
use crate::testing::{for_each_backend, receipt};

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
    store.ledger().writer.book(&mut open, &bookings, false).await.unwrap();
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
        assert_eq!(ledger.all_key_uses().await.unwrap(), expected, "while they wait");
        ledger.compact_all().await.unwrap();
        assert_eq!(ledger.all_key_uses().await.unwrap(), expected);
        book(&store, &[call(7, Some("b"), 4), call(8, Some("d"), 8)]).await;

        let noted = [("a", 29), ("b", 60), ("c", 1)].map(|(key, second)| (key.to_owned(), at(second)));
        ledger.note_key_uses(&BTreeMap::from(noted)).await.unwrap();
        let asked = ledger.key_uses(&["a", "b", "never", "c", "d"]).await.unwrap();
        let expected =
            [("a", 30), ("b", 60), ("c", 1), ("d", 8)].map(|(key, second)| (key.to_owned(), at(second)));
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
