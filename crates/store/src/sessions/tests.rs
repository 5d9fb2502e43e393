//! Tests of sessions and revocations on both databases.

use domain::clock::Timestamp;
use domain::session::{SessionKind, SessionOwner, SessionRecord};

use super::{RefreshOutcome, RevokedBy, TokenRevocation};
use crate::testing::for_each_backend;

fn record(number: u8, kind: SessionKind, family: &str) -> SessionRecord {
    SessionRecord {
        digest: [number; 32],
        kind,
        family: family.to_owned(),
        owner: SessionOwner::User("user_1".into()),
        created_at: Timestamp(i64::from(number)),
        expires_at: Timestamp(1_000),
        ended_at: None,
    }
}

#[tokio::test]
async fn sessions_are_listed_while_they_live() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        let (cookie, access) = (record(1, SessionKind::Cookie, "a"), record(2, SessionKind::Access, "a"));
        let refresh = record(3, SessionKind::Refresh, "a");
        sessions.add(&[cookie.clone(), access.clone(), refresh], 10).await.unwrap();
        let mut live = sessions.live(Timestamp(10)).await.unwrap();
        live.sort_by_key(|record| record.digest);
        assert_eq!(live, [cookie, access]);
        assert_eq!(sessions.live(Timestamp(1_000)).await.unwrap(), []);
        let before = sessions.newest_change().await.unwrap();
        sessions.end_family("a", Timestamp(20)).await.unwrap();
        assert_eq!(sessions.live(Timestamp(21)).await.unwrap(), []);
        let ended = sessions.changed_since(before).await.unwrap();
        assert_eq!(ended.len(), 2);
        assert!(ended.iter().all(|record| record.ended_at == Some(Timestamp(20))), "{ended:?}");
        assert_eq!(sessions.expire(Timestamp(1_000), 2).await.unwrap(), 3);
    })
    .await;
}

#[tokio::test]
async fn the_oldest_families_end_beyond_the_limit() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        for number in 1..=4 {
            sessions.add(&[record(number, SessionKind::Cookie, &format!("f{number}"))], 2).await.unwrap();
        }
        let mut live: Vec<String> =
            sessions.live(Timestamp(10)).await.unwrap().into_iter().map(|record| record.family).collect();
        live.sort();
        assert_eq!(live, ["f3", "f4"]);
        sessions.end_owner(&SessionOwner::User("user_1".into()), Timestamp(11)).await.unwrap();
        assert_eq!(sessions.live(Timestamp(12)).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_refresh_token_is_used_once_and_its_reuse_ends_the_family() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        let (cookie, refresh) = (record(1, SessionKind::Cookie, "a"), record(2, SessionKind::Refresh, "a"));
        sessions.add(&[cookie, record(3, SessionKind::Access, "a"), refresh.clone()], 10).await.unwrap();
        let issue = |old: &SessionRecord| {
            assert_eq!(old.family, "a");
            vec![record(4, SessionKind::Refresh, "a"), record(5, SessionKind::Access, "a")]
        };
        let none = |_: &SessionRecord| Vec::new();
        let exchanged = sessions.exchange(&[2; 32], Timestamp(30), issue).await.unwrap();
        assert_eq!(exchanged, RefreshOutcome::Exchanged(refresh));
        let mut live: Vec<u8> =
            sessions.live(Timestamp(31)).await.unwrap().iter().map(|record| record.digest[0]).collect();
        live.sort_unstable();
        assert_eq!(live, [1, 5], "the earlier access token has ended");
        // An access token or an unknown value is no refresh token.
        let newest = sessions.newest_change().await.unwrap();
        for number in [5, 9] {
            let outcome = sessions.exchange(&[number; 32], Timestamp(32), none).await.unwrap();
            assert_eq!(outcome, RefreshOutcome::Unknown);
        }
        assert_eq!(sessions.newest_change().await.unwrap(), newest, "nothing was written");
        let reused = sessions.exchange(&[2; 32], Timestamp(33), none).await.unwrap();
        assert_eq!(reused, RefreshOutcome::Reused { family: "a".into() });
        assert_eq!(sessions.live(Timestamp(34)).await.unwrap(), []);
        let after = sessions.exchange(&[4; 32], Timestamp(35), none).await.unwrap();
        assert_eq!(after, RefreshOutcome::Reused { family: "a".into() });
        let late = sessions.exchange(&[4; 32], Timestamp(2_000), none).await.unwrap();
        assert_eq!(late, RefreshOutcome::Unknown);
    })
    .await;
}

#[tokio::test]
async fn revocations_are_read_by_change() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        let mut revocation = TokenRevocation {
            by: RevokedBy::Subject,
            issuer: "https://issuer".into(),
            value: "alice".into(),
            revoked_at: Timestamp(5),
            expires_at: None,
        };
        sessions.revoke_tokens(&revocation).await.unwrap();
        assert_eq!(sessions.revocations_since(0).await.unwrap(), [revocation.clone()]);
        let seen = sessions.newest_change().await.unwrap();
        assert_eq!(sessions.revocations_since(seen).await.unwrap(), []);
        revocation.revoked_at = Timestamp(9);
        sessions.revoke_tokens(&revocation).await.unwrap();
        assert_eq!(sessions.revocations_since(seen).await.unwrap(), [revocation]);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_revocation_never_ends_earlier() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        for (first, second, kept) in [
            (Some(100), Some(50), Some(100)),
            (Some(50), Some(100), Some(100)),
            (None, Some(100), None),
            (Some(100), None, None),
        ] {
            let value = format!("{first:?} {second:?}");
            for (revoked_at, expires_at) in [(5, first), (6, second)] {
                let revocation = TokenRevocation {
                    by: RevokedBy::Jti,
                    issuer: "https://issuer".into(),
                    value: value.clone(),
                    revoked_at: Timestamp(revoked_at),
                    expires_at: expires_at.map(Timestamp),
                };
                sessions.revoke_tokens(&revocation).await.unwrap();
            }
            let stored = sessions.revocations_since(0).await.unwrap().pop().unwrap();
            assert_eq!((stored.value, stored.revoked_at), (value.clone(), Timestamp(6)));
            assert_eq!(stored.expires_at, kept.map(Timestamp), "{value}");
        }
    })
    .await;
}

#[tokio::test]
async fn revocations_of_expired_tokens_are_deleted_in_batches() {
    for_each_backend(|store| async move {
        let sessions = store.sessions();
        let revocation = |value: &str, expires_at: Option<i64>| TokenRevocation {
            by: RevokedBy::Jti,
            issuer: "https://issuer".into(),
            value: value.into(),
            revoked_at: Timestamp(5),
            expires_at: expires_at.map(Timestamp),
        };
        let kept = [revocation("later", Some(101)), revocation("unknown", None)];
        let gone = ["a", "b", "c", "d", "e"].map(|value| revocation(value, Some(100)));
        for one in gone.iter().chain(&kept) {
            sessions.revoke_tokens(one).await.unwrap();
        }
        assert_eq!(sessions.expire_revocations(Timestamp(99), 2).await.unwrap(), 0);
        assert_eq!(sessions.expire_revocations(Timestamp(100), 2).await.unwrap(), 5);
        assert_eq!(sessions.revocations_since(0).await.unwrap(), kept);
    })
    .await;
}
