//! `/admin/api/v1/models`.

use domain::fault::Fault;
use domain::resources::Resource;
use domain::resources::model_override::ModelOverride;
use pipeline::policy::Policy;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Write;

use crate::app::{self, TestApp, TestSettings};

const PATH: &str = "/admin/api/v1/models";

async fn list(app: &TestApp, query: &str) -> Vec<Value> {
    let answer = app.get(format!("{PATH}{query}")).send().await.expect_status(200);
    let entries = answer.json().as_array().unwrap().clone();
    assert_eq!(answer.header("x-total-count"), Some(&*entries.len().to_string()));
    entries
}

async fn entry(app: &TestApp, selector: &str) -> Value {
    let entries = list(app, "").await;
    let found = entries.into_iter().find(|entry| entry["selector"] == selector);
    found.unwrap_or_else(|| panic!("no {selector}"))
}

async fn set<T: Resource>(app: &TestApp, document: &T) {
    app.refresher.store().collection::<T>().put(document, Write::Upsert, "master", None).await.unwrap();
    app.refresher.refresh().await.unwrap();
}

fn an_override(body: Value) -> ModelOverride {
    serde_json::from_value(body).unwrap()
}

/// Creates an instance with the given configured models, which the catalogue does not contain.
async fn with_lab(app: &TestApp, models: &[&str]) {
    let body = json!({"name": "lab", "type": "openai_compatible", "base_url": app.upstream.base_url(), "models": models});
    app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
}

fn at_home() -> TestSettings {
    TestSettings { loopback_listener: true, ..TestSettings::default() }
}

#[tokio::test]
async fn a_listed_model_is_shown_with_its_facts() {
    app::each(async |app| {
        let mut shape = entry(&app, "openai/gpt-4o").await;
        let pricing = shape["model"]["metadata"]["pricing"].take();
        app::check_snapshot("model in the inventory", &serde_json::to_string_pretty(&shape).unwrap());
        assert_eq!(pricing["currency"], "USD");
        assert_eq!((&pricing["input_per_mtok"], &pricing["output_per_mtok"]), (&json!(2.5), &json!(10.0)));
        assert_eq!(pricing["cached_input_per_mtok"], json!(1.25));
        assert!(pricing.get("per_image").is_none() && pricing.get("tiers").is_none(), "{pricing}");
    })
    .await;
}

#[tokio::test]
async fn unlisted_models_are_classified_by_name() {
    app::each_with(at_home, async |app| {
        with_lab(&app, &["own-model", "nomic-embed-text", "llama-3-8b", "whisper-x"]).await;
        for (model, mode, category, family) in [
            ("own-model", "chat", "text_generation", None),
            ("llama-3-8b", "chat", "text_generation", Some("llama")),
            ("nomic-embed-text", "embedding", "embedding", None),
            ("whisper-x", "audio_transcription", "audio", None),
        ] {
            let found = entry(&app, &format!("lab/{model}")).await;
            let metadata = &found["model"]["metadata"];
            assert_eq!(metadata["modes"], json!([mode]), "{model}");
            assert_eq!(metadata["categories"], json!([category]), "{model}");
            assert_eq!(metadata["family"].as_str(), family, "{model}");
            assert_eq!(
                (&found["provider_name"], &found["provider_type"]),
                (&json!("lab"), &json!("openai_compatible"))
            );
            assert!(metadata.get("pricing").is_none(), "an unknown price is not shown as one: {metadata}");
        }
        app.put(
            "/admin/api/v1/providers/lab",
            json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "enabled": false}),
        )
        .send()
        .await
        .expect_status(200);
        let shown = list(&app, "").await;
        assert!(shown.iter().all(|entry| entry["provider_name"] != "lab"), "what is off has no models");
    })
    .await;
}

#[tokio::test]
async fn categories_divide_the_list() {
    app::each_with(at_home, async |app| {
        with_lab(&app, &["own-model", "nomic-embed-text", "x-rerank", "sora-3"]).await;
        let categories = app.get(format!("{PATH}/categories")).send().await.expect_status(200).json();
        let categories = categories.as_array().unwrap();
        let names: Vec<&str> = categories.iter().map(|entry| entry["category"].as_str().unwrap()).collect();
        let expected =
            ["all", "text_generation", "embedding", "rerank", "image", "audio", "video", "utility"];
        assert_eq!(names, expected);
        let mut sum = 0;
        for entry in categories {
            assert!(entry["display_name"].as_str().is_some_and(|name| !name.is_empty()));
            let name = entry["category"].as_str().unwrap();
            let found = list(&app, &format!("?category={name}")).await;
            assert_eq!(found.len() as u64, entry["count"].as_u64().unwrap(), "{name}");
            if name != "all" {
                let fits = |entry: &Value| entry["model"]["metadata"]["categories"] == json!([name]);
                assert!(found.iter().all(fits), "{name}");
                sum += found.len();
            }
        }
        assert_eq!(sum as u64, categories[0]["count"].as_u64().unwrap());
        assert_eq!(sum, list(&app, "").await.len());
        assert_eq!(list(&app, "?category=rerank").await[0]["selector"], "lab/x-rerank");

        let refused = app.get(format!("{PATH}?category=chat")).send().await;
        assert_eq!(refused.refusal(), (400, "invalid_parameter".into(), Some("category".into())));
        for name in expected {
            assert!(refused.text().contains(name), "{name} in {}", refused.text());
        }
    })
    .await;
}

#[tokio::test]
async fn an_override_is_in_force_at_once_and_shown() {
    app::each(async |app| {
        let before = entry(&app, "openai/gpt-4o").await;
        assert_eq!(
            before["access"],
            json!({"default_enabled": true, "effective_enabled": true, "user_paths": []})
        );
        let body = json!({"selector": "openai/gpt-4o", "enabled": true, "user_paths": ["/team//a/"],
            "metadata": {"display_name": "Four", "context_window": 1234, "capabilities": {"tools": false, "smell": true}}});
        set(&app, &an_override(body)).await;
        let after = entry(&app, "openai/gpt-4o").await;
        assert_eq!(
            after["access"],
            json!({"default_enabled": true, "effective_enabled": true, "user_paths": ["/team/a"],
                "override": {"selector": "openai/gpt-4o", "enabled": true, "user_paths": ["/team/a"]}})
        );
        let (old, new) = (&before["model"]["metadata"], &after["model"]["metadata"]);
        assert_eq!((&new["display_name"], &new["context_window"]), (&json!("Four"), &json!(1234)));
        assert_eq!((&old["capabilities"]["tools"], new["capabilities"].get("tools")), (&json!(true), None));
        assert_eq!(new["capabilities"]["smell"], json!(true));
        assert_eq!((&new["pricing"], &new["max_output_tokens"]), (&old["pricing"], &old["max_output_tokens"]));
        let other = entry(&app, "openai/gpt-4o-mini").await;
        assert!(other["access"].get("override").is_none(), "it concerns one model: {other}");

        let neighbour = app.neighbour().await;
        assert_eq!(entry(&neighbour, "openai/gpt-4o").await, after, "a fresh start reads it too");
        let overrides = app.refresher.store().collection::<ModelOverride>();
        overrides.delete("openai/gpt-4o", "master", None).await.unwrap();
        app.refresher.refresh().await.unwrap();
        assert_eq!(entry(&app, "openai/gpt-4o").await, before);
    })
    .await;
}

#[tokio::test]
async fn models_may_be_closed_by_default() {
    let closed = || TestSettings {
        policy: Policy { models_enabled_by_default: false, ..Policy::default() },
        ..TestSettings::default()
    };
    app::each_with(closed, async |app| {
        set(&app, &an_override(json!({"selector": "openai/gpt-4o"}))).await;
        let access = async |selector: &str| {
            let found = entry(&app, selector).await;
            (found["access"]["default_enabled"].clone(), found["access"]["effective_enabled"].clone())
        };
        assert_eq!(access("openai/gpt-4o").await, (json!(false), json!(true)));
        assert_eq!(access("openai/gpt-4o-mini").await, (json!(false), json!(false)));
    })
    .await;
}

/// A model override as a later version might store it.
#[derive(Clone, Serialize, Deserialize)]
struct LaterOverride {
    selector: String,
    enabled: String,
}

impl Resource for LaterOverride {
    const KIND: &'static str = ModelOverride::KIND;

    fn name(&self) -> &str {
        &self.selector
    }

    fn validate(&self) -> Result<(), Fault> {
        Ok(())
    }
}

#[tokio::test]
async fn an_unreadable_override_denies_access() {
    app::each(async |app| {
        set(&app, &LaterOverride { selector: "openai/gpt-4o".into(), enabled: "on mondays".into() }).await;
        let found = entry(&app, "openai/gpt-4o").await;
        assert_eq!(found["access"]["effective_enabled"], json!(false));
        let snapshot = app.gateway.snapshot();
        let failed = snapshot.document_errors.iter().map(|error| (error.kind, error.name));
        assert_eq!(failed.collect::<Vec<_>>(), [("model_override", "openai/gpt-4o")]);
        assert_eq!(entry(&app, "openai/gpt-4o-mini").await["access"]["effective_enabled"], json!(true));
    })
    .await;
}

#[tokio::test]
async fn the_catalogue_lists_known_models_of_all_types() {
    app::each(async |app| {
        let all = list(&app, "/catalog").await;
        let known = all
            .iter()
            .find(|entry| entry["provider_type"] == "openai" && entry["model"] == "gpt-4o")
            .unwrap();
        assert_eq!((&known["configured"], &known["modes"]), (&json!(true), &json!(["chat"])), "{known}");
        assert!(known["pricing"]["input_per_mtok"].is_number(), "{known}");
        let anthropic = list(&app, "/catalog?provider_type=anthropic").await;
        assert!(!anthropic.is_empty() && anthropic.iter().all(|entry| entry["configured"] == false));
        let embedding = list(&app, "/catalog?category=embedding&search=TEXT-EMBED").await;
        assert!(!embedding.is_empty());
        let text = |entry: &Value| entry["model"].as_str().unwrap().contains("text-embed");
        assert!(embedding.iter().all(|entry| text(entry) && entry["categories"] == json!(["embedding"])));
        let refused = app.get(format!("{PATH}/catalog?provider_type=opena")).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".to_owned(), Some("provider_type".to_owned())));
    })
    .await;
}
