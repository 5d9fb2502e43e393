//! Tests of changing a key: absent fields stay, null clears, and no edit grants more rights than the editor has.

use serde_json::{Value, json};

use super::{PATH, works};
use crate::app::{self, TestApp};

fn full() -> Value {
    json!({
        "name": "ci", "description": "for the build", "user_path": "/team/ci", "tenant_id": "acme",
        "scopes": ["inference", "admin:usage:read"], "allowed_models": ["openai/*"], "denied_models": ["*-mini"],
        "allowed_providers": ["openai"], "rate_limits": {"requests_per_minute": 60, "tokens_per_day": 9},
        "expiry": "2999-12-31T23:59:59.123456Z",
    })
}

async fn edit(app: &TestApp, id: &str, body: Value) -> Value {
    app.put(format!("{PATH}/{id}"), body).send().await.expect_status(200).json()
}

/// Asserts that two views of a key are equal except for the time of the change.
fn same(a: &Value, b: &Value, except: &[&str]) {
    for (field, value) in a.as_object().unwrap() {
        if field != "updated_at" && !except.contains(&field.as_str()) {
            assert_eq!(value, &b[field], "{field}");
        }
    }
}

#[tokio::test]
async fn an_end_has_two_names_and_the_edited_one_counts() {
    app::each(async |app| {
        let (id, _) = app.key(full()).await;
        let path = format!("{PATH}/{id}");
        for (name, year) in [("expiry", "2998"), ("expires_at", "2997")] {
            let mut read = app.get(&path).send().await.json();
            assert_eq!(read["expiry"], read["expires_at"]);
            read[name] = json!(format!("{year}-01-01T00:00:00Z"));
            let written = edit(&app, &id, read).await;
            let expected = json!(format!("{year}-01-01T00:00:00.000Z"));
            assert_eq!((&written["expiry"], &written["expires_at"]), (&expected, &expected));
        }
        let both = json!({"expiry": "2998-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00Z"});
        let refused = app.put(&path, both).send().await.refusal();
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("expires_at".into())));
        let body = json!({"unknown": 1});
        let refused = app.post(format!("{path}/deactivate"), body).send().await.refusal();
        assert_eq!(refused, (400, "unknown_parameter".into(), Some("unknown".into())));
    })
    .await;
}

#[tokio::test]
async fn absent_stays_and_null_clears() {
    app::each(async |app| {
        let (id, key) = app.key(full()).await;
        let path = format!("{PATH}/{id}");
        let before = app.get(&path).send().await.json();
        let changed = app.put(&path, json!({"name": " deploy "})).send().await;
        changed.snapshot("auth key edited");
        let changed = changed.json();
        assert_eq!(changed["name"], "deploy");
        same(&before, &changed, &["name"]);
        assert!(works(&app, &key).await, "its value is the same");

        let cleared = json!({
            "description": null, "user_path": null, "tenant_id": null, "allowed_models": null, "denied_models": null,
            "allowed_providers": null, "rate_limits": null, "expires_at": null, "scopes": null,
        });
        let cleared = edit(&app, &id, cleared).await;
        let expected = json!({
            "description": "", "user_path": null, "tenant_id": null, "allowed_models": null, "denied_models": null,
            "allowed_providers": null, "rate_limits": {}, "expires_at": null, "scopes": ["inference"], "name": "deploy",
        });
        same(&expected, &cleared, &[]);

        let other = json!({
            "description": "x", "user_path": "/b//c", "tenant_id": "t", "allowed_models": [], "denied_models": ["*"],
            "allowed_providers": ["a", "b"], "rate_limits": {"max_parallel_requests": 2}, "scopes": ["admin:read"],
            "expires_at": "2998-01-01T00:00:00Z",
        });
        let set = edit(&app, &id, other.clone()).await;
        same(&other, &set, &["user_path", "expires_at"]);
        assert_eq!((&set["user_path"], &set["expires_at"]), (&json!("/b/c"), &json!("2998-01-01T00:00:00.000Z")));
        let facts = app.gateway.snapshot().keys.by_id(&id).unwrap().clone();
        assert_eq!(facts.lists.allowed_models, Some(vec![]), "it is in force");
    })
    .await;
}

#[tokio::test]
async fn a_key_can_be_read_edited_and_written_back() {
    app::each(async |app| {
        let (id, key) = app.key(full()).await;
        let path = format!("{PATH}/{id}");
        app.post(format!("{path}/rotate"), json!({"overlap_seconds": 60})).send().await.expect_status(200);
        app.chat("text").key(&key).send().await.expect_status(200);
        app.receipts(1).await;
        let read = app.get(&path).send().await;
        let etag = read.header("etag").unwrap().to_owned();
        let view = read.json();
        assert!(view["last_used_at"].is_string() && view["previous"][0]["valid_until"].is_string());

        let again = app.put(&path, view.clone()).header("if-match", &etag).send().await.expect_status(200);
        assert_eq!((again.json(), again.header("etag")), (view.clone(), Some(&*etag)), "nothing changed");
        let mut edited = view.clone();
        edited["description"] = json!("edited");
        let answer = app.put(&path, edited).header("if-match", &etag).send().await.expect_status(200);
        assert_ne!(answer.header("etag"), Some(&*etag));
        same(&view, &answer.json(), &["description"]);
        assert!(works(&app, &key).await, "the earlier value is still one");

        let stale = app.put(&path, json!({"name": "x"})).header("if-match", &etag).refusal().await;
        assert_eq!(stale, (412, "precondition_failed".into(), Some("If-Match".into())));
        let before = app.get(&path).send().await.json();
        for (field, value) in [
            ("redacted_value", json!("gk_x…y")),
            ("active", json!(false)),
            ("created_at", json!("2020-01-01T00:00:00Z")),
            ("deactivated_at", json!("2020-01-01T00:00:00Z")),
            ("warnings", json!(["x"])),
        ] {
            let ignored = app.put(&path, json!({field: value})).send().await.expect_status(200).json();
            assert_eq!(ignored, before, "{field}");
        }
        for (field, value) in [
            ("id", json!("key_other")),
            ("previous", json!([{"redacted_value": "x", "valid_until": "2999-01-01T00:00:00Z"}])),
        ] {
            let refused = app.put(&path, json!({field: value})).refusal().await;
            assert_eq!(refused, (400, "invalid_parameter".into(), Some(field.into())), "{field}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_is_switched_off_and_on() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a"})).await;
        let off = edit(&app, &id, json!({"enabled": false})).await;
        assert_eq!((&off["enabled"], &off["active"]), (&json!(false), &json!(false)));
        assert!(off["deactivated_at"].is_string() && !works(&app, &key).await);
        assert_eq!(edit(&app, &id, json!({"enabled": false})).await, off, "repeating it changes nothing");
        // As a form would send it: everything it has read, and one thing different.
        let mut form = off.clone();
        form["enabled"] = json!(true);
        let on = edit(&app, &id, form).await;
        assert_eq!(
            (&on["enabled"], &on["active"], &on["deactivated_at"]),
            (&json!(true), &json!(true), &Value::Null)
        );
        assert!(works(&app, &key).await);
    })
    .await;
}

#[tokio::test]
async fn edits_are_checked_by_field() {
    app::each(async |app| {
        let (id, _) = app.key(json!({"name": "a"})).await;
        let path = format!("{PATH}/{id}");
        let before = app.get(&path).send().await.json();
        let long = "x".repeat(2001);
        let deep = format!("/{}", "x".repeat(500));
        let cases = [
            (json!({"user_path": deep}), "invalid_parameter", "user_path"),
            (json!({"tenant_id": "x".repeat(201)}), "invalid_parameter", "tenant_id"),
            (json!({"tenant_id": "a|b"}), "invalid_parameter", "tenant_id"),
            (json!({"tenant_id": "a\nb"}), "invalid_parameter", "tenant_id"),
            (json!({"name": null}), "invalid_parameter", "name"),
            (json!({"name": " "}), "invalid_parameter", "name"),
            (json!({"description": long}), "invalid_parameter", "description"),
            (json!({"nmae": "b"}), "unknown_parameter", "nmae"),
            (json!({"key": "gk_x"}), "unknown_parameter", "key"),
            (json!({"digest": "00"}), "unknown_parameter", "digest"),
            (json!({"scopes": []}), "invalid_parameter", "scopes"),
            (json!({"scopes": ["root"]}), "invalid_parameter", "scopes"),
            (json!({"expiry": "soon"}), "invalid_parameter", "expiry"),
            (json!({"user_path": "/a:b"}), "invalid_parameter", "user_path"),
            (json!({"allowed_models": ["a", ""]}), "invalid_parameter", "allowed_models[1]"),
            (json!({"enabled": "no"}), "invalid_parameter", "enabled"),
            (json!({"rate_limits": {"requests": 1}}), "unknown_parameter", "rate_limits.requests"),
            (json!({"provider_pool_id": "nowhere"}), "invalid_parameter", "provider_pool_id"),
        ];
        for (body, code, param) in cases {
            let shown = body.to_string();
            let found = app.put(&path, body).refusal().await;
            assert_eq!((found.0, &*found.1, found.2.as_deref()), (400, code, Some(param)), "{shown}");
        }
        assert_eq!(app.get(&path).send().await.json(), before);
        assert_eq!(app.put(format!("{PATH}/key_none"), json!({})).refusal().await.0, 404);
    })
    .await;
}

/// Neither by an edit nor by a rotation does anybody get hold of more than it has.
#[tokio::test]
async fn an_editor_cannot_outgrow_itself() {
    app::each(async |app| {
        let editor = app.key_with(&["admin:auth-keys:write", "inference"]).await;
        let (weak, _) = app.key(json!({"name": "weak"})).await;
        let (strong, _) = app.key(json!({"name": "strong", "scopes": ["inference", "admin:write"]})).await;
        let put =
            async |id: &str, body: Value| app.put(format!("{PATH}/{id}"), body).key(&editor).send().await;
        let refused = put(&weak, json!({"scopes": ["inference", "admin:usage:read"]})).await;
        assert_eq!(refused.refusal().1, "insufficient_scope");
        assert_eq!(refused.json()["error"]["required_scope"], "admin:usage:read");
        put(&weak, json!({"scopes": ["admin:auth-keys:read", "inference"]})).await.expect_status(200);
        for body in [json!({"name": "mine"}), json!({"scopes": ["inference"]}), json!({"enabled": false})] {
            assert_eq!(put(&strong, body).await.refusal().1, "insufficient_scope");
        }
        let rotate =
            async |id: &str| app.post(format!("{PATH}/{id}/rotate"), json!({})).key(&editor).send().await;
        let refused = rotate(&strong).await;
        assert_eq!((refused.refusal().0, refused.json()["key"].clone()), (403, Value::Null));
        rotate(&weak).await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn an_editor_bound_to_a_path_cannot_leave_it() {
    app::each(async |app| {
        let body =
            json!({"name": "lead", "scopes": ["admin:auth-keys:write", "inference"], "user_path": "/team"});
        let (_, lead) = app.key(body).await;
        let (inside, _) = app.key(json!({"name": "inside", "user_path": "/team/a"})).await;
        let (outside, _) = app.key(json!({"name": "outside", "user_path": "/other"})).await;
        let (rootless, _) = app.key(json!({"name": "rootless"})).await;
        for id in [&outside, &rootless] {
            let path = format!("{PATH}/{id}");
            assert_eq!(app.put(&path, json!({"name": "x"})).key(&lead).refusal().await.0, 404);
            assert_eq!(app.post(format!("{path}/rotate"), json!({})).key(&lead).refusal().await.0, 404);
            assert_eq!(app.get(format!("{path}/stats")).key(&lead).refusal().await.0, 404);
        }
        let put = async |body: Value| app.put(format!("{PATH}/{inside}"), body).key(&lead).send().await;
        for path in ["/", "/other", "/teams"] {
            let refused = put(json!({"user_path": path})).await.refusal();
            assert_eq!(refused, (403, "user_path_denied".into(), Some("user_path".into())), "{path}");
        }
        assert_eq!(
            put(json!({"user_path": "/team/b"})).await.expect_status(200).json()["user_path"],
            "/team/b"
        );
        assert_eq!(put(json!({"user_path": null})).await.expect_status(200).json()["user_path"], "/team");
    })
    .await;
}

/// Two that change different things at once both get what they want.
#[tokio::test]
async fn changes_at_the_same_time_do_not_undo_each_other() {
    app::each(async |app| {
        let (id, _) = app.key(json!({"name": "a"})).await;
        let other = app.neighbour().await;
        let path = format!("{PATH}/{id}");
        for round in 0..5 {
            let (description, tenant) = (format!("d{round}"), format!("t{round}"));
            let answers = tokio::join!(
                app.put(&path, json!({"description": description})).send(),
                other.put(&path, json!({"tenant_id": tenant})).send(),
                app.post(format!("{path}/rotate"), json!({})).send(),
            );
            assert_eq!((answers.0.status, answers.1.status, answers.2.status), (200, 200, 200));
            let view = app.get(&path).send().await.json();
            assert_eq!((&view["description"], &view["tenant_id"]), (&json!(description), &json!(tenant)));
            app.refresher.refresh().await.unwrap();
            assert!(works(&app, answers.2.json()["key"].as_str().unwrap()).await);
        }
    })
    .await;
}

/// A key cannot grant access that it does not have.
#[tokio::test]
async fn a_limited_key_hands_its_limits_on() {
    app::each(async |app| {
        let limits = json!({
            "name": "limited", "scopes": ["inference", "admin:auth-keys:write"], "allowed_providers": ["open*"],
            "allowed_models": ["openai/*"], "denied_models": ["*-mini"],
        });
        let (own, limited) = app.key(limits).await;
        let make = async |body: Value| app.post(PATH, body).key(&limited).send().await;
        let made = make(json!({"name": "a"})).await.expect_status(201).json();
        for (field, list) in
            [("allowed_providers", ["open*"]), ("allowed_models", ["openai/*"]), ("denied_models", ["*-mini"])]
        {
            assert_eq!(made[field], json!(list), "{field}");
        }
        let narrower = json!({
            "name": "a", "allowed_providers": ["openai"], "allowed_models": ["openai/gpt-*"], "denied_models": ["*"],
        });
        let narrower = make(narrower).await.expect_status(201).json();
        assert_eq!(narrower["denied_models"], json!(["*"]), "one that covers the other is enough");
        let joined = make(json!({"name": "a", "denied_models": ["x"]})).await.expect_status(201).json();
        assert_eq!(joined["denied_models"], json!(["x", "*-mini"]));
        let (wide, _) = app.key(json!({"name": "wide"})).await;
        let wider = [
            (json!({"allowed_providers": ["*"]}), "key_provider_access_denied", "allowed_providers"),
            (json!({"allowed_models": ["openai/a", "gpt-5"]}), "key_model_access_denied", "allowed_models"),
            (json!({"allowed_models": ["*/a"]}), "key_model_access_denied", "allowed_models"),
        ];
        for (body, code, param) in wider {
            let expected = (403, code.to_owned(), Some(param.to_owned()));
            let mut new = body.clone();
            new["name"] = json!("x");
            assert_eq!(make(new).await.refusal(), expected, "{body}");
            // Nor does it free itself.
            let refused = app.put(format!("{PATH}/{own}"), body.clone()).key(&limited).refusal().await;
            assert_eq!(refused, expected, "{body}");
        }
        let cleared = json!({"allowed_models": null, "allowed_providers": null, "denied_models": null});
        let kept = app.put(format!("{PATH}/{own}"), cleared).key(&limited).send().await.expect_status(200).json();
        assert_eq!((&kept["allowed_models"], &kept["denied_models"]), (&json!(["openai/*"]), &json!(["*-mini"])));
        // A key that may use more is beyond it.
        assert_eq!(app.put(format!("{PATH}/{wide}"), json!({"name": "x"})).key(&limited).refusal().await.0, 403);
        assert_eq!(app.post(format!("{PATH}/{wide}/rotate"), json!({})).key(&limited).refusal().await.0, 403);
    })
    .await;
}
