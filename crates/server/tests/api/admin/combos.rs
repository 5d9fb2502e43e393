//! `/admin/api/v1/combos`.

use http::Method;
use serde_json::{Value, json};
use server::Config;

use super::{complaint, each_furnished, each_furnished_with, history, refuses};
use crate::app::{self, TestSettings};

const PATH: &str = "/admin/api/v1/combos";

#[tokio::test]
async fn a_combo_lives() {
    each_furnished(async |app| {
        let body = json!({
            "name": "best", "description": "what is best", "selectors": ["openai/text", "second/text"],
            "strategy": "weighted", "weights": {"openai/text": 3},
        });
        let created = app.post(PATH, body).send().await.expect_status(201);
        app::check_snapshot("combo", &app::pretty(created.json()));
        assert_eq!(created.json()["id"], "best");
        let read = app.get(format!("{PATH}/best")).send().await.expect_status(200);
        assert_eq!((read.header("etag"), read.json()), (created.header("etag"), created.json()));
        assert_eq!(app.get(PATH).send().await.json(), json!([created.json()]));

        for other_name in ["models", "targets"] {
            let body = json!({other_name: ["second/long", "openai/long"]});
            let replaced = app.put(format!("{PATH}/best"), body).send().await.expect_status(200).json();
            assert_eq!(replaced["selectors"], json!(["second/long", "openai/long"]));
            assert_eq!((&replaced["strategy"], &replaced["weights"]), (&json!("weighted"), &json!({})));
        }
        app.call(Method::DELETE, format!("{PATH}/best")).send().await.expect_status(204);
        let told: Vec<_> = history(&app, "combo").await.into_iter().map(|(action, _)| action).collect();
        assert_eq!(told, ["delete", "update", "update", "create"]);
        let gone = [(Method::GET, "best"), (Method::DELETE, "best"), (Method::POST, "best/validate")];
        for (method, name) in gone {
            let found = app.call(method, format!("{PATH}/{name}")).refusal().await;
            assert_eq!((found.0, &*found.1), (404, "not_found"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_slash_in_a_name_is_encoded() {
    each_furnished(async |app| {
        let body = json!({"selectors": ["openai/text", "second/text"]});
        let made = app.put(format!("{PATH}/our%2Fbest"), body).send().await.expect_status(201).json();
        assert_eq!((&made["id"], &made["name"]), (&json!("our/best"), &json!("our/best")));
        app.get(format!("{PATH}/our%2Fbest")).send().await.expect_status(200);
        let tried =
            app.call(Method::POST, format!("{PATH}/our%2Fbest/validate")).send().await.expect_status(200);
        assert_eq!(tried.json()["valid"], true);
    })
    .await;
}

#[tokio::test]
async fn validation_reports_the_state_of_each_selector() {
    each_furnished(async |app| {
        let pool = json!({"members": ["openai", "second"]});
        app.put("/admin/api/v1/pools/team", pool).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/quick", json!({"target": "second/long"})).send().await.expect_status(201);
        let body = json!({"selectors": ["openai/text", "long", "quick", "team/text", "team", "openai_compatible/text"]});
        app.put(format!("{PATH}/best"), body).send().await.expect_status(201);
        let validate = async || {
            app.call(Method::POST, format!("{PATH}/best/validate")).send().await.expect_status(200).json()
        };
        assert_eq!(
            validate().await,
            json!({"valid": true, "selectors": [
                {"selector": "openai/text", "ok": true, "targets": ["openai/text"]},
                {"selector": "long", "ok": true, "targets": ["openai/long", "second/long"]},
                {"selector": "quick", "ok": true, "targets": ["second/long"]},
                {"selector": "team/text", "ok": true, "targets": ["openai/text", "second/text"]},
                {"selector": "team", "ok": true, "targets": ["second/long"]},
                {"selector": "openai_compatible/text", "ok": true, "targets": ["second/text"]},
            ]})
        );
        let off = json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "enabled": false});
        app.put("/admin/api/v1/providers/second", off).send().await.expect_status(200);
        let later = validate().await;
        assert_eq!(later["valid"], false);
        let ok: Vec<bool> =
            later["selectors"].as_array().unwrap().iter().map(|tried| tried["ok"].as_bool().unwrap()).collect();
        assert_eq!(ok, [true, true, false, true, false, false]);
        assert_eq!(later["selectors"][2]["problem"], "The provider 'second' is disabled.");
        assert_eq!(later["selectors"][2]["targets"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_furnished(async |app| {
        let with = |change: Value| {
            let mut body = json!({"name": "best", "selectors": ["openai/text", "second/text"]});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            body
        };
        let selectors = |second: &str| with(json!({"selectors": ["openai/text", second]}));
        let (code, param) = ("invalid_parameter", "selectors[1]");
        let cases = [
            ("POST", PATH, json!({"name": "best"}), 400, code, "selectors"),
            ("POST", PATH, json!({"selectors": ["openai/text", "second/text"]}), 400, code, "name"),
            ("POST", PATH, with(json!({"name": "a//b"})), 400, code, "name"),
            ("POST", PATH, with(json!({"selectors": ["openai/text"]})), 400, code, "selectors"),
            ("POST", PATH, selectors("openai/text"), 400, code, param),
            ("POST", PATH, selectors("openai/txet"), 400, code, param),
            ("POST", PATH, selectors("nobody/text"), 400, code, param),
            ("POST", PATH, selectors("nonsense"), 400, code, param),
            ("POST", PATH, selectors("a b"), 400, code, param),
            ("POST", PATH, selectors("best"), 400, code, param),
            ("POST", PATH, with(json!({"weights": {"text": 1}})), 400, code, "weights.text"),
            ("POST", PATH, with(json!({"strategy": 5})), 400, code, "strategy"),
            ("POST", PATH, with(json!({"selector": []})), 400, "unknown_parameter", "selector"),
            ("PUT", "/admin/api/v1/combos/other", with(json!({})), 400, code, "name"),
        ];
        refuses(&app, &cases).await;
        let said = complaint(&app, "POST", PATH, selectors("openai/txet")).await;
        assert!(said.contains("'openai/text'"), "{said}");
        app.put("/admin/api/v1/aliases/quickest", json!({"target": "second/long"}))
            .send()
            .await
            .expect_status(201);
        let said = complaint(&app, "POST", PATH, selectors("quikest")).await;
        assert!(said.contains("'quickest'"), "{said}");
        assert_eq!(app.get(PATH).send().await.json(), json!([]), "nothing was written");
    })
    .await;
}

/// A provider that has not said what it serves gets the benefit of the doubt, as it does in a request.
#[tokio::test]
async fn an_unlisted_model_passes_as_it_does_in_a_request() {
    app::each(async |app| {
        let body = json!({"name": "best", "selectors": ["openai/brand-new", "openai/text"]});
        app.post(PATH, body.clone()).send().await.expect_status(201);
        app.refresher.discover().await;
        assert_eq!(app.put(format!("{PATH}/best"), body).refusal().await.0, 400, "by now it has");
    })
    .await;
}

/// Neither written nor found out later: no chain of names leads from a combo to a combo.
#[tokio::test]
async fn a_combo_is_not_made_of_combos() {
    each_furnished(async |app| {
        let best = json!({"name": "best", "selectors": ["openai/text", "long"]});
        app.post(PATH, best).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/finest", json!({"target": "best"})).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/quick", json!({"target": "second/long"}))
            .send()
            .await
            .expect_status(201);
        app.put("/admin/api/v1/aliases/plain", json!({"target": "text"})).send().await.expect_status(201);
        let second = |selector: &str| json!({"name": "other", "selectors": ["second/text", selector]});
        app.post(PATH, second("quick")).send().await.expect_status(201);
        let replace = "/admin/api/v1/combos/other";
        let alias = "/admin/api/v1/aliases/quick";
        let cases = [
            ("PUT", replace, second("best"), 400, "invalid_parameter", "selectors[1]"),
            ("PUT", replace, second("finest"), 400, "invalid_parameter", "selectors[1]"),
            ("PUT", alias, json!({"target": "best"}), 409, "conflict", "target"),
            (
                "POST",
                PATH,
                json!({"name": "long", "selectors": ["openai/text", "second/text"]}),
                409,
                "conflict",
                "name",
            ),
        ];
        refuses(&app, &cases).await;
        app.put(replace, second("plain")).send().await.expect_status(200);
        let through_alias = json!({"name": "text", "selectors": ["openai/long", "second/long"]});
        refuses(&app, &[("POST", PATH, through_alias, 409, "conflict", "name")]).await;
    })
    .await;
}

#[tokio::test]
async fn a_name_has_one_holder_and_one_version() {
    each_furnished(async |app| {
        let body = |name: &str| json!({"name": name, "selectors": ["openai/text", "second/text"]});
        app.put("/admin/api/v1/aliases/fast", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        app.put("/admin/api/v1/pools/team", json!({"members": ["second"]})).send().await.expect_status(201);
        let first = app.post(PATH, body("best")).send().await.expect_status(201);
        for (name, holder) in [("openai", "provider"), ("fast", "alias"), ("team", "pool"), ("best", "combo")]
        {
            refuses(&app, &[("POST", PATH, body(name), 409, "conflict", "name")]).await;
            let said = complaint(&app, "POST", PATH, body(name)).await;
            assert!(said.contains(holder), "{said}");
        }
        let path = format!("{PATH}/best");
        let etag = first.header("etag").unwrap();
        let put = |etag: &str| app.put(&*path, body("best")).header("if-match", etag);
        put(etag).send().await.expect_status(200);
        assert_eq!(put(etag).refusal().await.0, 412);
        assert_eq!(app.call(Method::DELETE, &*path).header("if-match", etag).refusal().await.0, 412);
        app.call(Method::DELETE, &*path).header("if-match", "*").send().await.expect_status(204);
    })
    .await;
}

/// Two that would shut each other out, asked for at the same moment.
#[tokio::test]
async fn a_race_for_a_name_has_one_winner() {
    each_furnished(async |app| {
        for round in 0..10 {
            let name = format!("name{round}");
            let combo = json!({"name": name, "selectors": ["openai/text", "second/text"]});
            let alias = app.put(format!("/admin/api/v1/aliases/{name}"), json!({"target": "openai/text"}));
            let pool = app.put(format!("/admin/api/v1/pools/{name}"), json!({"members": ["second"]}));
            let answers = tokio::join!(app.post(PATH, combo).send(), alias.send(), pool.send());
            let mut statuses = [answers.0.status, answers.1.status, answers.2.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [201, 409, 409]);
        }
    })
    .await;
}

#[tokio::test]
async fn records_in_use_cannot_be_deleted() {
    each_furnished(async |app| {
        let body = json!({"name": "best", "selectors": ["openai/text", "second/text"]});
        app.post(PATH, body).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/finest", json!({"target": "best"})).send().await.expect_status(201);
        let refused = app.call(Method::DELETE, format!("{PATH}/best")).send().await;
        assert!(refused.status == 409 && refused.text().contains("alias/finest"), "{}", refused.text());
        app.call(Method::DELETE, "/admin/api/v1/aliases/finest").send().await.expect_status(204);
        app.call(Method::DELETE, format!("{PATH}/best")).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn combos_can_be_switched_off() {
    let off = || TestSettings {
        config: Config { combos_enabled: false, ..TestSettings::default().config },
        ..TestSettings::default()
    };
    each_furnished_with(off, async |app| {
        let body = json!({"name": "best", "selectors": ["openai/text", "second/text"]});
        let calls = [
            app.post(PATH, body.clone()),
            app.put(format!("{PATH}/best"), body),
            app.call(Method::DELETE, format!("{PATH}/best")),
        ];
        for call in calls {
            let answer = call.send().await;
            assert_eq!((answer.refusal().0, &*answer.refusal().1), (503, "feature_unavailable"));
            assert!(answer.text().contains("COMBOS_ENABLED"));
        }
        assert_eq!(app.get(PATH).send().await.expect_status(200).json(), json!([]));
    })
    .await;
}
