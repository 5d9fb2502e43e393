//! Tests of exporting, importing and restoring prices.

use serde_json::{Value, json};

use super::{PATH, each_served, view};
use crate::app::TestApp;

async fn import(app: &TestApp, body: Value) -> Value {
    app.post(format!("{PATH}/import"), body).send().await.expect_status(200).json()
}

fn counts(result: &Value) -> [i64; 4] {
    ["created", "updated", "unchanged", "deleted"].map(|name| result[name].as_i64().unwrap())
}

async fn exported(app: &TestApp) -> Value {
    app.get(format!("{PATH}/export")).send().await.expect_status(200).json()["prices"].clone()
}

fn price(selector: &str, input: f64) -> Value {
    json!({"selector": selector, "input_per_mtok": input, "output_per_mtok": 2.0})
}

#[tokio::test]
async fn an_export_can_be_imported() {
    each_served(async |app| {
        let (a, b, c) = (price("openai/a", 1.0), price("second/b", 1.0), price("groq/c", 1.5));
        let body = |mode: &str, prices: &[&Value]| json!({"mode": mode, "prices": prices});
        let dry = import(&app, body("dry_run", &[&a, &b])).await;
        assert_eq!(
            (counts(&dry), &dry["errors"], &dry["mode"]),
            ([2, 0, 0, 0], &json!([]), &json!("dry_run"))
        );
        assert_eq!(exported(&app).await, json!([]), "a dry run writes nothing");
        assert_eq!(counts(&import(&app, body("merge", &[&a, &b])).await), [2, 0, 0, 0]);
        assert_eq!(view(&app, "second/b").await["source"], "override", "it is in force at once");

        let dearer = price("openai/a", 9.0);
        assert_eq!(counts(&import(&app, body("dry_run", &[&dearer, &c])).await), [1, 1, 0, 1]);
        assert_eq!(counts(&import(&app, body("merge", &[&dearer, &c])).await), [1, 1, 0, 0]);
        let kept = app.get(format!("{PATH}/export")).send().await.expect_status(200);
        assert!(kept.header("content-disposition").unwrap().contains("model-pricing.json"));
        assert_eq!(counts(&import(&app, body("replace", &[&dearer, &b])).await), [0, 0, 2, 1]);
        let mut back = kept.json();
        back["mode"] = json!("replace");
        assert_eq!(counts(&import(&app, back).await), [1, 0, 2, 0]);
        assert_eq!(exported(&app).await, kept.json()["prices"]);

        let table = app.get(format!("{PATH}/export?format=csv")).send().await.expect_status(200);
        assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8"));
        let table = table.text();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("selector,currency,input_per_mtok,output_per_mtok,"), "{table}");
        assert!(lines[1].starts_with("\"groq/c\",USD,1.5,2,"), "{table}");
        assert_eq!(lines.len(), 4);
        assert_eq!(app.get(format!("{PATH}/export?format=xml")).refusal().await.2.as_deref(), Some("format"));
    })
    .await;
}

#[tokio::test]
async fn with_an_error_nothing_is_written() {
    each_served(async |app| {
        let prices = json!([
            price("openai/a", 1.0),
            price("openai/a", 2.0),
            price("nowhere/b", 1.0),
            {"selector": "second/c", "input_per_mtok": 1},
            {"selector": "openai/d", "input_per_mtok": "cheap"},
            {"selector": "openai/e", "pre_request": 1},
            {"input_per_mtok": 1},
            7,
        ]);
        let dry = import(&app, json!({"mode": "dry_run", "prices": prices})).await;
        let found: Vec<(i64, Option<&str>)> = dry["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| (error["index"].as_i64().unwrap(), error["selector"].as_str()))
            .collect();
        let expected = [
            (1, Some("openai/a")),
            (2, Some("nowhere/b")),
            (3, Some("second/c")),
            (4, Some("openai/d")),
            (5, Some("openai/e")),
            (6, None),
            (7, None),
        ];
        assert_eq!(found, expected);
        for mode in ["merge", "replace"] {
            let refused =
                app.post(format!("{PATH}/import"), json!({"mode": mode, "prices": prices})).send().await;
            assert_eq!(
                refused.refusal(),
                (400, "invalid_parameter".into(), Some("prices[1].selector".into()))
            );
            assert!(refused.text().contains("prices[4].input_per_mtok"), "{}", refused.text());
        }
        assert_eq!(exported(&app).await, json!([]));
        for (body, param) in [
            (json!({"mode": "overwrite", "prices": []}), "mode"),
            (json!({"prices": []}), "mode"),
            (json!({"mode": "merge"}), "prices"),
            (json!({"mode": "merge", "version": 2, "prices": []}), "version"),
        ] {
            let found = app.post(format!("{PATH}/import"), body.clone()).refusal().await;
            assert_eq!((found.0, found.2.as_deref()), (400, Some(param)), "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_way_back_leads_to_any_revision() {
    each_served(async |app| {
        let put = async |selector: &str, input: f64| {
            app.put(format!("{PATH}/{selector}"), price(selector, input)).send().await;
        };
        put("openai/a", 1.0).await;
        put("openai/b", 1.0).await;
        let then = exported(&app).await;
        put("openai/a", 5.0).await;
        put("openai/c", 1.0).await;
        app.call(http::Method::DELETE, format!("{PATH}/openai/b")).send().await.expect_status(204);
        let revisions = async |query: &str| {
            app.get(format!("{PATH}/revisions?{query}")).send().await.expect_status(200).json()
        };
        let all = revisions("").await;
        let entries = all["entries"].as_array().unwrap();
        let told: Vec<_> = entries
            .iter()
            .map(|entry| (entry["action"].as_str().unwrap(), entry["selector"].as_str().unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                ("delete", "openai/b"),
                ("create", "openai/c"),
                ("update", "openai/a"),
                ("create", "openai/b"),
                ("create", "openai/a")
            ]
        );
        assert_eq!(
            (&entries[2]["before"]["input_per_mtok"], &entries[2]["after"]["input_per_mtok"]),
            (&json!(1.0), &json!(5.0))
        );
        let page = revisions("limit=2").await;
        let next = revisions(&format!("limit=2&before={}", page["next"])).await;
        assert_eq!(next["entries"][0], entries[2]);
        assert_eq!(revisions("selector=openai/c").await["entries"].as_array().unwrap().len(), 1);

        // Right after `b` was created: `a` as it was, `b` again, no `c`.
        let revision = entries[3]["revision"].as_i64().unwrap();
        let restore =
            async |id: String| app.post(format!("{PATH}/revisions/{id}/restore"), json!({})).send().await;
        let result = restore(revision.to_string()).await.expect_status(200).json();
        assert_eq!((counts(&result), &result["restored"]), ([1, 1, 0, 1], &json!(revision)));
        assert_eq!(exported(&app).await, then);
        assert_eq!(view(&app, "openai/a").await["effective"]["input_per_mtok"], 1.0);
        assert_eq!(revisions("").await["entries"].as_array().unwrap().len(), 8, "three more changes");
        assert_eq!(counts(&restore(revision.to_string()).await.expect_status(200).json()), [0, 0, 2, 0]);
        // The revision of something else, of nothing yet, and of nothing at all.
        for id in ["1", "99999", "latest", "-1"] {
            assert_eq!(restore(id.to_owned()).await.refusal().0, 404, "{id}");
        }
    })
    .await;
}
