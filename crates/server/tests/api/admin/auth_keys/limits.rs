//! Tests that rate limits, expiry and tenant of a key also bind the keys it creates or changes, itself included.

use serde_json::{Value, json};

use super::PATH;
use crate::app;

const END: &str = "2999-01-01T00:00:00.000Z";
const LATER: &str = "2999-01-01T00:00:00.001Z";

fn limited() -> Value {
    json!({
        "name": "limited", "scopes": ["inference", "admin:auth-keys:write"], "tenant_id": "acme", "expiry": END,
        "rate_limits": {"requests_per_minute": 10, "tokens_per_day": 1000},
    })
}

fn with(mut body: Value, extra: &Value) -> Value {
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn a_limited_key_makes_and_keeps_limited_keys() {
    app::each(async |app| {
        let (own, key) = app.key(limited()).await;
        let cleared = json!({"rate_limits": null, "expiry": null, "tenant_id": null});
        let made = app.post(PATH, json!({"name": "a"})).key(&key).send().await.expect_status(201).json();
        let kept = app.put(format!("{PATH}/{own}"), cleared).key(&key).send().await.expect_status(200).json();
        for found in [made, kept] {
            assert_eq!(found["rate_limits"], limited()["rate_limits"]);
            assert_eq!((&found["expires_at"], &found["tenant_id"]), (&json!(END), &json!("acme")));
        }
        let narrower = json!({"name": "a", "rate_limits": {"requests_per_minute": 1, "requests_per_day": 5},
            "expiry": "2998-01-01T00:00:00.000Z"});
        let made = app.post(PATH, narrower).key(&key).send().await.expect_status(201).json();
        let joined = json!({"requests_per_minute": 1, "requests_per_day": 5, "tokens_per_day": 1000});
        assert_eq!(
            (&made["rate_limits"], &made["expires_at"]),
            (&joined, &json!("2998-01-01T00:00:00.000Z"))
        );
    })
    .await;
}

#[tokio::test]
async fn a_limited_key_widens_nothing() {
    app::each(async |app| {
        let (own, key) = app.key(limited()).await;
        let wider = [
            (json!({"rate_limits": {"requests_per_minute": 11}}), "rate_limits.requests_per_minute"),
            (json!({"rate_limits": {"tokens_per_day": 1001}}), "rate_limits.tokens_per_day"),
            (json!({"expiry": LATER}), "expiry"),
            (json!({"tenant_id": "other"}), "tenant_id"),
        ];
        for (body, param) in &wider {
            let expected = (403, "key_limit_denied".to_owned(), Some((*param).to_owned()));
            let new = with(json!({"name": "x"}), body);
            assert_eq!(app.post(PATH, new).key(&key).refusal().await, expected, "{body}");
            let refused = app.put(format!("{PATH}/{own}"), body.clone()).key(&key).refusal().await;
            assert_eq!(refused, expected, "{body}");
            // Nor does it get hold of one that has more; it does not see those of another tenant.
            let code = if *param == "tenant_id" { "not_found" } else { "key_limit_denied" };
            let (peer, _) = app.key(with(limited(), body)).await;
            for call in [
                app.put(format!("{PATH}/{peer}"), json!({"name": "mine"})),
                app.post(format!("{PATH}/{peer}/rotate"), json!({})),
            ] {
                assert_eq!(call.key(&key).refusal().await.1, code, "{body}");
            }
        }
        for (field, param) in [("rate_limits", "rate_limits.requests_per_minute"), ("expiry", "expiry")] {
            let (peer, _) = app.key(with(limited(), &json!({field: null}))).await;
            let refused = app.post(format!("{PATH}/{peer}/rotate"), json!({})).key(&key).refusal().await;
            assert_eq!(refused, (403, "key_limit_denied".into(), Some(param.into())));
        }
        app.post(format!("{PATH}/{own}/rotate"), json!({})).key(&key).send().await.expect_status(200);
    })
    .await;
}

/// While its old value goes on, that one makes nothing that outlives it.
#[tokio::test]
async fn an_earlier_key_value_passes_on_its_expiry() {
    app::each(async |app| {
        let (own, old) =
            app.key(json!({"name": "a", "scopes": ["inference", "admin:auth-keys:write"]})).await;
        let overlap = json!({"overlap_seconds": 60});
        let rotated =
            app.post(format!("{PATH}/{own}/rotate"), overlap).send().await.expect_status(200).json();
        let made = app.post(PATH, json!({"name": "b"})).key(&old).send().await.expect_status(201).json();
        assert_eq!(made["expires_at"], rotated["previous"][0]["valid_until"]);
        let refused = app.post(format!("{PATH}/{own}/rotate"), json!({})).key(&old).refusal().await;
        assert_eq!((refused.0, refused.2.as_deref()), (403, Some("expiry")));
    })
    .await;
}
