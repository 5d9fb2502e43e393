//! Tests of rate limits of managed keys: admission, refusal with Retry-After, and rate limit headers.

use std::time::Duration;

use domain::resources::auth_key::AuthKey;
use http::Method;
use http_body_util::BodyExt as _;
use pipeline::policy::Policy;
use serde_json::{Value, json};
use store::Write;

use crate::app::{self, Answer, Call, Socket, TestApp, TestSettings, question};

const PATIENCE: Duration = Duration::from_secs(10);

/// Creates a key with these limits; returns its id and its raw value.
async fn limited(app: &TestApp, limits: Value) -> (String, String) {
    app.key(json!({"name": "limited", "rate_limits": limits})).await
}

fn number(answer: &Answer, name: &str) -> u64 {
    let text = answer.header(name).unwrap_or_else(|| panic!("no {name}: {:?}", answer.headers));
    text.parse().unwrap()
}

/// Scope, limit and remaining quota from the rate limit headers.
#[track_caller]
fn rate_limit(answer: &Answer) -> (&str, u64, u64) {
    let scope = answer.header("x-ratelimit-scope").unwrap_or_else(|| panic!("{:?}", answer.headers));
    (scope, number(answer, "x-ratelimit-limit"), number(answer, "x-ratelimit-remaining"))
}

/// Asserts a refusal by this limit and returns its Retry-After.
#[track_caller]
fn check_refused(answer: &Answer, scope: &str) -> Duration {
    assert_eq!(answer.refusal(), (429, "rate_limit_exceeded".to_owned(), None), "{}", answer.text());
    assert_eq!(rate_limit(answer).0, scope);
    assert!(answer.text().contains("Rate limit reached: "), "{}", answer.text());
    let after = number(answer, "retry-after");
    // Of the bucket it is the time until it is full.
    if scope != "tokens_per_minute" {
        assert_eq!(after, number(answer, "x-ratelimit-reset"), "{:?}", answer.headers);
    }
    Duration::from_secs(after)
}

async fn until_asked(app: &TestApp, count: usize) {
    let asked = async {
        while app.upstream.requests().len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap();
}

/// Repeats a call until it is not refused and returns the response.
async fn until_admitted<'a>(call: impl Fn() -> Call<'a>) -> Answer {
    let admitted = async {
        loop {
            let answer = call().send().await;
            if answer.status != 429 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, admitted).await.unwrap()
}

#[tokio::test]
async fn requests_are_counted_and_the_wait_is_exact() {
    app::each(async |app| {
        let (id, key) = limited(&app, json!({"requests_per_minute": 2})).await;
        let chat = || app.chat("text").key(&key);
        for remaining in [1, 0] {
            let answer = chat().send().await.expect_status(200);
            assert_eq!(rate_limit(&answer), ("requests_per_minute", 2, remaining));
            assert!((50..=60).contains(&number(&answer, "x-ratelimit-reset")), "{:?}", answer.headers);
        }
        let wait = check_refused(&chat().send().await, "requests_per_minute");
        assert!(wait <= Duration::from_secs(60), "{wait:?}");
        app.clock.pass(wait - Duration::from_secs(5));
        let rest = check_refused(&chat().send().await, "requests_per_minute");
        assert!((4..=5).contains(&rest.as_secs()), "{rest:?}");
        app.clock.pass(rest);
        chat().send().await.expect_status(200);

        let master = app.chat("text").send().await.expect_status(200);
        assert_eq!(master.header("x-ratelimit-limit"), None);
        let rows = app.receipts(6).await;
        let statuses: Vec<_> = rows.iter().filter(|row| row["auth_key_id"] == *id).collect();
        let statuses: Vec<_> = statuses.iter().map(|row| row["status_code"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [200, 200, 429, 429, 200]);
        assert_eq!(app.upstream.requests().len(), 4);
        let page = app.get("/metrics").send().await.text();
        assert!(
            page.contains("gatehouse_rate_limit_refusals_total{scope=\"requests_per_minute\"} 2"),
            "{page}"
        );
    })
    .await;
}

#[tokio::test]
async fn tokens_per_minute_are_taken_by_estimate_and_corrected() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_minute": 5000})).await;
        let slow = app.chat("slow-300").key(&key);
        let meanwhile = async {
            until_asked(&app, 1).await;
            let mut large = question("text");
            large["max_tokens"] = json!(32000);
            let answer = app.post("/v1/chat/completions", large).key(&key).send().await.expect_status(200);
            let (scope, limit, left) = rate_limit(&answer);
            assert_eq!((scope, limit), ("tokens_per_minute", 5000));
            assert!((3000..4500).contains(&left), "1,024 tokens of output are assumed: {:?}", answer.headers);
        };
        let (first, ()) = tokio::join!(slow.send(), meanwhile);
        let billed = || -> u64 {
            app.upstream.bill().iter().map(|line| line.prompt_tokens + line.completion_tokens).sum()
        };
        // The bucket refills while the test runs.
        let near = |answer: &Answer| {
            let (scope, limit, left) = rate_limit(answer);
            assert_eq!((scope, limit), ("tokens_per_minute", 5000));
            assert!((5000 - billed()..=5000).contains(&left), "{left}, billed {}", billed());
        };
        near(&first.expect_status(200));
        let failed = app.chat("error-500").key(&key).send().await;
        assert_eq!(failed.status, 500);
        near(&failed);
        app.stream("text").key(&key).send().await.expect_status(200);
        near(&app.chat("text").key(&key).send().await.expect_status(200));
    })
    .await;
}

#[tokio::test]
async fn a_limit_below_max_tokens_does_not_stop_an_agent() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_minute": 20000})).await;
        for _ in 0..12 {
            let mut large = question("text");
            large["max_tokens"] = json!(32000);
            app.post("/v1/chat/completions", large).key(&key).send().await.expect_status(200);
        }
    })
    .await;
}

#[tokio::test]
async fn a_bucket_in_debt_refuses_until_it_is_above_zero() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_minute": 60, "requests_per_day": 1000})).await;
        let mut long = question("text");
        long["messages"][0]["content"] = json!("word ".repeat(2000));
        let call = || app.post("/v1/chat/completions", long.clone()).key(&key);
        call().send().await.expect_status(200);
        let refused = call().send().await;
        let wait = check_refused(&refused, "tokens_per_minute");
        assert!(wait > Duration::from_secs(60), "{wait:?}");
        assert!(number(&refused, "x-ratelimit-reset") >= wait.as_secs() + 59, "until it is full");
        let message =
            format!("Rate limit reached: 60 tokens per minute for this key. Retry in {} s.", wait.as_secs());
        assert!(refused.text().contains(&message), "{}", refused.text());
        app.clock.pass(wait);
        call().send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn calls_refused_after_authentication_count_as_requests() {
    app::each(async |app| {
        let body = json!({"name": "strict", "user_path": "/team", "denied_models": ["openai/drip-10"],
            "rate_limits": {"requests_per_minute": 5}});
        let (_, key) = app.key(body).await;
        let chat = |body: Value| app.post("/v1/chat/completions", body).key(&key);
        for (remaining, (call, status)) in [
            (chat(json!({"messages": []})), 400),
            (chat(json!("not an object")), 400),
            (chat(question("openai/drip-10")), 403),
            (chat(question("text")).header("x-gateway-user-path", "/other"), 403),
            (app.post("/p/nobody/v1/chat/completions", question("text")).key(&key), 404),
        ]
        .into_iter()
        .enumerate()
        .map(|(place, case)| (4 - place as u64, case))
        {
            let answer = call.send().await.expect_status(status);
            assert_eq!(rate_limit(&answer), ("requests_per_minute", 5, remaining), "{status}");
        }
        for _ in 0..3 {
            let wait = check_refused(&chat(question("text")).send().await, "requests_per_minute");
            assert!(wait <= Duration::from_secs(60), "a 429 does not count: {wait:?}");
        }
        app.clock.pass(Duration::from_secs(60));
        chat(question("text")).send().await.expect_status(200);
        assert_eq!(app.upstream.requests().len(), 1);

        let scoped =
            json!({"name": "admin", "scopes": ["admin:read"], "rate_limits": {"requests_per_minute": 1}});
        let (_, key) = app.key(scoped).await;
        app.chat("text").key(&key).send().await.expect_status(403);
        check_refused(&app.chat("text").key(&key).send().await, "requests_per_minute");
        let anonymous = app.chat("text").anonymous().send().await;
        assert_eq!((anonymous.status, anonymous.header("x-ratelimit-limit")), (401, None));
    })
    .await;
}

#[tokio::test]
async fn a_429_of_the_gateway_is_not_counted_as_a_request() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_day": 1, "requests_per_minute": 3})).await;
        app.chat("text").key(&key).send().await.expect_status(200);
        for _ in 0..4 {
            check_refused(&app.chat("text").key(&key).send().await, "tokens_per_day");
        }
        app.clock.pass(Duration::from_secs(86_400));
        let answer = app.chat("text").key(&key).send().await.expect_status(200);
        assert_eq!(answer.header("x-ratelimit-scope"), Some("tokens_per_day"));
    })
    .await;
}

#[tokio::test]
async fn so_many_at_a_time() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"max_parallel_requests": 1})).await;
        let slow = app.chat("slow-200").key(&key);
        let meanwhile = async {
            until_asked(&app, 1).await;
            let answer = app.chat("text").key(&key).send().await;
            assert_eq!(check_refused(&answer, "max_parallel_requests"), Duration::from_secs(1));
            assert_eq!(rate_limit(&answer), ("max_parallel_requests", 1, 0));
            app.chat("text").send().await.expect_status(200);
        };
        let (slow, ()) = tokio::join!(slow.send(), meanwhile);
        assert_eq!(rate_limit(&slow.expect_status(200)), ("max_parallel_requests", 1, 1));
        app.chat("text").key(&key).send().await.expect_status(200);
        app.chat("error-500").key(&key).send().await.expect_status(500);
        app.chat("text").key(&key).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_stream_keeps_its_place_to_its_end() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"max_parallel_requests": 1, "requests_per_day": 1000})).await;
        let text = || app.chat("text").key(&key);
        let stream = app.stream("drip-10").key(&key).open().await;
        assert_eq!(stream.headers()["x-ratelimit-scope"], "requests_per_day");
        assert_eq!(stream.headers()["x-ratelimit-remaining"], "999");
        check_refused(&text().send().await, "max_parallel_requests");
        stream.into_body().collect().await.unwrap();
        text().send().await.expect_status(200);

        let mut left = app.stream("hang-mid-stream").key(&key).open().await.into_body();
        assert!(left.frame().await.is_some());
        check_refused(&text().send().await, "max_parallel_requests");
        drop(left);
        until_admitted(text).await.expect_status(200);

        let unanswered = tokio::time::timeout(Duration::from_millis(50), app.chat("hang").key(&key).send());
        assert!(unanswered.await.is_err());
        until_admitted(text).await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn early_response_heads_have_the_rate_limit_headers() {
    let impatient = || TestSettings {
        policy: Policy { stream_heartbeat: Duration::from_millis(30), ..Policy::default() },
        ..TestSettings::default()
    };
    app::each_with(impatient, async |app| {
        let (_, key) = limited(&app, json!({"requests_per_minute": 10})).await;
        let answer = app.stream("slow-200").key(&key).send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), None, "nobody has answered yet");
        assert_eq!(rate_limit(&answer), ("requests_per_minute", 10, 9));
    })
    .await;
}

#[tokio::test]
async fn changed_limits_are_in_force_at_once() {
    app::each(async |app| {
        let (id, key) = limited(&app, json!({"requests_per_minute": 1})).await;
        let chat = || app.chat("text").key(&key);
        let set = async |limits: Value| {
            let keys = app.refresher.store().collection::<AuthKey>();
            let mut stored = keys.get(&id).await.unwrap().unwrap().value;
            stored.rate_limits = serde_json::from_value(limits).unwrap();
            keys.put(&stored, Write::Replace, "master", None).await.unwrap();
            app.refresher.refresh().await.unwrap();
        };
        chat().send().await.expect_status(200);
        check_refused(&chat().send().await, "requests_per_minute");
        set(json!({"requests_per_minute": 3})).await;
        assert_eq!(rate_limit(&chat().send().await), ("requests_per_minute", 3, 1));
        set(json!({"requests_per_minute": 2})).await;
        check_refused(&chat().send().await, "requests_per_minute");
        set(json!({})).await;
        assert_eq!(chat().send().await.expect_status(200).header("x-ratelimit-limit"), None);
    })
    .await;
}

#[tokio::test]
async fn every_way_in_is_counted() {
    Box::pin(app::each_with(TestSettings::every_dialect, async |app| {
        let turn = json!({"model": "openai/text", "input": "How are you?"});
        let counted = question("anthropic/text");
        let mut messages = counted.clone();
        messages["max_tokens"] = json!(9);
        let contents = json!({"contents": [{"parts": [{"text": "How are you?"}]}]});
        for (path, body) in [
            ("/v1/chat/completions", question("openai/text")),
            ("/v1/responses", turn.clone()),
            ("/v1/responses/compact", turn.clone()),
            ("/v1/responses/input_tokens", turn.clone()),
            ("/v1/messages", messages),
            ("/v1/messages/count_tokens", counted),
            ("/v1/embeddings", json!({"model": "openai/embed", "input": "a"})),
            ("/v1beta/models/gemini/text:countTokens", contents),
            ("/p/openai/v1/chat/completions", question("text")),
        ] {
            let (_, key) = limited(&app, json!({"requests_per_minute": 1})).await;
            let call = || app.post(path, body.clone()).key(&key);
            let answer = call().send().await.expect_status(200);
            assert_eq!(rate_limit(&answer), ("requests_per_minute", 1, 0), "{path}");
            let refused = call().send().await;
            assert_eq!(
                (refused.status, rate_limit(&refused)),
                (429, ("requests_per_minute", 1, 0)),
                "{path}"
            );
            assert_eq!(refused.header("retry-after"), refused.header("x-ratelimit-reset"), "{path}");
        }
        let statuses: Vec<_> = app.receipts(18).await.iter().map(|row| row["status_code"].clone()).collect();
        assert_eq!(statuses.chunks(2).filter(|pair| *pair == [json!(200), json!(429)]).count(), 9);

        let (_, key) = limited(&app, json!({"requests_per_minute": 1})).await;
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, &key).await;
        assert_eq!(socket.ask(turn.clone()).await.pop().unwrap()["type"], "response.completed");
        let refused = socket.ask(turn).await.pop().unwrap();
        assert_eq!(refused["error"]["code"], "rate_limit_exceeded", "{refused}");
    }))
    .await;
}

#[tokio::test]
async fn passthrough_calls_count_their_usage() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_day": 20000, "max_parallel_requests": 1})).await;
        let pass = |model: &str| app.post("/p/openai/v1/chat/completions", question(model)).key(&key);
        let first = pass("text").open().await;
        assert_eq!(first.headers()["x-ratelimit-scope"], "tokens_per_day");
        check_refused(&pass("text").send().await, "max_parallel_requests");
        first.into_body().collect().await.unwrap();
        let refusing = async || pass("error-500").send().await;
        assert_eq!(refusing().await.status, 500);
        // Reading takes a request and no tokens.
        let read = app.call(Method::GET, "/p/openai/v1/models").key(&key).send().await.expect_status(200);
        let billed: u64 =
            app.upstream.bill().iter().map(|line| line.prompt_tokens + line.completion_tokens).sum();
        assert_eq!(rate_limit(&read), ("tokens_per_day", 20000, 20000 - billed));
    })
    .await;
}

#[tokio::test]
async fn an_explanation_consumes_no_limit_and_predicts_the_refusal() {
    app::each(async |app| {
        let limits = json!({"requests_per_minute": 1, "tokens_per_day": 9000, "max_parallel_requests": 4});
        let (id, key) = limited(&app, limits).await;
        let explain = async || {
            let body = json!({"body": question("openai/text"), "as_key_id": id});
            app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json()
        };
        for _ in 0..3 {
            let explanation = explain().await;
            let expected = json!([
                {"scope": "requests_per_minute", "limit": 1, "remaining": 1, "reset_seconds": 0, "refuses": false},
                {"scope": "tokens_per_day", "limit": 9000, "remaining": 9000, "reset_seconds": 0, "refuses": false},
                {"scope": "max_parallel_requests", "limit": 4, "remaining": 4, "reset_seconds": 0, "refuses": false},
            ]);
            assert_eq!(explanation["limits"], expected);
            assert_eq!(explanation["decision"]["first"], "openai/text");
        }
        app.chat("text").key(&key).send().await.expect_status(200);
        let explanation = explain().await;
        assert_eq!((&explanation["limits"][0]["remaining"], &explanation["limits"][0]["refuses"]), (&json!(0), &json!(true)));
        assert_eq!(explanation["decision"]["first"], Value::Null);
        let refused = app.chat("text").key(&key).send().await;
        check_refused(&refused, "requests_per_minute");
        let (foreseen, met) = (&explanation["decision"]["error"], &refused.json()["error"]);
        assert_eq!((&foreseen["code"], &foreseen["status"]), (&met["code"], &json!(429)));
        let unlimited = app.post("/admin/api/v1/explain", json!({"body": question("openai/text")})).send().await;
        assert_eq!(unlimited.json()["limits"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_nothing_is_refused_by_its_name() {
    app::each(async |app| {
        for name in [
            "requests_per_minute",
            "requests_per_day",
            "tokens_per_minute",
            "tokens_per_day",
            "max_parallel_requests",
        ] {
            for value in [json!(0), json!(1_000_000_000_001_u64), json!(-1), json!("1")] {
                let body = json!({"name": "a", "rate_limits": {name: value}});
                let (status, code, param) = app.post("/admin/api/v1/auth-keys", body).refusal().await;
                assert_eq!((status, &*code), (400, "invalid_parameter"), "{name}: {value}");
                assert_eq!(param, Some(format!("rate_limits.{name}")), "{value}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn every_refusal_has_the_rate_limit_headers() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"requests_per_minute": 5})).await;
        app.chat("text").key(&key).send().await.expect_status(200);
        for (remaining, call) in [
            (3, app.post("/v1/chat/completions", json!({"messages": []}))),
            (2, app.post("/v1/chat/completions", json!({"model": "text", "messages": 5}))),
            (1, app.chat("text").header("x-gateway-user-path", "/a/../b")),
        ] {
            let answer = call.key(&key).send().await.expect_status(400);
            assert_eq!(rate_limit(&answer), ("requests_per_minute", 5, remaining));
        }
    })
    .await;
}

#[tokio::test]
async fn tokens_per_day_are_used_up_by_calls_without_a_bound() {
    app::each(async |app| {
        let (_, key) = limited(&app, json!({"tokens_per_day": 2000})).await;
        let mut admitted = 0;
        let refused = loop {
            let answer = app.post("/v1/chat/completions", question("text")).key(&key).send().await;
            if answer.status != 200 {
                break answer;
            }
            admitted += 1;
            assert!(admitted < 500, "it is never refused");
        };
        check_refused(&refused, "tokens_per_day");
        let rows = app.receipts(admitted + 1).await;
        let used: u64 = rows.iter().map(|row| row["total_tokens"].as_u64().unwrap()).sum();
        assert!(
            (2000..2100).contains(&used),
            "{used} of 2000 by {admitted} calls: the last one may exceed it"
        );
    })
    .await;
}
