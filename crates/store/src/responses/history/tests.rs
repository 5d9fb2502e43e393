//! Histories on both backends: complete, in order, bounded, and restricted to one owner.

use bytes::Bytes;
use domain::clock::Timestamp;

use crate::responses::tests::{NOW, following, owner, response, save_all};
use crate::responses::{Responses, StoredResponse};
use crate::testing::for_each_backend;

async fn ids(responses: &Responses, id: &str) -> Vec<String> {
    responses.history(id).await.unwrap().into_iter().map(|turn| turn.id).collect()
}

#[tokio::test]
async fn a_history_has_every_turn_in_order() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        responses.put(response("a"));
        responses.put(StoredResponse { retrievable: false, ..following("b", "a") });
        save_all(responses).await;
        responses.put(following("c", "b"));
        responses.put(following("d", "c"));
        for round in ["partly", "wholly"] {
            assert_eq!(ids(responses, "d").await, ["a", "b", "c", "d"], "{round}");
            let turns = responses.history("b").await.unwrap();
            assert_eq!(turns[0], StoredResponse { body: Bytes::new(), ..response("a") });
            assert_eq!(turns[1].input, response("b").input);
            save_all(responses).await;
        }
        // The newer version of a turn in the middle is queued, and so is one before a stored one.
        responses.put(StoredResponse { input: Bytes::from_static(b"[1]"), ..following("b", "a") });
        responses.put(response("a"));
        let turns = responses.history("d").await.unwrap();
        assert_eq!((turns.len(), &turns[1].input[..]), (4, &b"[1]"[..]));
        assert!(ids(responses, "unknown").await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_history_ends_where_it_must() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        let put = |all: Vec<StoredResponse>| all.into_iter().for_each(|response| responses.put(response));
        put(vec![following("after-gap", "gone"), following("last", "after-gap")]);
        let theirs = StoredResponse { owner: owner("key_2"), ..response("theirs") };
        put(vec![theirs, following("mine", "theirs"), following("mine-too", "mine")]);
        put(vec![following("x", "z"), following("y", "x"), following("z", "y"), following("self", "self")]);
        let private = StoredResponse { usable: false, ..response("private") };
        put(vec![private, following("after-private", "private")]);
        let expired = StoredResponse { expires_at: Timestamp::from_seconds(NOW), ..response("expired") };
        put(vec![expired, following("after-expired", "expired")]);
        for round in ["waiting", "stored"] {
            assert_eq!(ids(responses, "last").await, ["after-gap", "last"], "{round}");
            assert_eq!(ids(responses, "mine-too").await, ["mine", "mine-too"], "{round}");
            assert_eq!(ids(responses, "z").await, ["x", "y", "z"], "{round}");
            assert_eq!(ids(responses, "self").await, ["self"], "{round}");
            assert_eq!(ids(responses, "after-private").await, ["after-private"], "{round}");
            assert!(ids(responses, "private").await.is_empty(), "{round}");
            assert_eq!(ids(responses, "after-expired").await, ["after-expired"], "{round}");
            assert!(ids(responses, "expired").await.is_empty(), "{round}");
            save_all(responses).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_history_is_bounded_in_turns_and_in_bytes() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        responses.put(response("0"));
        (1..=250).for_each(|n: usize| responses.put(following(&n.to_string(), &(n - 1).to_string())));
        let large = Bytes::from(vec![b'1'; 9 << 20]);
        for (id, previous) in [("l1", "0"), ("l2", "l1"), ("l3", "l2"), ("l4", "l3"), ("l5", "l4")] {
            responses.put(StoredResponse { output: large.clone(), ..following(id, previous) });
        }
        let huge = Bytes::from(vec![b'1'; 33 << 20]);
        for round in ["waiting", "stored"] {
            let turns = ids(responses, "250").await;
            assert_eq!((turns.len(), turns[0].as_str(), turns[199].as_str()), (200, "51", "250"), "{round}");
            assert_eq!(ids(responses, "l5").await, ["l3", "l4", "l5"], "{round}");
            save_all(responses).await;
        }
        responses.put(StoredResponse { output: huge, ..following("huge", "0") });
        assert_eq!(ids(responses, "huge").await, ["huge"]);
        save_all(responses).await;
        assert_eq!(ids(responses, "huge").await, ["huge"]);
    })
    .await;
}
