//! The bounds of the queue, and items that are replaced while they are being written.

use bytes::Bytes;

use super::*;
use crate::StoredResponse;
use crate::responses::tests::response;

#[test]
fn beyond_the_bound_the_oldest_lose_their_texts_and_keep_their_owner() {
    let mut pending = Pending::<StoredResponse>::default();
    let large = Bytes::from(vec![b'1'; MOST_BYTES / 4]);
    let put = |pending: &mut Pending<StoredResponse>, id: &str| {
        pending.put(StoredResponse { input: large.clone(), ..response(id) })
    };
    let lost: Vec<bool> = ["a", "b", "c", "d", "e"].iter().map(|id| put(&mut pending, id)).collect();
    assert_eq!(lost, [false, false, false, true, false], "said once");
    for id in ["a", "b"] {
        let poor = pending.get(id).unwrap();
        assert_eq!((poor.body.len(), poor.input.len(), poor.output.len()), (0, 0, 0), "{id}");
        assert!(!poor.retrievable && !poor.usable);
        assert_eq!(poor.owner, response(id).owner);
    }
    assert!(["c", "d", "e"].iter().all(|id| pending.get(id).unwrap().usable));
    assert_eq!(pending.take_lost(), 2);
    let all: Vec<Aged<StoredResponse>> = pending.oldest(10, usize::MAX);
    all.iter().for_each(|aged| pending.settle(aged));
    assert_eq!((pending.bytes, pending.len(), pending.ages.len()), (0, 0, 0));
}

#[test]
fn the_number_is_bounded_too() {
    let mut pending = Pending::<StoredResponse>::default();
    for n in 0..MOST + 3 {
        pending.put(response(&n.to_string()));
    }
    assert_eq!((pending.len(), pending.ages.len()), (MOST, MOST));
    assert!(pending.get("2").is_none() && pending.get("3").is_some());
}

#[test]
fn a_batch_ends_at_either_bound_and_is_never_empty_without_need() {
    let mut pending = Pending::<StoredResponse>::default();
    ["a", "b", "c"].iter().for_each(|id| _ = pending.put(response(id)));
    let one = response("a").weight();
    let ids = |batch: Vec<Aged<StoredResponse>>| {
        batch.into_iter().map(|(_, one)| one.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(pending.oldest(2, usize::MAX)), ["a", "b"]);
    assert_eq!(ids(pending.oldest(9, 2 * one)), ["a", "b"]);
    assert_eq!(ids(pending.oldest(9, 1)), ["a"]);
}

#[test]
fn an_entry_replaced_during_its_write_is_written_again() {
    let mut pending = Pending::<StoredResponse>::default();
    pending.put(response("a"));
    let batch = pending.oldest(9, usize::MAX);
    let newer = StoredResponse { body: Bytes::from_static(b"{}"), ..response("a") };
    pending.put(newer.clone());
    batch.iter().for_each(|aged| pending.settle(aged));
    assert_eq!(*pending.get("a").unwrap(), newer);
    pending.oldest(9, usize::MAX).iter().for_each(|aged| pending.settle(aged));
    assert!(pending.is_empty());
}
