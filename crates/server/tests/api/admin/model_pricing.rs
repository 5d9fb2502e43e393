//! `/admin/api/v1/model-pricing`.

mod import;
mod policy;
mod recalculation;

use http::Method;
use serde_json::{Value, json};

use super::{complaint, history, refuses};
use crate::app::{self, TestApp, TestSettings};

const PATH: &str = "/admin/api/v1/model-pricing";

/// Runs a test with `openai`, whose models are in the catalogue, and `second`, whose models are not.
async fn each_served(test: impl AsyncFn(TestApp)) {
    each_served_with(TestSettings::default, test).await;
}

async fn each_served_with(settings: impl Fn() -> TestSettings, test: impl AsyncFn(TestApp)) {
    let settings = || TestSettings { loopback_listener: true, ..settings() };
    app::each_with(settings, async |app| {
        let body = json!({
            "name": "second", "type": "openai_compatible", "base_url": app.upstream.base_url(),
            "api_key": "sk-second-5678", "models": ["long", "text"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        test(app).await;
    })
    .await;
}

async fn view(app: &TestApp, selector: &str) -> Value {
    app.get(format!("{PATH}/{selector}")).send().await.expect_status(200).json()
}

/// The number of prices listed, checked in header and body.
async fn count(app: &TestApp, query: &str) -> usize {
    let answer = app.get(format!("{PATH}?{query}")).send().await.expect_status(200);
    let total = answer.header("x-total-count").unwrap().parse().unwrap();
    assert_eq!(answer.json().as_array().unwrap().len(), total, "{query}");
    total
}

#[tokio::test]
async fn a_price_lives() {
    Box::pin(each_served(async |app| {
        let path = format!("{PATH}/openai%2Fgpt-4o");
        let before = app.get(&*path).send().await.expect_status(200);
        assert_eq!((before.header("etag"), &before.json()["source"]), (None, &json!("catalog")));
        let body = json!({"input_per_mtok": 5, "per_request": 0.001});
        let created = app.put(&*path, body).send().await.expect_status(201);
        app::check_snapshot("model price", &app::pretty(created.json()));
        let read = app.get(&*path).send().await.expect_status(200);
        assert_eq!((read.header("etag"), read.json()), (created.header("etag"), created.json()));

        let answer = app.chat("gpt-4o").send().await.expect_status(200);
        let entry = app.receipts(1).await.remove(0);
        let count = |name: &str| entry[name].as_f64().unwrap();
        let expected = count("input_tokens") * 5e-6 + 0.001 + count("output_tokens") * 1e-5;
        assert!((count("total_cost") - expected).abs() < 1e-12, "{entry}");
        let etag = created.header("etag").unwrap().trim_matches('"').to_owned();
        assert_eq!(entry["pricing_version"], json!(format!("rev-{etag}")));
        assert_eq!(answer.header("x-gateway-cost-usd"), Some(&*format!("{:.9}", count("total_cost"))));

        let replaced = app.put(&*path, json!({"output_per_mtok": 1})).send().await.expect_status(200).json();
        assert_eq!(replaced["effective"]["input_per_mtok"], json!(5.0), "what is left out stays");
        let cleared = app.put(&*path, json!({"input_per_mtok": null})).send().await.expect_status(200).json();
        assert_eq!(cleared["effective"]["input_per_mtok"], json!(2.5), "null clears");
        app.call(Method::DELETE, &*path).send().await.expect_status(204);
        assert_eq!(view(&app, "openai/gpt-4o").await, before.json());
        assert_eq!(app.call(Method::DELETE, &*path).refusal().await.1, "not_found");
        let told: Vec<String> =
            history(&app, "model_price").await.into_iter().map(|(action, _)| action).collect();
        assert_eq!(told, ["delete", "update", "update", "create"]);
    }))
    .await;
}

#[tokio::test]
async fn models_outside_the_catalogue_need_a_complete_price() {
    each_served(async |app| {
        let missing = view(&app, "second/text").await;
        assert_eq!((&missing["source"], &missing["effective"]), (&json!("missing"), &Value::Null));
        let path = "/admin/api/v1/model-pricing/second/text";
        let said = complaint(&app, "PUT", path, json!({"input_per_mtok": 1})).await;
        assert!(said.contains("'output_per_mtok'") && said.contains("second/text"), "{said}");
        // For the type first, then for the instance.
        let of_type = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        app.put(format!("{PATH}/openai_compatible/text"), of_type).send().await.expect_status(201);
        let shown = view(&app, "second/text").await;
        assert_eq!(
            (&shown["source"], &shown["override"]["selector"]),
            (&json!("override"), &json!("openai_compatible/text"))
        );
        assert_eq!(shown["effective"]["output_per_mtok"], 2.0);
        let own = app.put(path, json!({"per_image": 0.04})).send().await.expect_status(201).json();
        assert_eq!(
            (&own["override"]["selector"], &own["effective"]["per_image"]),
            (&json!("second/text"), &json!(0.04))
        );
        assert_eq!(
            own["effective"]["output_per_mtok"], 0.0,
            "an override is one document, not a layer over another"
        );
        // Listed models show it in the same shape.
        let models = app.get("/admin/api/v1/models").send().await.json();
        let model =
            models.as_array().unwrap().iter().find(|entry| entry["selector"] == "second/text").unwrap();
        assert_eq!(model["model"]["metadata"]["pricing"], own["effective"]);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_served(async |app| {
        let path = "/admin/api/v1/model-pricing/openai%2Fgpt-4o";
        let (code, unknown) = ("invalid_parameter", "unknown_parameter");
        let nowhere = "/admin/api/v1/model-pricing/opneai/gpt-4o";
        let tiers = json!({"tiers": [{"above_tokens": 10, "input_per_mtok": 1}, {"above_tokens": 9, "input_per_mtok": 1}]});
        let cases = [
            ("PUT", path, json!({}), 400, code, "input_per_mtok"),
            ("PUT", path, json!({"input_per_mtok": -0.1}), 400, code, "input_per_mtok"),
            ("PUT", path, json!({"input_per_mtok": "1"}), 400, code, "input_per_mtok"),
            ("PUT", path, json!({"input_per_mtok": 1, "currency": "EUR"}), 400, code, "currency"),
            ("PUT", path, json!({"inptu_per_mtok": 1}), 400, unknown, "inptu_per_mtok"),
            ("PUT", path, tiers, 400, code, "tiers[1].above_tokens"),
            ("PUT", path, json!({"tiers": [{"input_per_mtok": 1}]}), 400, code, "above_tokens"),
            ("PUT", path, json!({"selector": "openai/other", "input_per_mtok": 1}), 400, code, "selector"),
            ("PUT", nowhere, json!({"per_request": 1}), 400, code, "selector"),
            ("PUT", "/admin/api/v1/model-pricing/gpt-4o", json!({"per_request": 1}), 400, code, "selector"),
            ("PUT", "/admin/api/v1/model-pricing/openai/*", json!({"per_request": 1}), 400, code, "selector"),
        ];
        refuses(&app, &cases).await;
        assert!(complaint(&app, "PUT", path, json!({"inptu_per_mtok": 1})).await.contains("'input_per_mtok'"));
        assert!(complaint(&app, "PUT", nowhere, json!({"per_request": 1})).await.contains("'openai'"));
        assert_eq!(count(&app, "source=override").await, 0, "nothing was written");
    })
    .await;
}

#[tokio::test]
async fn the_list_can_be_narrowed() {
    each_served(async |app| {
        let price = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        for selector in ["second/text", "groq/not-listed-anywhere", "openai/org/slashed"] {
            app.put(format!("{PATH}/{selector}"), price.clone()).send().await.expect_status(201);
        }
        let all = count(&app, "").await;
        let by_source: usize = [
            count(&app, "source=missing").await,
            count(&app, "source=catalog").await,
            count(&app, "source=override").await,
        ]
        .iter()
        .sum();
        assert_eq!(by_source, all);
        assert_eq!(count(&app, "source=override").await, 3);
        let second = count(&app, "provider=second").await;
        assert!(second > 1 && second < all);
        assert_eq!(count(&app, "provider=openai_compatible").await, second);
        assert_eq!(count(&app, "provider=groq").await, 1);
        assert_eq!(count(&app, "search=NOT-listed").await, 1);
        assert_eq!(count(&app, "search=%25").await, 0);
        let page =
            app.get(format!("{PATH}?provider=second&limit=1&offset=1")).send().await.expect_status(200);
        let whole = app.get(format!("{PATH}?provider=second")).send().await.json();
        assert_eq!(page.header("x-total-count"), Some(&*second.to_string()));
        assert_eq!(page.json(), json!([whole[1]]));
        for (query, param) in [("source=own", "source"), ("limit=0", "limit"), ("limit=10001", "limit")] {
            let found = app.get(format!("{PATH}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        for selector in ["nowhere/x", "second/other", "openai", "azure/nothing-like-it"] {
            assert_eq!(app.get(format!("{PATH}/{selector}")).refusal().await.0, 404, "{selector}");
        }
    })
    .await;
}

/// Words of the routes are no selectors, and selectors may have such words in them.
#[tokio::test]
async fn keywords_and_selectors_are_distinguished() {
    each_served(async |app| {
        let price = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        for selector in ["openai/export", "openai/revisions/5/restore"] {
            app.put(format!("{PATH}/{selector}"), price.clone()).send().await.expect_status(201);
            assert_eq!(view(&app, selector).await["source"], "override", "{selector}");
        }
        assert_eq!(app.get(format!("{PATH}/export")).send().await.json()["version"], 1);
        assert!(app.get(format!("{PATH}/revisions")).send().await.json()["entries"].is_array());
        assert_eq!(
            app.get(format!("{PATH}/revisions/5")).refusal().await.0,
            404,
            "a selector that nobody knows"
        );
        assert_eq!(app.get(format!("{PATH}/import")).refusal().await.0, 405);
    })
    .await;
}

#[tokio::test]
async fn a_lost_update_is_refused() {
    each_served(async |app| {
        let path = format!("{PATH}/openai/gpt-4o");
        let put = || app.put(&*path, json!({"input_per_mtok": 1}));
        let etag = put().send().await.expect_status(201).header("etag").unwrap().to_owned();
        let newer = put().header("if-match", &etag).send().await.expect_status(200);
        let lost = put().header("if-match", &etag).refusal().await;
        assert_eq!(lost, (412, "precondition_failed".into(), Some("If-Match".into())));
        let delete = |etag: &str| app.call(Method::DELETE, &*path).header("if-match", etag);
        assert_eq!(delete(&etag).refusal().await.0, 412);
        delete(newer.header("etag").unwrap()).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn keys_bound_to_a_path_cannot_change_prices() {
    each_served(async |app| {
        let scopes = json!(["admin:model-pricing:write"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        let path = format!("{PATH}/openai/gpt-4o");
        app.get(&*path).key(&team).send().await.expect_status(200);
        let import = json!({"mode": "dry_run", "prices": []});
        for call in [
            app.put(&*path, json!({"input_per_mtok": 1})),
            app.call(Method::DELETE, &*path),
            app.post(format!("{PATH}/import"), import),
            app.get(format!("{PATH}/revisions")),
            app.post(format!("{PATH}/revisions/1/restore"), json!({})),
        ] {
            assert_eq!(call.key(&team).refusal().await.1, "user_path_denied");
        }
    })
    .await;
}
