//! Budgets that are nearly used up: the output bound is lowered, a cheaper model serves, or the call is refused.

use serde_json::{Value, json};
use testkit::Script;

use super::{BUDGETS, budget, each, set};
use crate::house::{Answer, House, question};

const CLAMPED: &str = "x-gateway-max-tokens-clamped";

/// At the price of gpt-4o, $10 for a million tokens of output: $0.16 at worst, and what the question costs.
fn large() -> Value {
    let mut body = question("openai/gpt-4o");
    body["max_tokens"] = json!(16_000);
    body
}

async fn put(house: &House, path: &str, body: Value) -> Answer {
    house.put(format!("{BUDGETS}/{}/daily", path.replace('/', "%2F")), body).send().await
}

async fn chat(house: &House, body: Value) -> Answer {
    house.post("/v1/chat/completions", body).send().await
}

/// The bodies that the provider got.
fn sent(house: &House) -> Vec<Value> {
    let requests = house.upstream.requests();
    requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

/// Asked and used, as the header tells them.
#[track_caller]
fn clamped(answer: &Answer) -> (u64, u64) {
    let text = answer.header(CLAMPED).unwrap_or_else(|| panic!("{:?}", answer.headers));
    let (asked, used) = text.split_once(", ").unwrap();
    (asked.parse().unwrap(), used.parse().unwrap())
}

/// An answer that consumed so many tokens of output.
pub fn answering(tokens: u64) -> Script {
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": tokens, "total_tokens": tokens + 12}});
    Script::status(200, "application/json", body.to_string())
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_clamped_to_what_is_left() {
    each(async |house| {
        set(&house, "/", "daily", 0.1).await;
        let body = json!({"body": large()});
        let explained = house.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        let answer = chat(&house, large()).await.expect_status(200);
        let (asked, used) = clamped(&answer);
        assert_eq!(asked, 16_000);
        assert!((9_000..10_000).contains(&used), "{used}");
        assert_eq!(sent(&house)[0]["max_tokens"], used);
        assert_eq!(explained["max_tokens_clamped"], json!({"asked": asked, "used": used}), "{explained}");
        assert_eq!(explained["upstream_request"]["body"]["max_tokens"], used);
        assert_eq!(explained["decision"]["error"], Value::Null);

        let streamed = json!({"stream": true, "max_tokens": 16_000, "model": "openai/gpt-4o", "messages": large()["messages"]});
        let answer = chat(&house, streamed).await.expect_status(200);
        assert_eq!(clamped(&answer).0, 16_000);
        let mut small = large();
        small["max_tokens"] = json!(100);
        assert_eq!(chat(&house, small).await.expect_status(200).header(CLAMPED), None);
    })
    .await;
}

#[tokio::test]
async fn a_budget_may_refuse_instead_of_clamping() {
    each(async |house| {
        put(&house, "/", json!({"amount": 0.1, "on_tight": "refuse"})).await.expect_status(200);
        let answer = chat(&house, large()).await;
        assert_eq!(answer.refusal().0, 429);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("Budget would be exceeded: this call reserves up to $0.1")
                && message.contains("$0.10 is left of the daily budget of '/'. Lower `max_tokens`"),
            "{message}"
        );
        assert_eq!(budget(&house, "/").await["on_tight"], "refuse");
        put(&house, "/", json!({"amount": 0.1, "on_tight": null})).await.expect_status(200);
        assert_eq!(clamped(&chat(&house, large()).await.expect_status(200)).0, 16_000);
    })
    .await;
}

#[tokio::test]
async fn what_is_left_must_be_of_use() {
    each(async |house| {
        // Room for about 3,900 tokens of output.
        set(&house, "/", "daily", 0.04).await;
        assert_eq!(chat(&house, large()).await.status, 429);
        set(&house, "/", "daily", 0.1).await;
        house.upstream.push(answering(5_000));
        chat(&house, large()).await.expect_status(200);
        // Room for less than twice of that.
        assert_eq!(chat(&house, large()).await.status, 429);
        let other = house.key(json!({"name": "other"})).await.1;
        let answer = house.post("/v1/chat/completions", large()).key(&other).send().await.expect_status(200);
        assert!((4_096..5_000).contains(&clamped(&answer).1), "another key is judged by its own calls");
        set(&house, "/", "daily", 0.2).await;
        let mut thinking = large();
        thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 14_900});
        assert_eq!(chat(&house, thinking).await.status, 429);
    })
    .await;
}

#[tokio::test]
async fn a_clamped_call_that_ends_at_its_bound_is_the_last_one() {
    each(async |house| {
        set(&house, "/", "daily", 0.05).await;
        house.upstream.push(answering(5_000));
        let (_, used) = clamped(&chat(&house, large()).await.expect_status(200));
        assert!((4_096..=5_000).contains(&used), "{used}");
        // Room for 12,000 tokens of output, more than twice of what the call said.
        set(&house, "/", "daily", 0.17).await;
        let struck = chat(&house, large()).await;
        assert_eq!(struck.status, 429, "{}", struck.text());
        let explained = house.post("/admin/api/v1/explain", json!({"body": large()})).send().await.json();
        assert_eq!(explained["decision"]["error"]["code"], "budget_exceeded", "{explained}");
        let other = house.key(json!({"name": "other"})).await.1;
        let answer = house.post("/v1/chat/completions", large()).key(&other).send().await.expect_status(200);
        assert_eq!(clamped(&answer).0, 16_000, "another key has its own strike");
        house.clock.advance(std::time::Duration::from_secs(86_400));
        set(&house, "/", "daily", 0.12).await;
        clamped(&chat(&house, large()).await.expect_status(200));
    })
    .await;
}

#[tokio::test]
async fn a_budgeted_call_without_a_bound_gets_the_models_maximum() {
    each(async |house| {
        chat(&house, question("openai/gpt-4o")).await.expect_status(200);
        assert_eq!(sent(&house)[0].get("max_tokens"), None, "no budget, no bound");
        set(&house, "/", "daily", 5.0).await;
        let answer = chat(&house, question("openai/gpt-4o")).await.expect_status(200);
        assert_eq!((answer.header(CLAMPED), &sent(&house)[1]["max_tokens"]), (None, &json!(16_384)));
        let response = json!({"model": "openai/gpt-4o", "input": "How are you?"});
        house.post("/v1/responses", response).send().await.expect_status(200);
        assert_eq!(sent(&house)[2]["max_output_tokens"], 16_384);
        set(&house, "/", "daily", 0.1).await;
        assert_eq!(clamped(&chat(&house, question("openai/gpt-4o")).await.expect_status(200)).0, 16_384);
    })
    .await;
}

#[tokio::test]
async fn an_exhausted_budget_may_downgrade() {
    each(async |house| {
        let policy =
            json!({"amount": 0.01, "on_exhausted": "downgrade", "downgrade_to": "openai/gpt-4o-mini"});
        put(&house, "/", policy).await.expect_status(200);
        let explained = house.post("/admin/api/v1/explain", json!({"body": large()})).send().await.json();
        assert_eq!(
            (&explained["downgraded_to"], &explained["decision"]["first"]),
            (&json!("openai/gpt-4o-mini"), &json!("openai/gpt-4o-mini")),
            "{explained}"
        );
        let answer = chat(&house, large()).await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), Some("openai/gpt-4o-mini"));
        let mut small = large();
        small["max_tokens"] = json!(100);
        let answer = chat(&house, small).await.expect_status(200);
        assert_eq!(
            answer.header("x-gateway-model"),
            Some("openai/gpt-4o"),
            "what fits is served as it was asked"
        );
        // Judged by the same rules: access and budgets.
        let denied = json!({"name": "d", "denied_models": ["openai/gpt-4o-mini"]});
        let key = house.key(denied).await.1;
        let answer = house.post("/v1/chat/completions", large()).key(&key).send().await;
        assert_eq!(answer.refusal().1, "budget_exceeded");
        put(&house, "/", json!({"amount": 0.001})).await.expect_status(200);
        assert_eq!(chat(&house, large()).await.refusal().1, "budget_exceeded");
        put(&house, "/", json!({"amount": 0.01, "on_exhausted": "block"})).await.expect_status(200);
        assert_eq!(chat(&house, large()).await.status, 429);
        assert_eq!(budget(&house, "/").await["downgrade_to"], "openai/gpt-4o-mini", "what is absent stays");
    })
    .await;
}

#[tokio::test]
async fn every_direct_child_path_gets_the_default() {
    each(async |house| {
        put(&house, "/team", json!({"amount": 1, "child_default": 0.05, "on_tight": "refuse"}))
            .await
            .expect_status(200);
        let call = |path: &str, tokens: u64| {
            let mut body = large();
            body["max_tokens"] = json!(tokens);
            house.post("/v1/chat/completions", body).header("x-gateway-user-path", path).send()
        };
        house.upstream.push(answering(3_000));
        call("/team/a/x", 4_000).await.expect_status(200);
        let refused = call("/team/a", 4_000).await;
        assert_eq!(refused.refusal().1, "budget_exceeded");
        assert!(refused.text().contains("daily budget of '/team/a'"), "{}", refused.text());
        call("/team/b", 4_000).await.expect_status(200);
        call("/team", 16_000).await.expect_status(200);
        let child = budget(&house, "/team/a").await;
        assert_eq!((&child["amount"], &child["parent"]), (&json!(0.05), &json!("/team")), "{child}");
        house.receipts(4).await;
        let again = house.restart().await;
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
    each(async |house| {
        put(&house, "/", json!({"amount": 0.05, "per_run": true, "on_tight": "refuse"}))
            .await
            .expect_status(200);
        let call = async |house: &House, run: Option<&str>| {
            let mut body = large();
            body["max_tokens"] = json!(4_000);
            let request = house.post("/v1/chat/completions", body);
            match run {
                Some(run) => request.header("x-run-id", run).send().await,
                None => request.send().await,
            }
        };
        for run in [Some("one"), Some("two"), None] {
            house.upstream.push(answering(3_000));
            call(&house, run).await.expect_status(200);
            let refused = call(&house, run).await;
            assert_eq!(refused.refusal().1, "budget_exceeded", "{run:?}");
            let names_run = refused.text().contains("daily budget of '/' for run");
            assert_eq!(names_run, run.is_some(), "{}", refused.text());
        }
        let stands = budget(&house, "/").await;
        assert_eq!((&stands["per_run"], &stands["active_runs"]), (&json!(true), &json!(2)), "{stands}");
        assert_eq!(stands["spent"], 0.03003, "what no run has spent");
        house.receipts(6).await;
        let again = house.restart().await;
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
    each(async |house| {
        for (body, param) in [
            (json!({"amount": 1, "on_exhausted": "downgrade"}), "downgrade_to"),
            (json!({"amount": 1, "downgrade_to": "x".repeat(301)}), "downgrade_to"),
            (json!({"amount": 1, "on_tight": "squeeze"}), "on_tight"),
            (json!({"amount": 1, "child_default": 0}), "child_default"),
            (json!({"amount": 1, "on_tihgt": "clamp"}), "on_tihgt"),
        ] {
            let (status, _, found) = put(&house, "/", body.clone()).await.refusal();
            assert_eq!((status, found.as_deref()), (400, Some(param)), "{body}");
        }
    })
    .await;
}
