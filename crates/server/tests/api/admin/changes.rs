//! `/admin/api/v1/changes`.

use serde_json::{Value, json};

use crate::app::{self, TestSettings};

const PATH: &str = "/admin/api/v1/changes";

#[tokio::test]
async fn every_change_is_there_and_no_secret() {
    app::each_with(|| TestSettings { loopback_listener: true, ..TestSettings::default() }, async |app| {
        let (id, key) = app.key(json!({"name": "admin", "scopes": ["admin:write"]})).await;
        let body = json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-very-secret-1"});
        let path = "/admin/api/v1/providers/second";
        app.put(path, body.clone()).key(&key).send().await.expect_status(201);
        let mut newer = body.clone();
        newer["api_key"] = json!("sk-very-secret-2");
        newer["priority"] = json!(3);
        app.put(path, newer).key(&key).send().await.expect_status(200);
        app.call(http::Method::DELETE, path).send().await.expect_status(204);

        let answer = app.get(PATH).send().await.expect_status(200);
        assert!(!answer.text().contains("very-secret") && !answer.text().contains(&key), "{}", answer.text());
        let mut list = answer.json();
        let entries = list["entries"].as_array().unwrap().clone();
        let told: Vec<_> = entries.iter().map(|entry| (entry["action"].as_str().unwrap(), entry["actor"].as_str().unwrap())).collect();
        assert_eq!(told, [("delete", "master"), ("update", &*id), ("create", &*id), ("create", "master")]);
        assert_eq!(entries[1]["before"]["priority"], 0);
        assert_eq!(entries[1]["after"]["priority"], 3);
        assert_eq!((&entries[2]["before"], &entries[0]["after"]), (&Value::Null, &Value::Null));
        assert!(entries.windows(2).all(|pair| pair[0]["revision"].as_i64() > pair[1]["revision"].as_i64()));

        for entry in list["entries"].as_array_mut().unwrap() {
            for side in ["before", "after"] {
                let document = entry[side].as_object_mut();
                document.map(|document| ["base_url", "digest"].map(|name| document.remove(name)));
            }
            entry["actor"].take();
            if entry["kind"] == "auth_key" {
                entry["name"].take();
            }
        }
        app::check_snapshot("changes", &app::pretty(list));
    })
    .await;
}

#[tokio::test]
async fn pages_and_filters() {
    app::each(async |app| {
        for number in 0..4 {
            app.key(json!({"name": format!("key {number}")})).await;
        }
        let page =
            async |query: &str| app.get(format!("{PATH}?{query}")).send().await.expect_status(200).json();
        let first = page("limit=3").await;
        let next = first["next"].as_i64().unwrap();
        let second = page(&format!("limit=3&before={next}")).await;
        assert_eq!(
            (first["entries"].as_array().unwrap().len(), second["entries"].as_array().unwrap().len()),
            (3, 1)
        );
        assert_eq!(second["next"], Value::Null);
        assert_eq!(page("kind=provider").await["entries"], json!([]));
        assert_eq!(page("kind=auth_key").await["entries"].as_array().unwrap().len(), 4);
        let name = first["entries"][0]["name"].as_str().unwrap();
        assert_eq!(page(&format!("kind=auth_key&name={name}")).await["entries"].as_array().unwrap().len(), 1);
        for (query, param) in [("limit=0", "limit"), ("limit=201", "limit"), ("before=x", "before")] {
            let found = app.get(format!("{PATH}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
    })
    .await;
}
