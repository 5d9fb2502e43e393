//! Tests of repeated calls with the same `Idempotency-Key`: one upstream call, one charge, the same response.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, Answer, Call, TestApp, TestSettings, question};

const NAME: &str = "idempotency-key";

fn asked(app: &TestApp) -> usize {
    app.upstream.requests().iter().filter(|request| request.path != "/v1/models").count()
}

fn replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

fn conflict(answer: &Answer) -> bool {
    answer.refusal() == (409, "conflict".into(), Some("Idempotency-Key".into()))
}

#[tokio::test]
async fn a_repeated_call_gets_the_same_answer_and_costs_nothing() {
    app::each(async |app| {
        let send = || async {
            let calls = [app.chat("gpt-4o").header(NAME, "a"), app.stream("gpt-4o").header(NAME, "b")];
            let mut answers = Vec::new();
            for call in calls {
                answers.push(call.send().await.expect_status(200));
            }
            answers
        };
        let (first, again) = (send().await, send().await);
        assert_eq!(asked(&app), 2, "each was asked once");
        for (one, two) in first.iter().zip(&again) {
            assert_eq!(one.body, two.body);
            assert!(!replayed(one) && replayed(two));
            for name in ["content-type", "x-gateway-model", "x-gateway-provider", "x-gateway-attempts"] {
                assert!(one.header(name).is_some(), "{name}");
                assert_eq!(one.header(name), two.header(name), "{name}");
            }
            assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
            assert_eq!(two.header("x-gateway-cost-usd"), None);
        }
        assert!(again[1].text().ends_with("data: [DONE]\n\n"));
        let rows = app.receipts(4).await;
        for (row, line) in rows.iter().zip(app.upstream.bill()) {
            assert_eq!(
                row["total_tokens"].as_u64(),
                Some(line.prompt_tokens + line.completion_tokens),
                "{row:#}"
            );
            assert!(row["total_cost"].as_f64().unwrap() > 0.0, "{row:#}");
            assert_eq!(row["caveat"], Value::Null);
        }
        for row in &rows[2..] {
            assert_eq!((&row["status_code"], &row["total_tokens"]), (&json!(200), &json!(0)), "{row:#}");
            assert!(row["total_cost"].is_null(), "{row:#}");
            assert_eq!((&row["caveat"], &row["estimated"]), (&json!("idempotent replay"), &json!(false)));
            assert_eq!(
                (&row["provider_name"], &row["model"]),
                (&rows[0]["provider_name"], &rows[0]["model"])
            );
        }
        assert_eq!(rows[3]["stream"], true);
    })
    .await;
}

#[tokio::test]
async fn every_dialect_and_every_plain_call_can_be_repeated() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let text = json!([{"role": "user", "content": "Hello"}]);
        let contents = json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]});
        let calls = [
            ("/v1/responses", json!({"model": "openai/text", "input": "Hello"})),
            ("/v1/messages", json!({"model": "openai/text", "max_tokens": 9, "messages": text})),
            ("/v1/embeddings", json!({"model": "openai/text", "input": "Hello"})),
            ("/v1/rerank", json!({"model": "jina/text", "query": "a", "documents": ["a", "b"]})),
            ("/v1/completions", json!({"model": "openai/text", "prompt": "Hello"})),
            ("/v1beta/models/gemini/text:generateContent", contents.clone()),
        ];
        for (path, body) in calls {
            let send = || app.post(path, body.clone()).header(NAME, "k").send();
            let (first, again) = (send().await.expect_status(200), send().await.expect_status(200));
            assert_eq!(first.body, again.body, "{path}");
            assert!(!replayed(&first) && replayed(&again), "{path}");
        }
        // One endpoint, whose path says what is asked.
        let streamed = app.post("/v1beta/models/gemini/text:streamGenerateContent", contents);
        assert_eq!(streamed.header(NAME, "k").send().await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_key_belongs_to_one_request() {
    app::each(async |app| {
        app.chat("text").header(NAME, "a").send().await.expect_status(200);
        let mismatch = (422, "idempotency_mismatch".to_owned(), Some("Idempotency-Key".to_owned()));
        assert_eq!(app.chat("long").header(NAME, "a").refusal().await, mismatch);
        assert_eq!(app.stream("text").header(NAME, "a").refusal().await, mismatch);
        let streamed = app.post("/v1/chat/completions?stream=true", question("text"));
        assert_eq!(streamed.header(NAME, "a").refusal().await, mismatch, "what the query says counts");
        for wrong in ["", "two words", &"k".repeat(256)] {
            let refused = app.chat("text").header(NAME, wrong).refusal().await;
            assert_eq!(refused, (400, "invalid_parameter".into(), Some("Idempotency-Key".into())), "{wrong}");
        }
        assert_eq!(asked(&app), 1);
    })
    .await;
}

#[tokio::test]
async fn keys_of_different_owners_paths_and_endpoints_are_different_keys() {
    app::each(async |app| {
        let (_, one) = app.key(json!({"name": "one"})).await;
        let (_, two) = app.key(json!({"name": "two"})).await;
        let sixth = json!({"model": "text", "prompt": "Hello"});
        let calls: [Call<'_>; 5] = [
            app.chat("text"),
            app.chat("text").key(&one),
            app.chat("long").key(&two),
            app.chat("long-3").header("x-gateway-user-path", "/elsewhere"),
            app.post("/v1/completions", sixth),
        ];
        for call in calls {
            let answer = call.header(NAME, "same").send().await.expect_status(200);
            assert!(!replayed(&answer));
        }
        assert_eq!(asked(&app), 5);
        assert!(replayed(&app.chat("text").key(&one).header(NAME, "same").send().await));
    })
    .await;
}

#[tokio::test]
async fn a_running_call_is_not_repeated_on_any_replica() {
    app::each(async |app| {
        let neighbour = app.neighbour().await;
        for stream in [false, true] {
            let body = json!({"model": "slow-600", "stream": stream, "messages": question("x")["messages"]});
            let key = if stream { "s" } else { "w" };
            let meanwhile = async {
                tokio::time::sleep(Duration::from_millis(250)).await;
                for place in [&app, &neighbour] {
                    let refused = send(place, &body, key).await;
                    assert!(conflict(&refused), "{}", refused.text());
                    assert_eq!(refused.header("retry-after"), Some("1"));
                    let other = place.chat("other").header(NAME, key).refusal().await;
                    assert_eq!(other.0, 422, "{other:?}");
                }
            };
            let (first, ()) = tokio::join!(send(&app, &body, key), meanwhile);
            let again = send(&app, &body, key).await.expect_status(200);
            assert_eq!(first.expect_status(200).body, again.body);
            assert!(replayed(&again));
        }
        assert_eq!(asked(&app), 2);
        let rows = app.receipts(8).await;
        assert_eq!(rows.iter().filter(|row| row["status_code"] == 409).count(), 2, "{rows:#?}");
    })
    .await;
}

async fn send(app: &TestApp, body: &Value, key: &str) -> Answer {
    app.post("/v1/chat/completions", body.clone()).header(NAME, key).send().await
}

/// Repeats a call until the writer has stored its answer.
async fn eventually_replayed(app: &TestApp, call: impl Fn(&TestApp) -> Call<'_>) -> Answer {
    for _ in 0..100 {
        let answer = call(app).send().await;
        if answer.status == 200 {
            return answer;
        }
        assert!(conflict(&answer), "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the answer never arrives");
}

#[tokio::test]
async fn another_replica_and_a_later_process_know_the_answer() {
    app::each(async |app| {
        let calls: [fn(&TestApp) -> Call<'_>; 2] =
            [|app| app.chat("text").header(NAME, "w"), |app| app.stream("text").header(NAME, "s")];
        let neighbour = app.neighbour().await;
        let mut first = Vec::new();
        for call in calls {
            let answer = call(&app).send().await.expect_status(200);
            let there = eventually_replayed(&neighbour, call).await;
            assert_eq!((&there.body, replayed(&there)), (&answer.body, true));
            assert_eq!(there.header("content-type"), answer.header("content-type"));
            first.push(answer);
        }
        let later = app.restart().await;
        for (call, answer) in calls.iter().zip(first) {
            let again = call(&later).send().await.expect_status(200);
            assert_eq!((&again.body, replayed(&again)), (&answer.body, true));
        }
        assert_eq!(asked(&app), 2);
    })
    .await;
}

#[tokio::test]
async fn a_failed_call_can_be_retried() {
    app::each(async |app| {
        for (number, failing) in
            ["error-500", "cut-mid-stream", "error-in-stream", "bad-json"].iter().enumerate()
        {
            for stream in [false, true] {
                let key = format!("{number}{stream}");
                let send = || {
                    let body =
                        json!({"model": "text", "stream": stream, "messages": question("x")["messages"]});
                    app.post("/v1/chat/completions", body).header(NAME, &key).send()
                };
                app.upstream.push(testkit::FaultScript::named(failing));
                let failed = send().await;
                assert!(
                    failed.status >= 500 || failed.text().contains("\"error\""),
                    "{failing}: {}",
                    failed.text()
                );
                let again = send().await.expect_status(200);
                assert!(!replayed(&again), "{failing}");
                assert!(!again.text().contains("\"error\""), "{failing}");
                assert!(replayed(&send().await), "{failing}");
            }
        }
        // What is refused before anything is sent is no answer either.
        let (_, closed) = app.key(json!({"name": "closed", "allowed_models": ["other"]})).await;
        for _ in 0..2 {
            let refused = app.chat("text").key(&closed).header(NAME, "refused").refusal().await;
            assert_eq!(refused.1, "key_model_access_denied");
        }
    })
    .await;
}

#[tokio::test]
async fn a_disconnect_releases_the_idempotency_key() {
    app::each(async |app| {
        let left =
            tokio::time::timeout(Duration::from_millis(100), app.chat("slow-5000").header(NAME, "w").send());
        assert!(left.await.is_err());
        app.upstream.push(testkit::FaultScript::named("text"));
        let again = app.chat("slow-5000").header(NAME, "w").send().await.expect_status(200);
        assert!(!replayed(&again));

        let mut body = app.stream("drip-50").header(NAME, "s").open().await.into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);
        let again = app.stream("drip-50").header(NAME, "s").send().await.expect_status(200);
        assert!(!replayed(&again) && again.text().ends_with("data: [DONE]\n\n"));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_being_counted_is_kept_though_its_client_leaves() {
    app::each(async |app| {
        let mut body = question("no-usage");
        let long: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        body["messages"][0]["content"] = json!(long.join(" "));
        let answered = async {
            loop {
                let page = app.get("/metrics").send().await.expect_status(200).text().to_owned();
                let counts = |line: &str| line.contains("upstream_attempts_total{") && !line.ends_with(" 0");
                if page.lines().any(counts) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            () = answered => {}
            answer = send(&app, &body, "a") => drop(answer.expect_status(200)),
        }
        assert!(replayed(&send(&app, &body, "a").await.expect_status(200)));
        assert_eq!(asked(&app), 1);
    })
    .await;
}

#[tokio::test]
async fn a_too_large_answer_is_sent_and_not_stored() {
    app::each(async |app| {
        for stream in [false, true] {
            let key = if stream { "s" } else { "w" };
            let body =
                json!({"model": "huge-event-4200", "stream": stream, "messages": question("x")["messages"]});
            let send = || send(&app, &body, key);
            assert!(send().await.expect_status(200).body.len() > 4 << 20);
            let refused = send().await;
            assert!(conflict(&refused), "{}", refused.status);
            assert!(refused.text().contains("too large to be kept"), "{}", refused.text());
            assert_eq!(refused.header("retry-after"), None);
        }
        assert_eq!(asked(&app), 2);
    })
    .await;
}

#[tokio::test]
async fn idempotency_works_in_process_without_storage() {
    let settings = || TestSettings { store_timeout: Duration::from_secs(5), ..TestSettings::default() };
    app::each_with(settings, async |app| {
        app.refresher.store().close().await;
        let first = app.chat("text").header(NAME, "a").send().await.expect_status(200);
        let again = app.chat("text").header(NAME, "a").send().await.expect_status(200);
        assert_eq!((&first.body, replayed(&again)), (&again.body, true));
        assert_eq!(asked(&app), 1);
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_forgotten_when_its_time_is_over() {
    let policy = Policy { idempotency_ttl: Duration::from_secs(3600), ..Policy::default() };
    app::each_with(
        || TestSettings { policy: policy.clone(), ..TestSettings::default() },
        async |app| {
            let send = || app.chat("text").header(NAME, "a").send();
            send().await.expect_status(200);
            app.clock.advance(Duration::from_secs(3500));
            assert!(replayed(&send().await));
            app.clock.advance(Duration::from_secs(200));
            assert!(!replayed(&send().await.expect_status(200)));
            assert_eq!(asked(&app), 2);
        },
    )
    .await;
}

#[tokio::test]
async fn the_key_is_ignored_on_routes_without_idempotency() {
    app::each(async |app| {
        let forwarded =
            || app.post("/p/openai/v1/chat/completions", question("text")).header(NAME, "a").send();
        assert!(!replayed(&forwarded().await.expect_status(200)));
        assert!(!replayed(&forwarded().await.expect_status(200)));
        let headers = &app.upstream.requests()[0].headers;
        assert!(format!("{headers:?}").contains("idempotency-key"), "the provider gets it: {headers:?}");
        app.call(Method::GET, "/v1/models").header(NAME, "a").send().await.expect_status(200);
    })
    .await;
}
