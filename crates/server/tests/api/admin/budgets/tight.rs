//! Tests of nearly exhausted budgets: the output limit is lowered, a cheaper model serves, or the call is refused.

use serde_json::{Value, json};
use testkit::FaultScript;

use super::{BUDGETS, budget, each, set};
use crate::app::{Answer, TestApp, question};

const CLAMPED: &str = "x-gateway-max-tokens-clamped";

/// A request that costs at most $0.16 plus its input, at gpt-4o's price of $10 per million output tokens.
fn large() -> Value {
    let mut body = question("openai/gpt-4o");
    body["max_tokens"] = json!(16_000);
    body
}

async fn put(app: &TestApp, path: &str, body: Value) -> Answer {
    app.put(format!("{BUDGETS}/{}/daily", path.replace('/', "%2F")), body).send().await
}

async fn chat(app: &TestApp, body: Value) -> Answer {
    app.post("/v1/chat/completions", body).send().await
}

/// The bodies that the provider received.
fn sent(app: &TestApp) -> Vec<Value> {
    let requests = app.upstream.requests();
    requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

/// The requested and the used output limit, from the response header.
#[track_caller]
fn clamped(answer: &Answer) -> (u64, u64) {
    let text = answer.header(CLAMPED).unwrap_or_else(|| panic!("{:?}", answer.headers));
    let (asked, used) = text.split_once(", ").unwrap();
    (asked.parse().unwrap(), used.parse().unwrap())
}

/// A response that consumed `tokens` output tokens.
pub fn answering(tokens: u64) -> FaultScript {
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": tokens, "total_tokens": tokens + 12}});
    FaultScript::status(200, "application/json", body.to_string())
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_clamped_to_the_remaining_budget() {
    each(async |app| {
        set(&app, "/", "daily", 0.1).await;
        let body = json!({"body": large()});
        let explained = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        let answer = chat(&app, large()).await.expect_status(200);
        let (asked, used) = clamped(&answer);
        assert_eq!(asked, 16_000);
        assert!((9_000..10_000).contains(&used), "{used}");
        assert_eq!(sent(&app)[0]["max_tokens"], used);
        assert_eq!(explained["max_tokens_clamped"], json!({"asked": asked, "used": used}), "{explained}");
        assert_eq!(explained["upstream_request"]["body"]["max_tokens"], used);
        assert_eq!(explained["decision"]["error"], Value::Null);

        let streamed = json!({"stream": true, "max_tokens": 16_000, "model": "openai/gpt-4o", "messages": large()["messages"]});
        let answer = chat(&app, streamed).await.expect_status(200);
        assert_eq!(clamped(&answer).0, 16_000);
        let mut small = large();
        small["max_tokens"] = json!(100);
        assert_eq!(chat(&app, small).await.expect_status(200).header(CLAMPED), None);
    })
    .await;
}

#[tokio::test]
async fn a_budget_may_refuse_instead_of_clamping() {
    each(async |app| {
        put(&app, "/", json!({"amount": 0.1, "on_tight": "refuse"})).await.expect_status(200);
        let answer = chat(&app, large()).await;
        assert_eq!(answer.refusal().0, 429);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("Budget would be exceeded: this call reserves up to $0.1")
                && message.contains("$0.10 is left of the daily budget of '/'. Lower `max_tokens`"),
            "{message}"
        );
        assert_eq!(budget(&app, "/").await["on_tight"], "refuse");
        put(&app, "/", json!({"amount": 0.1, "on_tight": null})).await.expect_status(200);
        assert_eq!(clamped(&chat(&app, large()).await.expect_status(200)).0, 16_000);
    })
    .await;
}

#[tokio::test]
async fn calls_with_too_little_output_left_are_refused() {
    each(async |app| {
        // Room for about 3,900 tokens of output.
        set(&app, "/", "daily", 0.04).await;
        assert_eq!(chat(&app, large()).await.status, 429);
        set(&app, "/", "daily", 0.1).await;
        app.upstream.push(answering(5_000));
        chat(&app, large()).await.expect_status(200);
        // Room for less than twice of that.
        assert_eq!(chat(&app, large()).await.status, 429);
        let other = app.key(json!({"name": "other"})).await.1;
        let answer = app.post("/v1/chat/completions", large()).key(&other).send().await.expect_status(200);
        assert!((4_096..5_000).contains(&clamped(&answer).1), "another key is judged by its own calls");
        set(&app, "/", "daily", 0.2).await;
        let mut thinking = large();
        thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 14_900});
        assert_eq!(chat(&app, thinking).await.status, 429);
    })
    .await;
}

#[tokio::test]
async fn a_clamped_call_that_ends_at_its_bound_is_the_last_one() {
    each(async |app| {
        set(&app, "/", "daily", 0.05).await;
        app.upstream.push(answering(5_000));
        let (_, used) = clamped(&chat(&app, large()).await.expect_status(200));
        assert!((4_096..=5_000).contains(&used), "{used}");
        // Room for 12,000 tokens of output, more than twice of what the call said.
        set(&app, "/", "daily", 0.17).await;
        let struck = chat(&app, large()).await;
        assert_eq!(struck.status, 429, "{}", struck.text());
        let explained = app.post("/admin/api/v1/explain", json!({"body": large()})).send().await.json();
        assert_eq!(explained["decision"]["error"]["code"], "budget_exceeded", "{explained}");
        let other = app.key(json!({"name": "other"})).await.1;
        let answer = app.post("/v1/chat/completions", large()).key(&other).send().await.expect_status(200);
        assert_eq!(clamped(&answer).0, 16_000, "another key has its own strike");
        app.clock.advance(std::time::Duration::from_secs(86_400));
        set(&app, "/", "daily", 0.12).await;
        clamped(&chat(&app, large()).await.expect_status(200));
    })
    .await;
}

#[tokio::test]
async fn a_budgeted_call_without_a_bound_gets_the_models_maximum() {
    each(async |app| {
        chat(&app, question("openai/gpt-4o")).await.expect_status(200);
        assert_eq!(sent(&app)[0].get("max_tokens"), None, "no budget, no bound");
        set(&app, "/", "daily", 5.0).await;
        let answer = chat(&app, question("openai/gpt-4o")).await.expect_status(200);
        assert_eq!((answer.header(CLAMPED), &sent(&app)[1]["max_tokens"]), (None, &json!(16_384)));
        let response = json!({"model": "openai/gpt-4o", "input": "How are you?"});
        app.post("/v1/responses", response).send().await.expect_status(200);
        assert_eq!(sent(&app)[2]["max_output_tokens"], 16_384);
        set(&app, "/", "daily", 0.1).await;
        assert_eq!(clamped(&chat(&app, question("openai/gpt-4o")).await.expect_status(200)).0, 16_384);
    })
    .await;
}

#[tokio::test]
async fn an_exhausted_budget_may_downgrade() {
    each(async |app| {
        let policy =
            json!({"amount": 0.01, "on_exhausted": "downgrade", "downgrade_to": "openai/gpt-4o-mini"});
        put(&app, "/", policy).await.expect_status(200);
        let explained = app.post("/admin/api/v1/explain", json!({"body": large()})).send().await.json();
        assert_eq!(
            (&explained["downgraded_to"], &explained["decision"]["first"]),
            (&json!("openai/gpt-4o-mini"), &json!("openai/gpt-4o-mini")),
            "{explained}"
        );
        let answer = chat(&app, large()).await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), Some("openai/gpt-4o-mini"));
        let mut small = large();
        small["max_tokens"] = json!(100);
        let answer = chat(&app, small).await.expect_status(200);
        assert_eq!(
            answer.header("x-gateway-model"),
            Some("openai/gpt-4o"),
            "what fits is served as it was asked"
        );
        // Judged by the same rules: access and budgets.
        let denied = json!({"name": "d", "denied_models": ["openai/gpt-4o-mini"]});
        let key = app.key(denied).await.1;
        let answer = app.post("/v1/chat/completions", large()).key(&key).send().await;
        assert_eq!(answer.refusal().1, "budget_exceeded");
        put(&app, "/", json!({"amount": 0.001})).await.expect_status(200);
        assert_eq!(chat(&app, large()).await.refusal().1, "budget_exceeded");
        put(&app, "/", json!({"amount": 0.01, "on_exhausted": "block"})).await.expect_status(200);
        assert_eq!(chat(&app, large()).await.status, 429);
        assert_eq!(budget(&app, "/").await["downgrade_to"], "openai/gpt-4o-mini", "what is absent stays");
    })
    .await;
}

#[tokio::test]
async fn every_direct_child_path_gets_the_default() {
    each(async |app| {
        put(&app, "/team", json!({"amount": 1, "child_default": 0.05, "on_tight": "refuse"}))
            .await
            .expect_status(200);
        let call = |path: &str, tokens: u64| {
            let mut body = large();
            body["max_tokens"] = json!(tokens);
            app.post("/v1/chat/completions", body).header("x-gateway-user-path", path).send()
        };
        app.upstream.push(answering(3_000));
        call("/team/a/x", 4_000).await.expect_status(200);
        let refused = call("/team/a", 4_000).await;
        assert_eq!(refused.refusal().1, "budget_exceeded");
        assert!(refused.text().contains("daily budget of '/team/a'"), "{}", refused.text());
        call("/team/b", 4_000).await.expect_status(200);
        call("/team", 16_000).await.expect_status(200);
        let child = budget(&app, "/team/a").await;
        assert_eq!((&child["amount"], &child["parent"]), (&json!(0.05), &json!("/team")), "{child}");
        app.receipts(4).await;
        let again = app.restart().await;
        assert_eq!(budget(&again, "/team/a").await["spent"], child["spent"], "known after a restart");
        put(&again, "/team/a", json!({"amount": 0.5})).await.expect_status(200);
        assert_eq!(
            budget(&again, "/team/a").await["amount"],
            0.5,
            "its own budget takes the place of the default"
        );
        put(&again, "/team", json!({"amount": 1, "child_default": null})).await.expect_status(200);
        assert_eq!(budget(&again, "/team").await.get("child_default"), None);
    })
    .await;
}

#[tokio::test]
async fn a_budget_may_hold_for_each_run() {
    each(async |app| {
        put(&app, "/", json!({"amount": 0.05, "per_run": true, "on_tight": "refuse"}))
            .await
            .expect_status(200);
        let call = async |app: &TestApp, run: Option<&str>| {
            let mut body = large();
            body["max_tokens"] = json!(4_000);
            let request = app.post("/v1/chat/completions", body);
            match run {
                Some(run) => request.header("x-run-id", run).send().await,
                None => request.send().await,
            }
        };
        for run in [Some("one"), Some("two"), None] {
            app.upstream.push(answering(3_000));
            call(&app, run).await.expect_status(200);
            let refused = call(&app, run).await;
            assert_eq!(refused.refusal().1, "budget_exceeded", "{run:?}");
            let names_run = refused.text().contains("daily budget of '/' for run");
            assert_eq!(names_run, run.is_some(), "{}", refused.text());
        }
        let stands = budget(&app, "/").await;
        assert_eq!((&stands["per_run"], &stands["active_runs"]), (&json!(true), &json!(2)), "{stands}");
        assert_eq!(stands["spent"], 0.03003, "what no run has spent");
        app.receipts(6).await;
        let again = app.restart().await;
        assert_eq!(call(&again, Some("one")).await.refusal().1, "budget_exceeded", "known after a restart");
        assert_eq!(budget(&again, "/").await["spent"], 0.03003);
        let log = again.get("/admin/api/v1/usage/log").send().await.expect_status(200).json();
        let runs = |status: u64| {
            let entries = log["entries"].as_array().unwrap().iter();
            let of = entries.filter(move |entry| entry["status_code"] == status);
            let mut runs: Vec<_> = of.map(|entry| entry["run_id"].as_str().map(str::to_owned)).collect();
            runs.sort();
            runs
        };
        assert_eq!(runs(200), [None, Some("one".to_owned()), Some("two".to_owned())]);
        assert_eq!(call(&again, Some(&"x".repeat(201))).await.refusal().2.as_deref(), Some("X-Run-Id"));
    })
    .await;
}

#[tokio::test]
async fn a_policy_that_makes_no_sense_is_refused_by_field() {
    each(async |app| {
        for (body, param) in [
            (json!({"amount": 1, "on_exhausted": "downgrade"}), "downgrade_to"),
            (json!({"amount": 1, "downgrade_to": "x".repeat(301)}), "downgrade_to"),
            (json!({"amount": 1, "on_tight": "squeeze"}), "on_tight"),
            (json!({"amount": 1, "child_default": 0}), "child_default"),
            (json!({"amount": 1, "on_tihgt": "clamp"}), "on_tihgt"),
        ] {
            let (status, _, found) = put(&app, "/", body.clone()).await.refusal();
            assert_eq!((status, found.as_deref()), (400, Some(param)), "{body}");
        }
    })
    .await;
}
