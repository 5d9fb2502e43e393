//! `/admin/api/v1/cli-tools`: list, preview, apply and reset.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::{self, TestSettings};

const TOOLS: &str = "/admin/api/v1/cli-tools";
const KEY: &str = "gh-developer-secret-0001";

#[tokio::test]
async fn the_tools_are_listed_with_their_facts() {
    app::each(async |app| {
        let list = app.get(TOOLS).send().await.expect_status(200).json();
        let ids: Vec<&str> =
            list.as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 14, "{ids:?}");
        let codex = app.get(format!("{TOOLS}/codex")).send().await.expect_status(200).json();
        let fields: Vec<&String> = codex.as_object().unwrap().keys().collect();
        let expected =
            ["id", "name", "description", "config_path", "can_apply", "docs_url", "model_fields", "notes"];
        assert_eq!(fields, expected);
        assert_eq!(
            (&codex["config_path"], &codex["can_apply"]),
            (&json!("~/.codex/config.toml"), &json!(true))
        );
        let unknown = app.get(format!("{TOOLS}/codx")).send().await;
        assert_eq!(unknown.refusal().1, "not_found");
        assert!(unknown.text().contains("'codex'"), "{}", unknown.text());
        // Only for `gatehouse connect`.
        assert_eq!(app.get(format!("{TOOLS}/gemini-cli")).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn previews_mask_the_key() {
    app::each(async |app| {
        let list = app.get(TOOLS).send().await.expect_status(200).json();
        for tool in list.as_array().unwrap() {
            let path = format!("{TOOLS}/{}/preview", tool["id"].as_str().unwrap());
            let body = json!({"api_key": KEY, "model": "big", "models": ["big", "small"]});
            let answer = app.post(path, body).header("host", "ai.example.com").send().await.expect_status(200);
            let (text, preview) = (answer.text(), answer.json());
            assert!(!text.contains(KEY) && text.contains("****0001"), "{text}");
            assert!(text.contains("http://ai.example.com"), "{text}");
            assert_eq!(preview["tool"], tool["id"]);
            assert!(preview["files"].is_array() && preview["env"].is_object() && preview["commands"].is_array());
        }
        let body = json!({"api_key": KEY, "base_url": "https://gateway.example/v1", "model_overrides": {"haiku": "small"}});
        let preview = app.post(format!("{TOOLS}/claude-code/preview"), body).send().await.expect_status(200).json();
        let file: Value = serde_json::from_str(preview["files"][0]["content"].as_str().unwrap()).unwrap();
        assert_eq!(file["env"]["ANTHROPIC_BASE_URL"], "https://gateway.example");
        assert_eq!(file["env"]["ANTHROPIC_DEFAULT_HAIKU_MODEL"], "small");
        for (body, param) in [
            (json!({}), "api_key"),
            (json!({"api_key": "a b"}), "api_key"),
            (json!({"api_key": KEY, "base_url": "gateway"}), "base_url"),
            (json!({"api_key": KEY, "model": "a'b"}), "model"),
            (json!({"api_key": KEY, "model_overrides": {"other": "x"}}), "model_overrides.other"),
            (json!({"api_key": KEY, "modell": "x"}), "modell"),
        ] {
            let answer = app.post(format!("{TOOLS}/claude-code/preview"), body).send().await.expect_status(400);
            assert_eq!(answer.json()["error"]["param"], param);
            assert!(!answer.text().contains(KEY));
        }
    })
    .await;
}

#[tokio::test]
async fn files_are_written_only_if_that_is_allowed() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.cli_tools.apply_enabled = false;
        settings
    };
    app::each_with(settings, async |app| {
        for action in ["apply", "reset"] {
            let (status, code, _) =
                app.post(format!("{TOOLS}/codex/{action}"), json!({"api_key": KEY})).refusal().await;
            let expected =
                if action == "apply" { (403, "cli_apply_disabled") } else { (400, "unknown_parameter") };
            assert_eq!((status, &*code), expected, "{action}");
        }
        let (status, code, _) = app.post(format!("{TOOLS}/codex/reset"), json!({})).refusal().await;
        assert_eq!((status, &*code), (403, "cli_apply_disabled"));
    })
    .await;
}

#[tokio::test]
async fn files_are_written_and_restored() {
    let home = Arc::new(TempDir::new().unwrap());
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.cli_tools.home = Some(home.path().to_owned());
        settings
    };
    app::each_with(settings, async |app| {
        let file = home.path().join(".codex/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "# mine\n").unwrap();
        let body = json!({"api_key": KEY, "base_url": "http://gateway", "model": "big"});
        let applied =
            app.post(format!("{TOOLS}/codex/apply"), body.clone()).send().await.expect_status(200).json();
        assert_eq!(
            (&applied["applied"], &applied["path"]),
            (&json!(true), &json!(file.display().to_string()))
        );
        let backup = applied["backup_path"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(backup).unwrap(), "# mine\n");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("# mine\n") && text.contains(KEY), "{text}");
        let again =
            app.post(format!("{TOOLS}/codex/apply"), body.clone()).send().await.expect_status(200).json();
        assert_eq!((&again["applied"], &again["backup_path"]), (&json!(false), &Value::Null));
        let reset =
            app.post(format!("{TOOLS}/codex/reset"), json!({})).send().await.expect_status(200).json();
        assert_eq!(reset["restored"], json!([file.display().to_string()]));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
        assert_eq!(app.post(format!("{TOOLS}/codex/reset"), json!({})).refusal().await.0, 409);

        let (status, code, _) = app.post(format!("{TOOLS}/cursor/apply"), body.clone()).refusal().await;
        assert_eq!((status, &*code), (400, "invalid_parameter"));
        std::fs::write(&file, "not toml [").unwrap();
        let broken = app.post(format!("{TOOLS}/codex/apply"), body).send().await;
        assert_eq!((broken.status, &*broken.refusal().1), (409, "conflict"));
        let message = broken.text();
        assert!(message.contains("config.toml is not TOML") && !message.contains(KEY), "{message}");
        std::fs::remove_file(&file).unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_area_can_be_turned_off() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.cli_tools.enabled = false;
        settings
    };
    app::each_with(settings, async |app| {
        for path in [TOOLS.to_owned(), format!("{TOOLS}/codex")] {
            let (status, code, _) = app.get(path).refusal().await;
            assert_eq!((status, &*code), (503, "feature_unavailable"));
        }
    })
    .await;
}
