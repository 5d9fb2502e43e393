//! Tests of rotation: the new value is valid at once, the old one for the requested overlap.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::super::auth::cookie;
use super::{PATH, works};
use crate::app::{self, TestApp};

async fn rotate(app: &TestApp, id: &str, body: Value) -> (String, Value) {
    let answer = app.post(format!("{PATH}/{id}/rotate"), body).send().await.expect_status(200).json();
    (answer["key"].as_str().unwrap().to_owned(), answer)
}

#[tokio::test]
async fn a_rotated_key_has_another_value_and_is_the_same_key() {
    app::each(async |app| {
        let (id, old) =
            app.key(json!({"name": "ci", "user_path": "/ci", "allowed_models": ["openai/*"]})).await;
        let before = app.get(format!("{PATH}/{id}")).send().await.json();
        let answer = app.post(format!("{PATH}/{id}/rotate"), json!({"overlap_seconds": 0})).send().await;
        answer.snapshot("auth key rotated");
        let rotated = answer.json();
        let new = rotated["key"].as_str().unwrap();
        assert!(domain::resources::auth_key::is_well_formed(new) && new != old);
        assert_eq!((&rotated["value"], &rotated["previous"]), (&rotated["key"], &json!([])));
        for field in ["id", "name", "user_path", "allowed_models", "scopes", "created_at", "expires_at"] {
            assert_eq!(rotated[field], before[field], "{field}");
        }
        assert!(!works(&app, &old).await && works(&app, new).await);
        let views = [format!("{PATH}/{id}"), PATH.to_owned(), "/admin/api/v1/changes".to_owned()];
        for view in views {
            let text = app.get(view).send().await.text();
            assert!(!text.contains(new) && !text.contains(&old));
        }
        // A body is not needed: then the old value goes on for a day.
        for body in ["", "{}"] {
            let call = app.call(Method::POST, format!("{PATH}/{id}/rotate")).body(body);
            let rotated = call.send().await.expect_status(200).json();
            assert!(works(&app, rotated["key"].as_str().unwrap()).await && works(&app, new).await);
        }
        app.clock.advance(Duration::from_secs(86_399));
        assert!(works(&app, new).await);
        app.clock.advance(Duration::from_secs(2));
        assert!(!works(&app, new).await);
    })
    .await;
}

#[tokio::test]
async fn every_earlier_value_keeps_its_own_end() {
    app::each(async |app| {
        let (id, first) = app.key(json!({"name": "a"})).await;
        let (second, view) = rotate(&app, &id, json!({"overlap_seconds": 600})).await;
        assert_eq!(view["previous"].as_array().unwrap().len(), 1);
        let (third, view) = rotate(&app, &id, json!({"overlap_seconds": 60})).await;
        assert_eq!(view["previous"].as_array().unwrap().len(), 2);
        assert!(!view.to_string().contains("digest"), "{view}");
        let all = async || [works(&app, &first).await, works(&app, &second).await, works(&app, &third).await];
        assert_eq!(all().await, [true; 3]);
        app.clock.advance(Duration::from_secs(61));
        assert_eq!(all().await, [true, false, true], "nobody wrote anything");
        let shown = app.get(format!("{PATH}/{id}")).send().await.json();
        assert_eq!(shown["previous"].as_array().unwrap().len(), 1, "what is over is not shown");
        app.clock.advance(Duration::from_secs(540));
        assert_eq!(all().await, [false, false, true]);

        // Calls by any value are the same key's.
        let (fourth, _) = rotate(&app, &id, json!({"overlap_seconds": 604_800})).await;
        for key in [&third, &fourth] {
            app.chat("text").key(key).send().await.expect_status(200);
        }
        assert!(app.receipts(2).await.iter().all(|call| call["auth_key_id"] == id.as_str()));
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_key_is_the_end_of_all_its_values() {
    app::each(async |app| {
        for ending in ["deactivate", "delete", "expire", "drop"] {
            let (id, first) = app.key(json!({"name": ending})).await;
            let (second, _) = rotate(&app, &id, json!({"overlap_seconds": 600})).await;
            assert!(works(&app, &first).await && works(&app, &second).await);
            let path = format!("{PATH}/{id}");
            let call = match ending {
                "deactivate" => app.post(format!("{path}/deactivate"), json!({})),
                "delete" => app.call(Method::DELETE, &path),
                "expire" => app.put(&path, json!({"expiry": "2020-01-01T00:00:00Z"})),
                _ => app.put(&path, json!({"previous": null})),
            };
            assert!(call.send().await.status < 300);
            assert!(!works(&app, &first).await, "{ending}");
            assert_eq!(works(&app, &second).await, ending == "drop", "{ending}");
        }
    })
    .await;
}

#[tokio::test]
async fn rotations_are_bounded_and_checked() {
    app::each(async |app| {
        let (id, _) = app.key(json!({"name": "a"})).await;
        let path = format!("{PATH}/{id}/rotate");
        for (body, param) in [
            (json!({"overlap_seconds": -1}), "overlap_seconds"),
            (json!({"overlap_seconds": 604_801}), "overlap_seconds"),
            (json!({"overlap_seconds": "60"}), "overlap_seconds"),
            (json!({"overlap": 60}), "overlap"),
        ] {
            let found = app.post(&path, body).refusal().await;
            assert_eq!((found.0, found.2.as_deref()), (400, Some(param)));
        }
        let mut last = String::new();
        for _ in 0..5 {
            last = rotate(&app, &id, json!({"overlap_seconds": 100})).await.0;
        }
        let refused = app.post(&path, json!({"overlap_seconds": 1})).refusal().await;
        assert_eq!((refused.0, &*refused.1), (409, "conflict"));
        assert!(works(&app, &last).await);
        let (newest, view) = rotate(&app, &id, json!({"overlap_seconds": 0})).await;
        assert_eq!(view["previous"].as_array().unwrap().len(), 5);
        assert!(!works(&app, &last).await && works(&app, &newest).await);
        app.clock.advance(Duration::from_secs(101));
        rotate(&app, &id, json!({"overlap_seconds": 1})).await;

        let stale = app.post(&path, json!({})).header("if-match", "\"1\"").refusal().await;
        assert_eq!(stale.0, 412);
        app.post(format!("{PATH}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert_eq!(app.post(&path, json!({})).refusal().await.0, 409, "its new value would not work");
        assert_eq!(app.post(format!("{PATH}/key_none/rotate"), json!({})).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn another_process_learns_of_it() {
    app::each(async |app| {
        let other = app.neighbour().await;
        let (id, first) = app.key(json!({"name": "a"})).await;
        let (second, _) = rotate(&app, &id, json!({"overlap_seconds": 60})).await;
        let following = other.refresher.clone().keep_following(Duration::from_millis(20));
        let following = other.gateway.tasks.spawn(following);
        let until = async |expected: [bool; 2]| {
            for _ in 0..200 {
                if [works(&other, &first).await, works(&other, &second).await] == expected {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            panic!("not {expected:?} in time");
        };
        until([true, true]).await;
        app.clock.advance(Duration::from_secs(61));
        until([false, true]).await;
        app.call(Method::DELETE, format!("{PATH}/{id}")).send().await.expect_status(204);
        until([false, false]).await;
        following.abort();
    })
    .await;
}

#[tokio::test]
async fn every_key_rotates_itself() {
    app::each(async |app| {
        for scope in ["inference", "admin:usage:read"] {
            let (id, old) = app.key(json!({"name": "own", "scopes": [scope]})).await;
            let path = "/admin/api/v1/auth-keys/me/rotate";
            let rotated = app
                .post(path, json!({"overlap_seconds": 0}))
                .key(&old)
                .send()
                .await
                .expect_status(200)
                .json();
            assert_eq!(rotated["id"], json!(id));
            let new = rotated["key"].as_str().unwrap();
            app.post(path, json!({})).key(&old).send().await.expect_status(401);
            app.post(path, json!({})).key(new).send().await.expect_status(200);
        }
        app.post("/admin/api/v1/auth-keys/me/rotate", json!({})).send().await.expect_status(400);
        // A session does not turn into its key.
        let (_, key) = app.key(json!({"name": "of a session"})).await;
        let opened =
            app.post("/admin/api/v1/auth/session", json!({})).key(&key).send().await.expect_status(200);
        let session = format!("gatehouse_session={}", cookie(&opened));
        let rotated = app.post("/admin/api/v1/auth-keys/me/rotate", json!({})).anonymous();
        let rotated = rotated.header("cookie", &session).header("sec-fetch-site", "same-origin");
        rotated.send().await.expect_status(400);
        app.post("/admin/api/v1/auth-keys/me/rotate", json!({})).anonymous().send().await.expect_status(401);
    })
    .await;
}

#[tokio::test]
async fn a_replaced_value_cannot_take_the_key_over() {
    app::each(async |app| {
        let path = "/admin/api/v1/auth-keys/me/rotate";
        let (id, leaked) = app.key(json!({"name": "own"})).await;
        let (current, _) = rotate(&app, &id, json!({"overlap_seconds": 600})).await;
        let refused = app.post(path, json!({"overlap_seconds": 0})).key(&leaked).refusal().await;
        assert_eq!((refused.0, &*refused.1), (403, "insufficient_scope"));
        assert!(works(&app, &current).await && works(&app, &leaked).await, "nothing was changed");
        app.post(path, json!({"overlap_seconds": 0})).key(&current).send().await.expect_status(200);
        assert!(!works(&app, &current).await);
    })
    .await;
}
