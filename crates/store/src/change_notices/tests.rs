//! Tests of change notices.

use domain::clock::Timestamp;
use domain::resources::tenant::Tenant;
use domain::session::{SessionKind, SessionOwner, SessionRecord};

use super::*;
use crate::documents::collection::Write;
use crate::journal::Lag;
use crate::replicas::Replica;
use crate::testing::{for_each_database, open};
use crate::{RevokedBy, TokenRevocation};

const PATIENCE: Duration = Duration::from_secs(10);

async fn next(listener: &mut ChangeListener) -> ChangedData {
    tokio::time::timeout(PATIENCE, listener.next()).await.expect("no notice arrived").unwrap()
}

#[tokio::test]
async fn every_committed_change_is_announced() {
    for_each_database(|backend| async move {
        let (writer, reader) = (open(backend.clone()).await, open(backend).await);
        let Some(mut listener) = reader.listen_for_changes().await.unwrap() else {
            assert_eq!(reader.backend_name(), "sqlite");
            return;
        };
        let tenant: Tenant =
            serde_json::from_value(serde_json::json!({"id": "acme", "name": "Acme"})).unwrap();
        writer.collection().put(&tenant, Write::Create, "m", None).await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Documents);

        let revocation = TokenRevocation {
            by: RevokedBy::Subject,
            issuer: String::new(),
            value: "u".into(),
            revoked_at: Timestamp(1),
            expires_at: None,
        };
        writer.sessions().revoke_tokens(&revocation).await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Sessions);

        let session = SessionRecord {
            digest: [1; 32],
            kind: SessionKind::Access,
            family: "f".into(),
            owner: SessionOwner::User("u".into()),
            created_at: Timestamp(1),
            expires_at: Timestamp(2),
            ended_at: None,
        };
        writer.sessions().add(&[session], 10).await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Sessions);

        writer.semantic_entries().purge(&Default::default()).await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::SemanticCache);

        writer.ledger().leases().notify_wanted().await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::BudgetLeases);

        let replica = Replica {
            journal: "j".into(),
            host: "h".into(),
            pid: 1,
            version: "1".into(),
            started_at: Timestamp(1),
            draining: false,
            lag: Lag::default(),
        };
        writer.replicas().beat(&replica).await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Replicas);
    })
    .await;
}

#[tokio::test]
async fn a_change_that_is_rolled_back_is_not_announced() {
    for_each_database(|backend| async move {
        let (writer, reader) = (open(backend.clone()).await, open(backend).await);
        let Some(mut listener) = reader.listen_for_changes().await.unwrap() else { return };
        let mut change = writer.database().begin().await.unwrap();
        announce(&mut change, ChangedData::Documents).await.unwrap();
        drop(change);
        let mut change = writer.database().begin().await.unwrap();
        announce(&mut change, ChangedData::Sessions).await.unwrap();
        change.commit().await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Sessions);
    })
    .await;
}

#[tokio::test]
async fn a_listener_whose_connection_is_cut_fails() {
    for_each_database(|backend| async move {
        let (writer, reader) = (open(backend.clone()).await, open(backend).await);
        let Some(mut listener) = reader.listen_for_changes().await.unwrap() else { return };
        let cut = "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_stat_activity \
             WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        let rows = writer.database().fetch(cut, &[]).await.unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), 1);
        let ended = tokio::time::timeout(PATIENCE, listener.next()).await.expect("the cut went unnoticed");
        assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
        // Another one works.
        let mut listener = reader.listen_for_changes().await.unwrap().unwrap();
        let mut change = writer.database().begin().await.unwrap();
        announce(&mut change, ChangedData::Documents).await.unwrap();
        change.commit().await.unwrap();
        assert_eq!(next(&mut listener).await, ChangedData::Documents);
    })
    .await;
}
