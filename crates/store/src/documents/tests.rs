//! Documents on both backends: concurrent writes, rejections, change records, encryption at rest.

use domain::fault::{self, Fault};
use domain::resources::Resource;
use domain::resources::auth_key::AuthKey;
use domain::resources::provider::Provider;
use domain::resources::tenant::Tenant;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use domain::secret::Secret;
use serde::{Deserialize, Serialize};

use super::Documents;

use crate::testing::{Hand, Noise, for_each_backend, for_each_database, open, open_with_wrong_key};
use crate::{Backend, ChangeFilter, Collection, Page, Store, StoreConfig, StoreError, Write, fingerprint};

const SECRET: &str = "sk-canary-4711-secret";

/// A document that refers to providers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pool {
    name: String,
    members: Vec<String>,
}

impl Resource for Pool {
    const KIND: &'static str = "pool";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        if self.members.is_empty() { Err(fault::invalid_parameter("members", "None.")) } else { Ok(()) }
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        self.members.iter().map(|member| (Provider::KIND, member.clone())).collect()
    }
}

fn provider(name: &str) -> Provider {
    serde_json::from_value(serde_json::json!({"name": name, "type": "openai", "api_key": SECRET})).unwrap()
}

fn pool(name: &str, members: &[&str]) -> Pool {
    Pool { name: name.into(), members: members.iter().map(|member| (*member).to_owned()).collect() }
}

async fn with_one(store: &Store) -> Collection<Provider> {
    let providers = store.collection::<Provider>();
    providers.put(&provider("a"), Write::Create, "master", None).await.unwrap();
    providers
}

#[tokio::test]
async fn a_document_round_trips() {
    for_each_backend(|store| async move {
        let providers = store.collection::<Provider>();
        assert_eq!(providers.get("a").await.unwrap(), None);
        let put = providers.put(&provider("a"), Write::Create, "key_1", None).await.unwrap();
        assert_eq!((put.revision, put.etag().as_str()), (1, "\"1\""));
        assert_eq!(providers.get("a").await.unwrap().unwrap(), put);
        assert_eq!(put.value.api_key.as_ref().map(Secret::reveal), Some(SECRET));
        assert_eq!(put.updated_by, "key_1");
        assert_eq!(store.documents().revision().await.unwrap(), 1);
        store.ping().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn each_write_mode_rejects_conflicts() {
    for_each_backend(|store| async move {
        let providers = with_one(&store).await;
        let again = providers.put(&provider("a"), Write::Create, "m", None).await;
        assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
        let absent = providers.put(&provider("b"), Write::Replace, "m", None).await;
        assert_eq!(absent.unwrap_err(), StoreError::NotFound);
        assert_eq!(providers.delete("b", "m", None).await.unwrap_err(), StoreError::NotFound);
        assert_eq!(providers.delete("\0", "m", None).await.unwrap_err(), StoreError::NotFound);
        let invalid = providers.put(&provider("no spaces"), Write::Upsert, "m", None).await;
        assert_eq!(Fault::from(invalid.unwrap_err()).status, 400);
        assert_eq!(store.documents().revision().await.unwrap(), 1, "a refused write takes no revision");
    })
    .await;
}

#[tokio::test]
async fn if_match_lets_only_the_known_revision_pass() {
    for_each_backend(|store| async move {
        let providers = with_one(&store).await;
        let put = |tag: &'static str| {
            let providers = providers.clone();
            async move { providers.put(&provider("a"), Write::Replace, "m", Some(tag)).await }
        };
        assert_eq!(put("\"7\"").await.unwrap_err(), StoreError::PreconditionFailed);
        assert_eq!(put("\"1\"").await.unwrap().revision, 2);
        assert_eq!(put("\"1\"").await.unwrap_err(), StoreError::PreconditionFailed);
        assert_eq!(put("\"9\", \"2\"").await.unwrap().revision, 3);
        assert_eq!(put("*").await.unwrap().revision, 4);
        let fresh = providers.put(&provider("new"), Write::Upsert, "m", Some("*")).await;
        assert_eq!(fresh.unwrap_err(), StoreError::PreconditionFailed);
        assert_eq!(
            providers.delete("a", "m", Some("\"1\"")).await.unwrap_err(),
            StoreError::PreconditionFailed
        );
        assert_eq!(providers.delete("a", "m", Some("\"4\"")).await.unwrap().revision, 4);
        assert_eq!(providers.get("a").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn referenced_documents_cannot_be_deleted() {
    for_each_backend(|store| async move {
        let providers = with_one(&store).await;
        let pools = store.collection::<Pool>();
        pools.put(&pool("fast", &["a", "a", "zzz"]), Write::Create, "m", None).await.unwrap();
        pools.put(&pool("cheap", &["a"]), Write::Create, "m", None).await.unwrap();
        let Err(StoreError::Conflict { message, referrers }) = providers.delete("a", "m", None).await else {
            panic!("deleted what two pools refer to");
        };
        assert_eq!(referrers, ["pool/cheap", "pool/fast"]);
        assert!(message.contains("pool/cheap, pool/fast"), "{message}");
        pools.put(&pool("cheap", &["b"]), Write::Replace, "m", None).await.unwrap();
        pools.delete("fast", "m", None).await.unwrap();
        providers.delete("a", "m", None).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_change_log_has_everything_but_secrets() {
    for_each_backend(|store| async move {
        let providers = with_one(&store).await;
        let changed = Provider { base_url: "https://example.com".into(), ..provider("a") };
        providers.put(&changed, Write::Replace, "key_2", None).await.unwrap();
        providers.put(&Provider { api_key: None, ..provider("b") }, Write::Upsert, "m", None).await.unwrap();
        providers.delete("a", "key_3", None).await.unwrap();

        let changes = store.documents().changes_since(0, 100).await.unwrap();
        let told: Vec<_> = changes.iter().map(|c| (c.revision, &*c.action, &*c.name, &*c.actor)).collect();
        let expected = [
            (1, "create", "a", "master"),
            (2, "update", "a", "key_2"),
            (3, "create", "b", "m"),
            (4, "delete", "a", "key_3"),
        ];
        assert_eq!(told, expected);
        assert!(!format!("{changes:?}").contains(SECRET));
        assert!(changes[0].before.is_none() && changes[3].after.is_none());
        assert!(changes[0].after.as_ref().unwrap().contains(r#""api_key":"***""#));
        assert!(changes[1].before.as_ref().unwrap().contains(r#""api_key":"***""#));
        assert!(changes[1].after.as_ref().unwrap().contains("example.com"));
        assert!(changes[2].after.as_ref().unwrap().contains(r#""api_key":null"#));
        assert!(changes[3].before.as_ref().unwrap().contains(r#""api_key":"***""#));

        let of = |name: Option<&str>, before_revision| ChangeFilter {
            kind: Some("provider".into()),
            name: name.map(str::to_owned),
            before_revision,
            limit: 2,
            ..ChangeFilter::default()
        };
        let revisions = async |filter| {
            let changes = store.documents().changes(&filter).await.unwrap();
            changes.iter().map(|change| change.revision).collect::<Vec<_>>()
        };
        assert_eq!(revisions(of(None, None)).await, [4, 3]);
        assert_eq!(revisions(of(None, Some(3))).await, [2, 1]);
        assert_eq!(revisions(of(Some("a"), Some(4))).await, [2, 1]);
        let none = ChangeFilter { kind: Some("pool".into()), limit: 9, ..Default::default() };
        assert!(revisions(none).await.is_empty());
        assert_eq!(store.documents().changes_since(2, 1).await.unwrap()[0].revision, 3);
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_nowhere_in_the_database() {
    for_each_database(|backend| async move {
        let store = open(backend.clone()).await;
        with_one(&store).await;
        store.collection::<Provider>().put(&provider("a"), Write::Replace, "m", None).await.unwrap();
        let rows = store
            .database()
            .fetch("SELECT body FROM documents UNION SELECT new_body FROM changes", &[])
            .await;
        for row in rows.unwrap() {
            assert!(!row.get::<String>(0).unwrap().contains("canary"));
        }
        store.close().await;
        if let Backend::Sqlite { path } = backend {
            for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
                let bytes = std::fs::read(entry.unwrap().path()).unwrap();
                assert!(!bytes.windows(6).any(|window| window == b"canary"));
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_broken_document_does_not_affect_others() {
    for_each_database(|backend| async move {
        let store = open(backend.clone()).await;
        let providers = with_one(&store).await;
        providers.put(&Provider { api_key: None, ..provider("b") }, Write::Create, "m", None).await.unwrap();
        providers.put(&Provider { api_key: None, ..provider("c") }, Write::Create, "m", None).await.unwrap();
        store.database().execute("UPDATE documents SET body = '{oops' WHERE name = 'b'", &[]).await.unwrap();
        store.close().await;

        let store = open_with_wrong_key(backend).await;
        let raw = store.documents().raw("provider").await.unwrap();
        let broken: Vec<_> =
            raw.iter().map(|document| (&*document.name, document.broken.is_some())).collect();
        assert_eq!(broken, [("a", true), ("b", true), ("c", false)], "another key opens no secret");
        assert!(raw[0].broken.as_ref().unwrap().contains("another key"));
        let providers = store.collection::<Provider>();
        assert_eq!(providers.all().await.unwrap().len(), 1);
        assert!(matches!(providers.get("a").await, Err(StoreError::Corrupt(_))));
        assert!(matches!(providers.delete("b", "m", None).await, Err(StoreError::Corrupt(_))));
        providers.put(&provider("a"), Write::Replace, "m", None).await.unwrap();
        store.documents().discard("provider", "b", "m").await.unwrap();
        assert_eq!(providers.all().await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_row_that_is_not_text_does_not_affect_others() {
    for_each_backend(|store| async move {
        if store.backend_name() != "sqlite" {
            return;
        }
        let providers = with_one(&store).await;
        providers.put(&provider("b"), Write::Create, "m", None).await.unwrap();
        store.database().execute("UPDATE documents SET body = x'ff00' WHERE name = 'b'", &[]).await.unwrap();
        store.database().execute("UPDATE changes SET new_body = x'ff00'", &[]).await.unwrap();
        assert_eq!(providers.all().await.unwrap().len(), 1);
        assert!(matches!(providers.get("b").await, Err(StoreError::Corrupt(_))));
        assert_eq!(store.documents().changes_since(0, 10).await.unwrap().len(), 2);
        providers.delete_any("b", "m", None).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn another_encryption_key_is_refused() {
    for_each_database(|backend| async move {
        let open_key = async |key: u8| {
            let entropy = Noise::fresh();
            let operation_timeout = std::time::Duration::from_secs(20);
            let config =
                StoreConfig { backend: backend.clone(), sealing_key: [key; 32], operation_timeout, entropy };
            Store::open(config, Hand::at(1)).await
        };
        // The first process sets the key, before anything is encrypted.
        open_key(5).await.unwrap().close().await;
        let refused = open_key(6).await.err().unwrap();
        let (own, stored) = (fingerprint(&[6; 32]), Some(fingerprint(&[5; 32])));
        assert_eq!(refused, StoreError::WrongKey { stored, own: own.clone() });
        // For a database from before fingerprints, the encrypted data decides.
        let store = open_key(5).await.unwrap();
        with_one(&store).await;
        let forget = "DELETE FROM documents WHERE kind = 'encryption_key'";
        store.database().execute(forget, &[]).await.unwrap();
        assert_eq!(open_key(6).await.err().unwrap(), StoreError::WrongKey { stored: None, own });
        open_key(5).await.unwrap().close().await;
        assert_eq!(store.documents().revision().await.unwrap(), 1, "it is no change of the configuration");
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn pages_go_by_name() {
    for_each_backend(|store| async move {
        let providers = store.collection::<Provider>();
        for name in ["b", "B", "a", "_", "a.b", "a-b"] {
            providers.put(&provider(name), Write::Create, "m", None).await.unwrap();
        }
        let mut names = Vec::new();
        let mut after = None;
        loop {
            let page = providers.list(Page { limit: 4, after: after.take() }).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.value.name.clone());
            names.extend(page.into_iter().map(|stored| stored.value.name));
        }
        assert_eq!(names, ["B", "_", "a", "a-b", "a.b", "b"], "the order is that of bytes on both backends");
    })
    .await;
}

#[tokio::test]
async fn writers_wait_for_each_other_and_revisions_have_no_gap() {
    for_each_backend(|store| async move {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..8 {
            let providers = store.collection::<Provider>();
            writers.spawn(async move {
                for turn in 0..5 {
                    let own = provider(&format!("p{writer}"));
                    let shared = provider("shared");
                    providers
                        .put(if turn % 2 == 0 { &own } else { &shared }, Write::Upsert, "m", None)
                        .await
                        .unwrap();
                }
            });
        }
        while let Some(done) = writers.join_next().await {
            done.unwrap();
        }
        let changes = store.documents().changes_since(0, 100).await.unwrap();
        let revisions: Vec<i64> = changes.iter().map(|change| change.revision).collect();
        assert_eq!(revisions, (1..=40).collect::<Vec<i64>>());
        assert_eq!(changes.iter().filter(|c| c.name == "shared" && c.action == "create").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn unreachable_storage_is_reported() {
    for_each_backend(|store| async move {
        store.close().await;
        let error = store.documents().revision().await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        assert_eq!(Fault::from(error).status, 503);
    })
    .await;
}

#[tokio::test]
async fn several_are_written_together_or_not_at_all() {
    for_each_backend(|store| async move {
        let pools = store.collection::<Pool>();
        let names = async || {
            let all = pools.all().await.unwrap();
            all.into_iter().map(|stored| stored.value.name).collect::<Vec<_>>()
        };
        let (first, second) = (pool("first", &["a"]), pool("second", &["b"]));
        pools.put_and_delete(&[first.clone(), second], &[], "m").await.unwrap();
        assert_eq!(names().await, ["first", "second"]);
        assert_eq!(store.documents().revision().await.unwrap(), 2);
        // The last operation fails, so nothing is applied.
        let gone = ["first".to_owned(), "none".to_owned()];
        let refused = pools.put_and_delete(&[pool("third", &["c"])], &gone, "m").await;
        assert_eq!(refused.unwrap_err(), StoreError::NotFound);
        let refused = pools.put_and_delete(&[pool("third", &["c"]), pool("empty", &[])], &[], "m").await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))));
        assert_eq!((names().await.len(), store.documents().revision().await.unwrap()), (2, 2));
        pools.put_and_delete(&[pool("third", &["c"]), first], &["second".into()], "m").await.unwrap();
        assert_eq!(names().await, ["first", "third"]);
        let log = store.documents().changes_since(2, 10).await.unwrap();
        let log: Vec<_> = log.iter().map(|change| (&*change.action, &*change.name)).collect();
        assert_eq!(log, [("create", "third"), ("update", "first"), ("delete", "second")]);
    })
    .await;
}

#[tokio::test]
async fn tenants_have_documents_of_their_own() {
    for_each_backend(|store| async move {
        let acme = store.documents().of_tenant("acme");
        let (ours, theirs) = (store.collection::<Provider>(), Collection::<Provider>::new(acme.clone()));
        ours.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        theirs.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        theirs.put(&provider("b"), Write::Create, "m", None).await.unwrap();
        let pools = Collection::<Pool>::new(acme.clone());
        pools.put(&pool("both", &["a", "b"]), Write::Create, "m", None).await.unwrap();

        assert_eq!((ours.all().await.unwrap().len(), theirs.all().await.unwrap().len()), (1, 2));
        assert_eq!((ours.named(&["a", "b"]).await.unwrap().len(), ours.get("b").await.unwrap()), (1, None));
        let page = Page { limit: 9, after: Some("a".into()) };
        assert_eq!(ours.list(page.clone()).await.unwrap().len(), 0);
        assert_eq!(
            theirs.list(page).await.unwrap()[0].value.api_key.as_ref().map(Secret::reveal),
            Some(SECRET)
        );
        let all = acme.of_all_tenants().await.unwrap();
        let all: Vec<_> = all.iter().map(|raw| (&*raw.tenant, &*raw.kind, &*raw.name)).collect();
        assert_eq!(all, [("acme", "pool", "both"), ("acme", "provider", "a"), ("acme", "provider", "b")]);
        assert!(matches!(theirs.delete("b", "m", None).await, Err(StoreError::Conflict { .. })));
        // The tenant's own document stands in place of the default tenant's, which is not referred to.
        ours.delete("a", "m", None).await.unwrap();
        assert_eq!((ours.all().await.unwrap().len(), theirs.all().await.unwrap().len()), (0, 2));

        let filter = ChangeFilter { limit: 9, ..ChangeFilter::default() };
        assert_eq!(store.documents().changes(&filter).await.unwrap().len(), 2);
        assert_eq!(acme.changes(&filter).await.unwrap().len(), 3);
        let every = ChangeFilter { all_tenants: true, ..filter };
        assert_eq!(acme.changes(&every).await.unwrap().len(), 5);
        assert_eq!(acme.changes_since(0, 9).await.unwrap().len(), 5, "revisions count over all tenants");
    })
    .await;
}

#[tokio::test]
async fn a_tenant_refers_to_documents_of_the_default_tenant_that_it_does_not_have_itself() {
    for_each_backend(|store| async move {
        let (ours, theirs) = (store.collection::<Provider>(), store.collection_of::<Provider>("acme"));
        ours.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        let pools = store.collection_of::<Pool>("acme");
        pools.put(&pool("p", &["a"]), Write::Create, "m", None).await.unwrap();
        let Err(StoreError::Conflict { referrers, .. }) = ours.delete("a", "m", None).await else {
            panic!("the pool of the tenant needs it")
        };
        assert_eq!(referrers, ["pool/p of the tenant 'acme'"]);
        theirs.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        // That of the default tenant takes its place.
        theirs.delete("a", "m", None).await.unwrap();
        theirs.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        ours.delete("a", "m", None).await.unwrap();
        assert!(matches!(theirs.delete("a", "m", None).await, Err(StoreError::Conflict { .. })));
    })
    .await;
}

#[tokio::test]
async fn the_keys_of_a_tenant_refer_to_its_documents() {
    for_each_backend(|store| async move {
        store.collection::<Provider>().put(&provider("a"), Write::Create, "m", None).await.unwrap();
        let pools = store.collection_of::<Pool>("acme");
        pools.put(&pool("p", &["a"]), Write::Create, "m", None).await.unwrap();
        store.collection_of::<Pool>("other").put(&pool("p", &["a"]), Write::Create, "m", None).await.unwrap();
        let key = AuthKey {
            tenant_id: Some("acme".to_owned()),
            provider_pool_id: Some("p".to_owned()),
            ..AuthKey::new("k".to_owned(), "k", &Secret::new(SECRET.to_owned()))
        };
        store.collection::<AuthKey>().put(&key, Write::Create, "m", None).await.unwrap();
        let Err(StoreError::Conflict { referrers, .. }) = pools.delete("p", "m", None).await else {
            panic!("the key needs it")
        };
        assert_eq!(referrers, ["auth_key/k"]);
        store.collection_of::<Pool>("other").delete("p", "m", None).await.unwrap();
        // That of the default tenant is not the one which the key refers to, while the tenant has its own.
        let defaults = store.collection::<Pool>();
        defaults.put(&pool("p", &["a"]), Write::Create, "m", None).await.unwrap();
        defaults.delete("p", "m", None).await.unwrap();
        defaults.put(&pool("p", &["a"]), Write::Create, "m", None).await.unwrap();
        pools.delete("p", "m", None).await.unwrap();
        let Err(StoreError::Conflict { referrers, .. }) = defaults.delete("p", "m", None).await else {
            panic!("the key needs it, now that its tenant has none")
        };
        assert_eq!(referrers, ["auth_key/k"]);
    })
    .await;
}

#[tokio::test]
async fn a_tenant_with_documents_is_not_deleted() {
    for_each_backend(|store| async move {
        let tenants = store.collection::<Tenant>();
        let tenant = serde_json::from_value(serde_json::json!({"id": "acme", "name": "Acme"})).unwrap();
        tenants.put(&tenant, Write::Create, "m", None).await.unwrap();
        let theirs = store.collection_of::<Provider>("acme");
        theirs.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        let Err(StoreError::Conflict { referrers, .. }) = tenants.delete("acme", "m", None).await else {
            panic!("it has a document")
        };
        assert_eq!(referrers, ["provider/a of the tenant 'acme'"]);
        theirs.delete("a", "m", None).await.unwrap();
        tenants.delete("acme", "m", None).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn workflows_are_deleted_with_their_tenant() {
    for_each_backend(|store| async move {
        let tenants = store.collection::<Tenant>();
        let tenant = serde_json::from_value(serde_json::json!({"id": "acme", "name": "Acme"})).unwrap();
        tenants.put(&tenant, Write::Create, "m", None).await.unwrap();
        let version = Workflow::managed_default();
        let activation = WorkflowActivation {
            scope: "global".into(),
            versions: 1,
            active: Some(version.id.clone()),
            guardrails: Vec::new(),
        };
        for tenant in ["acme", "other"] {
            let workflows = store.collection_of::<Workflow>(tenant);
            workflows.put(&version, Write::Create, "m", None).await.unwrap();
            let activations = store.collection_of::<WorkflowActivation>(tenant);
            activations.put(&activation, Write::Create, "m", None).await.unwrap();
        }
        let theirs = store.collection_of::<Provider>("acme");
        theirs.put(&provider("a"), Write::Create, "m", None).await.unwrap();
        assert!(matches!(tenants.delete("acme", "m", None).await, Err(StoreError::Conflict { .. })));
        let workflows = store.collection_of::<Workflow>("acme");
        assert!(workflows.get(&version.id).await.unwrap().is_some(), "nothing was deleted");
        theirs.delete("a", "m", None).await.unwrap();
        tenants.delete("acme", "m", None).await.unwrap();
        let left = store.documents().of_all_tenants().await.unwrap();
        assert!(left.len() == 2 && left.iter().all(|document| document.tenant == "other"), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn a_sealed_value_does_not_open_for_another_tenant() {
    for_each_backend(|store| async move {
        let providers = with_one(&store).await;
        store.database().execute("UPDATE documents SET tenant = 'acme' WHERE name = 'a'", &[]).await.unwrap();
        assert_eq!(providers.get("a").await.unwrap(), None);
        let acme = Documents { tenant: "acme".into(), ..store.documents().clone() };
        let moved = acme.find(Provider::KIND, "a").await.unwrap().unwrap();
        assert!(moved.broken.is_some_and(|reason| reason.contains("cannot be opened")));
    })
    .await;
}
