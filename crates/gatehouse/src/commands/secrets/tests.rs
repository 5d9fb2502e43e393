//! Tests of recovering a database whose encryption key is lost.

use std::collections::BTreeMap;

use domain::resources::auth_key::AuthKey;
use domain::resources::provider::Provider;
use domain::secret::Secret;
use serde_json::json;
use store::{Store, Write};

use super::*;
use crate::settings;

fn settings(directory: &Path, key: Option<&str>) -> Settings {
    let mut environment = BTreeMap::from([("DATA_DIR".to_owned(), directory.display().to_string())]);
    environment.extend(key.map(|key| ("ENCRYPTION_KEY".to_owned(), key.repeat(64))));
    settings::load(environment, directory, None, &["openai"]).unwrap()
}

async fn open(settings: &Settings) -> Result<Store, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    assemble::open_store(settings, &clock, &entropy).await
}

async fn fill(store: &Store) -> AuthKey {
    let provider: Provider = serde_json::from_value(json!({
        "name": "main", "type": "openai", "api_key": "sk-secret", "headers": {"x-team": "blue"}
    }))
    .unwrap();
    store.collection().put(&provider, Write::Create, "test", None).await.unwrap();
    let key = AuthKey::new("key_1".to_owned(), "ci", &Secret::new("gk_raw"));
    store.collection().put(&key, Write::Create, "test", None).await.unwrap();
    key
}

async fn answer(settings: &Settings, line: &str) -> (Result<String, String>, String) {
    let asked = std::cell::RefCell::new(String::new());
    let outcome = reset(settings, &mut line.as_bytes(), |text| asked.borrow_mut().push_str(text)).await;
    (outcome, asked.into_inner())
}

#[tokio::test]
async fn another_encryption_key_is_refused_until_the_secrets_are_reset() {
    let directory = tempfile::tempdir().unwrap();
    let (first, other) = (settings(directory.path(), Some("a")), settings(directory.path(), Some("b")));
    let store = open(&first).await.unwrap();
    let key = fill(&store).await;
    store.close().await;

    let refused = open(&other).await.err().unwrap();
    for part in
        [&*store::fingerprint(&[0xaa; 32]), &*store::fingerprint(&[0xbb; 32]), "gatehouse secrets reset"]
    {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    for line in ["", "\n", "yes\n", "RESET\n"] {
        let (outcome, asked) = answer(&other, line).await;
        assert!(outcome.unwrap_err().contains("nothing was cleared"));
        assert!(asked.contains("1 auth_key, 1 provider"), "{asked}");
    }
    open(&first).await.unwrap().close().await;

    let (outcome, _) = answer(&other, "reset\n").await;
    assert!(outcome.unwrap().contains(&store::fingerprint(&[0xbb; 32])));
    assert!(open(&first).await.is_err(), "the old key is the wrong one now");
    let store = open(&other).await.unwrap();
    let provider = store.collection::<Provider>().get("main").await.unwrap().unwrap().value;
    assert_eq!((provider.api_key, provider.headers.len()), (None, 0));
    let kept = store.collection::<AuthKey>().get("key_1").await.unwrap().unwrap().value;
    assert_eq!((&kept.name, &kept.redacted_value), (&key.name, &key.redacted_value));
    assert!(kept.digest.len() == 64 && kept.digest != key.digest, "no value leads to it");
    let rotated = AuthKey { digest: AuthKey::new("x".into(), "x", &Secret::new("gk_new")).digest, ..kept };
    store.collection().put(&rotated, Write::Replace, "test", None).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_missing_key_file_is_refused_and_not_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path(), None);
    let store = open(&settings).await.unwrap();
    fill(&store).await;
    store.close().await;
    let file = directory.path().join("encryption.key");
    let kept = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let refused = open(&settings).await.err().unwrap();
    assert!(refused.contains("encryption.key"), "{refused}");
    assert!(!file.exists(), "a new key would only be in the way");
    std::fs::write(&file, kept).unwrap();
    open(&settings).await.unwrap().close().await;
}
