//! Tests of calls under a budget: reserved while in progress, settled at their cost, refused without room.

use std::time::Duration;

use domain::clock::Clock as _;
use domain::money::{Cost, Nanos};
use domain::receipt::Opening;
use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use pipeline::budgets;
use serde_json::{Value, json};
use testkit::FaultScript;

use super::{BUDGETS, budget, each, set};
use crate::app::{TestApp, question};

/// A request of at most 100 output tokens at the price of gpt-4o: a tenth of a cent, plus the cost of the input.
fn bounded() -> Value {
    let mut body = question("openai/gpt-4o");
    body["max_tokens"] = json!(100);
    body
}

fn streamed() -> Value {
    let mut body = bounded();
    body["stream"] = json!(true);
    body
}

async fn figures(app: &TestApp, path: &str) -> (f64, f64) {
    let budget = budget(app, path).await;
    (budget["spent"].as_f64().unwrap(), budget["reserved"].as_f64().unwrap())
}

/// Waits until no reservation is left and returns the spending.
async fn released(app: &TestApp, path: &str) -> f64 {
    // The first count of tokens reads its tables, which takes long in a debug build.
    let deadline = app.clock.tick() + Duration::from_secs(60);
    loop {
        let (spent, reserved) = figures(app, path).await;
        if reserved == 0.0 {
            return spent;
        }
        assert!(app.clock.tick() < deadline, "{reserved} is still held");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn costs(rows: &[Value]) -> f64 {
    rows.iter().map(|row| row["total_cost"].as_f64().unwrap()).sum()
}

#[tokio::test]
async fn a_refused_call_gets_the_period_end_as_retry_after() {
    each(async |app| {
        set(&app, "/", "monthly", 5.0).await;
        set(&app, "/team/a", "hourly", 0.0001).await;
        let call = || app.post("/v1/chat/completions", bounded()).header("x-gateway-user-path", "/team/a/x");
        let answer = call().send().await;
        let (status, code, _) = answer.refusal();
        assert_eq!((status, &*code), (429, "budget_exceeded"));
        let end: jiff::Timestamp =
            budget(&app, "/team/a").await["period_end"].as_str().unwrap().parse().unwrap();
        let wait: i64 = answer.header("retry-after").unwrap().parse().unwrap();
        let expected = end.as_second() - app.clock.now().seconds();
        assert!((wait - expected).abs() <= 1, "{wait} instead of {expected}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        for part in ["hourly", "'/team/a'", "$0.0001 is left", "reserves up to $0.00", "retry after 2"] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(app.upstream.requests().is_empty());
        assert_eq!(figures(&app, "/").await, (0.0, 0.0), "all or nothing");
        app.post("/v1/chat/completions", bounded()).send().await.expect_status(200);
        app.clock.advance(Duration::from_secs(3600));
        assert_eq!(call().send().await.status, 429, "the amount is what is too small");
    })
    .await;
}

#[tokio::test]
async fn spending_always_matches_the_ledger() {
    each(async |app| {
        set(&app, "/", "monthly", 5.0).await;
        for call in [bounded(), streamed(), question("openai/gpt-4o")] {
            app.post("/v1/chat/completions", call).send().await.expect_status(200);
        }
        let before = released(&app, "/").await;
        let rows = app.receipts(3).await;
        let total = costs(&rows);
        assert!((before - total).abs() < 1e-12, "{before} {total}");
        assert_eq!(released(&app, "/").await, before, "booked, and still counted once");
        let other = app.neighbour().await;
        assert_eq!(figures(&other, "/").await, (before, 0.0), "a replica knows");
        other.post("/v1/chat/completions", bounded()).send().await.expect_status(200);
        other.receipts(4).await;
        budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, app.refresher.store()).await.unwrap();
        assert!(figures(&app, "/").await.0 > before, "and is known of");
        let again = app.restart().await;
        assert_eq!(figures(&again, "/").await, figures(&other, "/").await);
    })
    .await;
}

#[tokio::test]
async fn racing_calls_do_not_overspend() {
    each(async |app| {
        set(&app, "/", "daily", 0.01).await;
        let calls = (0..64).map(|number| {
            app.post("/v1/chat/completions", if number % 2 == 0 { bounded() } else { streamed() }).send()
        });
        let statuses: Vec<u16> = join_all(calls).await.iter().map(|answer| answer.status).collect();
        let served = statuses.iter().filter(|status| **status == 200).count();
        assert!(served > 0 && statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
        let spent = released(&app, "/").await;
        let rows = app.receipts(64).await;
        let booked: f64 = rows.iter().filter_map(|row| row["total_cost"].as_f64()).sum();
        assert!(spent <= 0.01 && (spent - booked).abs() < 1e-12, "{spent} {booked}");
    })
    .await;
}

#[tokio::test]
async fn holds_are_released_however_a_call_ends() {
    each(async |app| {
        set(&app, "/", "daily", 1.0).await;
        // Under way: held at its worst.
        app.upstream.push(FaultScript::named("hang-mid-stream"));
        let response = app.post("/v1/chat/completions", streamed()).open().await;
        let (spent, held) = figures(&app, "/").await;
        assert!(spent == 0.0 && held > 0.001, "{held}");
        let mut body = response.into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);
        let after_leaving = released(&app, "/").await;
        assert!(after_leaving > 0.0 && after_leaving < held);
        // The provider dies.
        app.upstream.push(FaultScript::named("cut-mid-stream"));
        app.post("/v1/chat/completions", streamed()).send().await.expect_status(200);
        let after_break = released(&app, "/").await;
        assert!(after_break > after_leaving);
        // The provider refuses.
        app.upstream.push(FaultScript::named("unauthorized"));
        assert!(app.post("/v1/chat/completions", bounded()).send().await.status >= 400);
        assert_eq!(released(&app, "/").await, after_break, "nothing was consumed");
        let rows = app.receipts(3).await;
        let booked: f64 = rows.iter().filter_map(|row| row["total_cost"].as_f64()).sum();
        assert!((after_break - booked).abs() < 1e-12, "{after_break} {booked}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_died_with_its_process_counts_at_its_reservation() {
    each(async |app| {
        let strict = json!({"amount": 1.0, "on_tight": "refuse"});
        app.put(format!("{BUDGETS}/%2Fteam/daily"), strict).send().await.expect_status(200);
        let opening: Opening = serde_json::from_value(json!({
            "id": "0199-crashed", "request_id": "r", "at": app.clock.now(), "endpoint": "/v1/chat/completions",
            "requested_model": "gpt-4o", "model": "gpt-4o", "provider": "openai", "provider_name": "openai",
            "user_path": "/team/x",
        }))
        .unwrap();
        let cost = Cost { input: Nanos(100_000_000), output: Nanos(850_000_000) };
        app.crash(&Opening { reserved_cost: Some(cost), ..opening });
        app.receipts(1).await;
        let (spent, reserved) = figures(&app, "/team").await;
        assert_eq!((spent, reserved), (0.95, 0.0));
        let call = app.post("/v1/chat/completions", bounded()).header("x-gateway-user-path", "/team");
        call.send().await.expect_status(200);
        let mut dear = bounded();
        dear["max_tokens"] = json!(10_000);
        let refused = app.post("/v1/chat/completions", dear).header("x-gateway-user-path", "/team").refusal().await;
        assert_eq!((refused.0, &*refused.1), (429, "budget_exceeded"));
    })
    .await;
}

#[tokio::test]
async fn a_reset_gives_room_again() {
    each(async |app| {
        set(&app, "/", "daily", 1.0).await;
        app.post("/v1/chat/completions", bounded()).send().await.expect_status(200);
        let spent = released(&app, "/").await;
        set(&app, "/", "daily", spent).await;
        assert_eq!(app.post("/v1/chat/completions", bounded()).send().await.status, 429);
        app.receipts(2).await;
        let list = app.post(format!("{BUDGETS}/reset-one"), json!({"user_path": "/", "period": "daily"}));
        let list = list.send().await.expect_status(200).json();
        assert_eq!(list["budgets"][0]["spent"], 0.0);
        assert!(
            list["budgets"][0]["last_reset_at"].as_str().unwrap()
                > list["budgets"][0]["period_start"].as_str().unwrap()
        );
        set(&app, "/", "daily", 1.0).await;
        app.post("/v1/chat/completions", bounded()).send().await.expect_status(200);
        assert!((released(&app, "/").await - spent).abs() < 1e-12);
    })
    .await;
}

#[tokio::test]
async fn the_passthrough_is_budgeted_too() {
    each(async |app| {
        set(&app, "/", "daily", 5.0).await;
        let call = || {
            app.post("/p/openai/v1/chat/completions", {
                let mut body = bounded();
                body["model"] = json!("gpt-4o");
                body
            })
        };
        call().send().await.expect_status(200);
        let spent = released(&app, "/").await;
        assert!((spent - costs(&app.receipts(1).await)).abs() < 1e-12 && spent > 0.0);
        set(&app, "/", "daily", spent + 0.0001).await;
        let answer = call().send().await;
        assert_eq!(answer.refusal().1, "budget_exceeded");
        // What costs nothing is not held up.
        app.get("/p/openai/v1/models").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn no_request_form_bypasses_a_budget() {
    each(async |app| {
        // Enough for a short answer, and not for what a model can say at most.
        set(&app, "/", "daily", 0.01).await;
        let long = "x".repeat(100_000);
        let messages = json!([{"role": "user", "content": "hello"}]);
        for (path, body) in [
            (
                "chat/completions",
                format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}],"model":"gpt-4o"}}"#),
            ),
            ("chat/completions/", json!({"model": "gpt-4o", "messages": messages}).to_string()),
            ("responses/compact", json!({"model": "gpt-4o", "input": "a"}).to_string()),
            ("chat/completions", json!({"messages": messages}).to_string()),
        ] {
            let call = app.post(format!("/p/openai/v1/{path}"), serde_json::from_str(&body).unwrap());
            assert_eq!(call.refusal().await.1, "budget_exceeded", "{path}");
        }
        assert!(app.upstream.requests().is_empty());
        assert_eq!(figures(&app, "/").await, (0.0, 0.0));
        app.post("/p/openai/v1/responses/input_tokens", json!({"model": "gpt-4o"})).send().await;
        assert_eq!(app.upstream.requests().len(), 1, "what is only counted is not held up");
        // One answer fits, many do not.
        set(&app, "/", "daily", 0.4).await;
        let body = |more: Value| {
            let mut body = json!({"model": "gpt-4o", "messages": messages});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            app.post("/p/openai/v1/chat/completions", body)
        };
        body(json!({})).send().await.expect_status(200);
        for more in [json!({"n": 100}), json!({"previous_response_id": "r"})] {
            let refused = body(more.clone()).refusal().await;
            assert_eq!(refused.1, "budget_exceeded", "{more}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_largest_of_all_bounds_is_held() {
    each(async |app| {
        let strict = json!({"amount": 0.05, "on_tight": "refuse"});
        app.put(format!("{BUDGETS}/%2F/daily"), strict).send().await.expect_status(200);
        let chat = |more: Value| {
            let mut body = question("openai/gpt-4o");
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            app.post("/v1/chat/completions", body)
        };
        chat(json!({"max_completion_tokens": 10, "max_tokens": 10})).send().await.expect_status(200);
        for more in [
            json!({"max_completion_tokens": 1, "max_tokens": 9000}),
            json!({"max_tokens": 10, "web_search_options": {}}),
            json!({"max_tokens": 100, "n": 100}),
        ] {
            assert_eq!(chat(more.clone()).refusal().await.1, "budget_exceeded", "{more}");
        }
        let text = |more: Value| {
            let mut body = json!({"model": "openai/gpt-4o", "prompt": "a", "max_tokens": 100});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            app.post("/v1/completions", body)
        };
        for more in [json!({"best_of": 100}), json!({"prompt": vec!["a"; 100]})] {
            assert_eq!(text(more.clone()).refusal().await.1, "budget_exceeded", "{more}");
        }
        // Spellings that a search for the usual name misses.
        for members in [
            r#""max_tokens":10,"max\u005foutput_tokens":9000"#,
            r#""max_tokens":10,"max_output_tokens":9e3"#,
            r#""max_tokens":100,"best\u005fof":100"#,
            r#""max_tokens":10,"web\u005fsearch_options":{}"#,
            r#""max_tokens":10,"previous\u005fresponse_id":"r""#,
        ] {
            let body = format!(
                r#"{{"model":"openai/gpt-4o","messages":[{{"role":"user","content":"a"}}],{members}}}"#
            );
            let call = app.post("/v1/chat/completions", json!({})).body(body);
            assert_eq!(call.refusal().await.1, "budget_exceeded", "{members}");
        }
        // No model says more than it can.
        set(&app, "/", "daily", 0.5).await;
        chat(json!({"max_tokens": 1_000_000_000_000u64})).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_a_budget_refuses_takes_nothing_of_its_keys_limits() {
    each(async |app| {
        let limited =
            json!({"name": "limited", "user_path": "/team/a", "rate_limits": {"requests_per_minute": 1}});
        let (_, key) = app.key(limited).await;
        set(&app, "/team", "daily", 0.0001).await;
        for _ in 0..3 {
            let answer = app.post("/v1/chat/completions", bounded()).key(&key).send().await;
            assert_eq!(answer.refusal().1, "budget_exceeded");
            // Nor is it told what stands above its path.
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("'/team'") && !message.contains("spent"), "{message}");
        }
        set(&app, "/team", "daily", 1.0).await;
        app.post("/v1/chat/completions", bounded()).key(&key).send().await.expect_status(200);
        let (_, asker) = app
            .key(json!({"name": "asker", "user_path": "/team/a", "scopes": ["admin:read", "inference"]}))
            .await;
        let request = json!({"path": "/v1/chat/completions", "body": bounded()});
        let told =
            app.post("/admin/api/v1/explain", request).key(&asker).send().await.expect_status(200).json();
        let room = &told["budgets"][0];
        assert_eq!(
            (&room["spent"], &room["amount"], &room["fits"]),
            (&Value::Null, &Value::Null, &json!(true))
        );
    })
    .await;
}

#[tokio::test]
async fn an_explanation_shows_the_room_there_is() {
    each(async |app| {
        set(&app, "/", "monthly", 5.0).await;
        set(&app, "/team", "hourly", 0.0001).await;
        let explain = async |path: &str| {
            let request = json!({"path": "/v1/chat/completions", "body": bounded(), "headers": {"X-Gateway-User-Path": path}});
            app.post("/admin/api/v1/explain", request).send().await.expect_status(200).json()
        };
        let fits = explain("/other").await;
        assert_eq!((fits["budgets"].as_array().unwrap().len(), &fits["budgets"][0]["fits"]), (1, &json!(true)));
        assert_eq!((&fits["decision"]["error"], &fits["budgets"][0]["remaining"]), (&Value::Null, &json!(5.0)));
        let refused = explain("/team/a").await;
        let rooms = refused["budgets"].as_array().unwrap();
        let fits: Vec<_> = rooms.iter().map(|room| (room["user_path"].as_str().unwrap(), room["fits"].as_bool().unwrap())).collect();
        assert_eq!(fits, [("/team", false), ("/", true)]);
        assert_eq!(refused["decision"]["error"]["code"], "budget_exceeded");
        assert_eq!(refused["upstream_request"], Value::Null);
        let real = app.post("/v1/chat/completions", bounded()).header("x-gateway-user-path", "/team/a").send().await;
        assert_eq!(real.json()["error"]["message"], refused["decision"]["error"]["message"]);
    })
    .await;
}
