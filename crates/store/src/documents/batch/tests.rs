//! Batches on both backends: all or nothing, and only at the expected revision.

use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use serde_json::json;

use super::Batch;
use crate::testing::for_each_backend;
use crate::{Store, StoreError};

fn provider(name: &str) -> Provider {
    serde_json::from_value(json!({"name": name, "type": "openai", "api_key": "sk-1"})).unwrap()
}

fn pool(name: &str, member: &str) -> Pool {
    let pool = json!({"name": name, "description": "", "members": [member], "strategy": "round_robin", "weights": {}, "health_aware": true});
    serde_json::from_value(pool).unwrap()
}

async fn names(store: &Store) -> (Vec<String>, Vec<String>) {
    let providers = store.collection::<Provider>().all().await.unwrap();
    let pools = store.collection::<Pool>().all().await.unwrap();
    let name = |stored: crate::Stored<Pool>| stored.value.name;
    (providers.into_iter().map(|stored| stored.value.name).collect(), pools.into_iter().map(name).collect())
}

#[tokio::test]
async fn a_batch_is_applied_as_a_whole_and_only_to_the_expected_revision() {
    for_each_backend(|store| async move {
        let documents = store.documents();
        let mut first = Batch::default();
        assert!(first.is_empty());
        first.put("", &provider("a")).unwrap();
        first.put("", &pool("p", "a")).unwrap();
        assert_eq!(documents.apply(&first, "test", 0).await.unwrap(), 2);
        assert_eq!(names(&store).await, (vec!["a".to_owned()], vec!["p".to_owned()]));
        assert_eq!(documents.revision().await.unwrap(), 2);

        let outdated = documents.apply(&first, "test", 1).await;
        assert!(matches!(outdated, Err(StoreError::PreconditionFailed)), "{outdated:?}");
        let mut referred = Batch::default();
        referred.put("", &provider("b")).unwrap();
        referred.delete::<Provider>("", "a", false);
        let refused = documents.apply(&referred, "test", 2).await;
        assert!(
            matches!(&refused, Err(StoreError::Conflict { referrers, .. }) if referrers == &["pool/p"]),
            "{refused:?}"
        );
        assert_eq!(names(&store).await.0, ["a"]);
        assert_eq!(documents.revision().await.unwrap(), 2, "nothing of it was kept");

        let mut all = Batch::default();
        all.delete::<Pool>("", "p", false);
        all.delete::<Provider>("", "a", false);
        documents.apply(&all, "test", 2).await.unwrap();
        assert_eq!(names(&store).await, (Vec::new(), Vec::new()));
        assert_eq!(documents.changes_since(2, 10).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_invalid_document_is_not_added() {
    let mut batch = Batch::default();
    assert!(matches!(batch.put("", &ModelPrice::default()), Err(StoreError::Invalid(_))));
    assert!(batch.is_empty());
}
