//! Tests of the response cache: hits, misses, isolation, both forms of answers, and calls in flight.

use std::time::Duration;

use futures_util::future::join_all;
use pipeline::policy::{CachePolicy, CacheScope, Policy};
use serde_json::{Value, json};

use crate::app::{self, Answer, CLIENTS, TestApp, TestSettings, question};

fn cached() -> TestSettings {
    with_scope(CacheScope::UserPath)
}

fn with_scope(scope: CacheScope) -> TestSettings {
    let cache = CachePolicy { enabled: true, scope, ..CachePolicy::default() };
    TestSettings { policy: Policy { cache, ..Policy::default() }, ..TestSettings::enterprise() }
}

fn asked(app: &TestApp) -> usize {
    app.upstream.requests().iter().filter(|request| request.path != "/v1/models").count()
}

/// The headers that tell about the cache.
fn cache_headers(answer: &Answer) -> (&str, Option<&str>) {
    (answer.header("x-gateway-cache").unwrap(), answer.header("x-cache"))
}

const HIT: (&str, Option<&str>) = ("hit-exact", Some("HIT (exact)"));
const MISS: (&str, Option<&str>) = ("miss", Some("MISS"));

#[tokio::test]
async fn an_identical_call_is_answered_from_the_cache_and_costs_nothing() {
    app::each_with(cached, async |app| {
        let first = app.chat("gpt-4o").send().await.expect_status(200);
        let again = app.chat("gpt-4o").send().await.expect_status(200);
        assert_eq!((cache_headers(&first), cache_headers(&again)), (MISS, HIT));
        assert_eq!((asked(&app), &first.body), (1, &again.body));
        for name in ["content-type", "x-gateway-model", "x-gateway-provider"] {
            assert_eq!(first.header(name), again.header(name), "{name}");
        }
        assert_eq!(again.header("x-gateway-attempts"), Some("0"));
        assert_eq!(again.header("x-gateway-cost-usd"), Some("0.000000000"));
        assert_ne!(first.header("x-request-id"), again.header("x-request-id"));

        let uncached = app.receipts(1).await;
        let path = "/admin/api/v1/usage/log?cache_mode=cached";
        let rows = app.get(path).send().await.expect_status(200).json()["entries"].clone();
        assert_eq!(rows.as_array().unwrap().len(), 1, "{rows:#}");
        let (hit, miss) = (&rows[0], &uncached[0]);
        for field in ["input_tokens", "output_tokens", "model", "provider_name", "requested_model"] {
            assert_eq!(hit[field], miss[field], "{field}");
        }
        assert_eq!((&hit["cache_type"], &miss["cache_type"]), (&json!("exact"), &json!("")));
        assert_eq!(hit["total_cost"], 0.0, "{hit:#}");
        assert_eq!((&hit["estimated"], &hit["caveat"]), (&json!(false), &Value::Null));
        assert!(miss["total_cost"].as_f64().unwrap() > 0.0, "{miss:#}");
    })
    .await;
}

#[tokio::test]
async fn the_overview_counts_hits_misses_and_what_was_saved() {
    app::each_with(cached, async |app| {
        for model in ["gpt-4o", "gpt-4o", "gpt-4o", "text"] {
            app.chat(model).send().await.expect_status(200);
        }
        let uncached = app.receipts(2).await;
        let overview = app.get("/admin/api/v1/cache/overview").send().await.expect_status(200).json();
        let summary = &overview["summary"];
        let counted = ["total_hits", "exact_hits", "semantic_hits", "misses"].map(|name| &summary[name]);
        assert_eq!(counted, [&json!(2), &json!(2), &json!(0), &json!(2)], "{overview:#}");
        assert_eq!(summary["hit_rate"], 0.5);
        let saved = summary["total_saved_cost"].as_f64().unwrap();
        let cost = uncached[0]["total_cost"].as_f64().unwrap();
        assert!((saved - 2.0 * cost).abs() < 1e-12, "{saved} of twice {cost}");
        assert_eq!(
            summary["total_tokens"].as_u64(),
            uncached[0]["total_tokens"].as_u64().map(|count| 2 * count)
        );
        assert_eq!(overview["daily"][0]["hits"], 2, "{overview:#}");
    })
    .await;
}

#[tokio::test]
async fn whole_and_streamed_answers_of_every_format_share_an_entry() {
    let settings = || TestSettings { vendors: TestSettings::every_dialect().vendors, ..cached() };
    app::each_with(settings, async |app| {
        for client in CLIENTS {
            for upstream in ["openai/gpt-4.1~", "anthropic/claude-sonnet-4-5~", "gemini/gemini-2.5-flash~"] {
                for (model, first) in [("text", false), ("long", true)] {
                    let model = format!("{upstream}{model}");
                    let name = format!("{client:?} {model}");
                    let before = asked(&app);
                    let made = client.ask(&app, &model, first).send().await.expect_status(200);
                    let same = client.ask(&app, &model, first).send().await.expect_status(200);
                    let other = client.ask(&app, &model, !first).send().await.expect_status(200);
                    assert_eq!(
                        [cache_headers(&made), cache_headers(&same), cache_headers(&other)],
                        [MISS, HIT, HIT],
                        "{name}"
                    );
                    assert_eq!(asked(&app), before + 1, "{name}");
                    let texts = [&made, &same, &other].map(|answer| client.text(answer));
                    assert!(!texts[0].is_empty(), "{name}");
                    assert_eq!((&texts[0], &texts[0]), (&texts[1], &texts[2]), "{name}");
                    let streamed = if first { [&made, &same] } else { [&other, &other] };
                    for answer in streamed {
                        client.check_end(answer);
                        assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{name}");
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn embeddings_are_cached() {
    app::each_with(cached, async |app| {
        let ask = || app.post("/v1/embeddings", json!({"model": "text", "input": "Hello"})).send();
        let (first, again) = (ask().await.expect_status(200), ask().await.expect_status(200));
        assert_eq!((cache_headers(&again), asked(&app), &first.body), (HIT, 1, &again.body));
    })
    .await;
}

#[tokio::test]
async fn callers_of_another_scope_never_get_the_answer() {
    for (scope, shared) in [
        (CacheScope::UserPath, [true, false, false]),
        (CacheScope::Key, [false, true, false]),
        (CacheScope::Tenant, [true, true, false]),
        (CacheScope::Global, [true, true, false]),
    ] {
        app::each_with(
            || with_scope(scope),
            async |app| {
                let key = async |name: &str, tenant: Option<&str>| {
                    app.key(json!({"name": name, "tenant_id": tenant})).await.1
                };
                let (one, two) = (key("one", None).await, key("two", None).await);
                app.post("/admin/api/v1/tenants", json!({"slug": "t2"})).send().await.expect_status(201);
                let elsewhere = key("three", Some("t2")).await;
                let ask = async |key: &str, path: &str| {
                    app.chat("text")
                        .key(key)
                        .header("x-gateway-user-path", path)
                        .send()
                        .await
                        .expect_status(200)
                };
                assert_eq!(cache_headers(&ask(&one, "/a").await), MISS);
                assert_eq!(cache_headers(&ask(&one, "/a").await), HIT, "{scope:?}");
                let expect = |shared: bool| if shared { HIT } else { MISS };
                assert_eq!(
                    cache_headers(&ask(&two, "/a").await),
                    expect(shared[0]),
                    "{scope:?}: another key"
                );
                assert_eq!(
                    cache_headers(&ask(&one, "/a/b").await),
                    expect(shared[1]),
                    "{scope:?}: another path"
                );
                assert_eq!(
                    cache_headers(&ask(&elsewhere, "/a").await),
                    expect(shared[2]),
                    "{scope:?}: another tenant"
                );
            },
        )
        .await;
    }
}

#[tokio::test]
async fn clients_can_ask_for_a_new_answer() {
    app::each_with(cached, async |app| {
        let ask = async |name: &'static str, value: &str| {
            app.chat("text").header(name, value).send().await.expect_status(200)
        };
        app.chat("text").send().await.expect_status(200);
        assert_eq!(cache_headers(&ask("cache-control", "no-cache").await).0, "bypass");
        assert_eq!(cache_headers(&ask("cache-control", "max-age=0, No-Store").await).0, "bypass");
        assert_eq!(cache_headers(&ask("x-cache-type", "semantic").await).0, "bypass");
        assert_eq!(asked(&app), 4);
        assert_eq!(cache_headers(&ask("x-cache-type", "both").await), HIT);
        for (name, value) in [("x-cache-ttl", "0"), ("x-cache-ttl", "soon"), ("x-cache-type", "fuzzy")] {
            let refused = app.chat("text").header(name, value).refusal().await;
            assert_eq!((refused.0, &*refused.1), (400, "invalid_parameter"), "{name}: {value}");
        }

        // An answer that is not to be stored is not.
        let other = app.chat("long").header("cache-control", "no-store").send().await.expect_status(200);
        assert_eq!(cache_headers(&other).0, "bypass");
        assert_eq!(cache_headers(&app.chat("long").send().await), MISS);
    })
    .await;
}

#[tokio::test]
async fn answers_expire() {
    app::each_with(cached, async |app| {
        app.chat("text").send().await.expect_status(200);
        app.chat("long").header("x-cache-ttl", "60").send().await.expect_status(200);
        app.clock.pass(Duration::from_secs(61));
        assert_eq!(cache_headers(&app.chat("text").send().await), HIT);
        let debug = app.chat("long").header("x-cache-debug", "1").send().await;
        assert_eq!(cache_headers(&debug), MISS);
        assert_eq!(debug.header("x-cache-miss-reason"), Some("expired"));
        assert_eq!(debug.header("x-cache-key").map(str::len), Some(64));
        app.clock.pass(Duration::from_secs(3600));
        assert_eq!(cache_headers(&app.chat("text").send().await), MISS);
    })
    .await;
}

#[tokio::test]
async fn errors_and_broken_streams_are_not_cached() {
    app::each_with(cached, async |app| {
        for model in ["error-400", "bad-json", "cut-mid-stream", "error-after-content"] {
            let streams = !model.starts_with("error-4") && model != "bad-json";
            for _ in 0..2 {
                let call = if streams { app.stream(model) } else { app.chat(model) };
                let answer = call.send().await;
                assert_ne!(cache_headers(&answer), HIT, "{model}");
            }
        }
        let before = asked(&app);
        app.chat("error-400").send().await.expect_status(400);
        assert_eq!(asked(&app), before + 1);
    })
    .await;
}

#[tokio::test]
async fn answers_of_other_targets_are_not_cached() {
    app::each_with(cached, async |app| {
        let models = ["openai/error-500", "openai/text"];
        let combo = json!({"strategy": "primary_fallback", "models": models});
        let made = app.put("/admin/api/v1/combos/pair", combo).send().await;
        assert!(made.status < 300, "{}", made.text());
        for _ in 0..2 {
            let answer = app.chat("pair").send().await.expect_status(200);
            assert_eq!(cache_headers(&answer), MISS);
        }
    })
    .await;
}

#[tokio::test]
async fn calls_that_depend_on_more_than_the_request_are_not_cached() {
    app::each_with(cached, async |app| {
        let first = app.post("/v1/responses", json!({"model": "text", "input": "Hello"})).send().await;
        let id = first.expect_status(200).json()["id"].clone();
        let next = json!({"model": "text", "input": "More", "previous_response_id": id});
        for _ in 0..2 {
            let answer = app.post("/v1/responses", next.clone()).send().await.expect_status(200);
            assert_eq!(cache_headers(&answer).0, "bypass");
        }
        let debug = app.post("/v1/responses", next).header("x-cache-debug", "1").send().await;
        assert_eq!(debug.header("x-cache-miss-reason"), Some("not_cacheable"));
    })
    .await;
}

#[tokio::test]
async fn a_cached_response_belongs_to_each_caller_and_can_be_continued() {
    app::each_with(cached, async |app| {
        let (_, key) = app.key(json!({"name": "one"})).await;
        for stream in [false, true] {
            let body = json!({"model": "text", "input": format!("Hello {stream}"), "stream": stream});
            let ask = || app.post("/v1/responses", body.clone());
            let first = ask().send().await.expect_status(200);
            let again = ask().key(&key).send().await.expect_status(200);
            assert_eq!((cache_headers(&first), cache_headers(&again)), (MISS, HIT));
            let ids = [&first, &again].map(|answer| match stream {
                false => answer.json()["id"].as_str().unwrap().to_owned(),
                true => {
                    let (_, last) = answer.named_events().pop().unwrap();
                    last["response"]["id"].as_str().unwrap().to_owned()
                }
            });
            assert_ne!(ids[0], ids[1], "each response has its own id");
            if !stream {
                let path = format!("/v1/responses/{}", ids[1]);
                app.get(&path).key(&key).send().await.expect_status(200);
                app.get(format!("/v1/responses/{}", ids[0])).key(&key).send().await.expect_status(404);
            }
            let next = json!({"model": "text", "input": "More", "previous_response_id": ids[1]});
            app.post("/v1/responses", next).key(&key).send().await.expect_status(200);
            let sent = app.last_upstream_request();
            assert!(sent.contains(&format!("Hello {stream}")) && sent.contains("More"), "{sent}");
        }
    })
    .await;
}

#[tokio::test]
async fn identical_calls_at_the_same_time_are_sent_once() {
    app::each_with(cached, async |app| {
        for stream in [false, true] {
            let before = asked(&app);
            let ask = || if stream { app.stream("drip-20") } else { app.chat("slow-200") };
            let answers = join_all((0..100).map(|_| ask().send())).await;
            assert_eq!(asked(&app), before + 1, "stream: {stream}");
            let hits = answers.iter().filter(|answer| cache_headers(answer) == HIT).count();
            assert_eq!(hits, 99, "stream: {stream}");
            assert!(
                answers.iter().all(|answer| answer.status == 200 && answer.content() == answers[0].content())
            );
        }
        app.receipts(2).await;
    })
    .await;
}

#[tokio::test]
async fn calls_do_not_wait_for_one_that_fails_or_is_gone() {
    app::each_with(cached, async |app| {
        let answers = join_all((0..8).map(|_| app.chat("error-500").send())).await;
        assert!(answers.iter().all(|answer| answer.status >= 500), "each has its own error");

        let mut leader = Box::pin(app.chat("slow-200").send());
        let left = tokio::time::timeout(Duration::from_millis(50), &mut leader).await;
        assert!(left.is_err(), "the first call is in flight");
        let follower = app.chat("slow-200").send();
        let (_, answer) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                drop(leader);
            },
            follower
        );
        assert_eq!((answer.status, cache_headers(&answer)), (200, MISS));
    })
    .await;
}

#[tokio::test]
async fn workflows_switch_the_cache_off_and_set_the_lifetime() {
    app::each_with(cached, async |app| {
        let activate = async |payload: Value| {
            let body = json!({"name": "w", "workflow_payload": payload});
            app.post("/admin/api/v1/workflows", body).send().await.expect_status(201);
        };
        activate(json!({"cache": {"ttl_seconds": 10}})).await;
        app.chat("text").send().await.expect_status(200);
        assert_eq!(cache_headers(&app.chat("text").send().await), HIT);
        app.clock.pass(Duration::from_secs(11));
        assert_eq!(cache_headers(&app.chat("text").send().await), MISS);
        activate(json!({"features": {"cache": false}})).await;
        let answer = app.chat("text").header("x-cache-debug", "1").send().await.expect_status(200);
        assert_eq!(
            (cache_headers(&answer).0, answer.header("x-cache-miss-reason")),
            ("bypass", Some("disabled"))
        );
    })
    .await;
}

#[tokio::test]
async fn guardrails_are_part_of_the_key() {
    app::each_with(cached, async |app| {
        let guard = async |replacement: &str| {
            let config = json!({"action": "sanitize", "patterns": ["Hello"], "replacement": replacement});
            let body = json!({"type": "regex_block", "direction": "output", "config": config});
            let stored = app.put("/admin/api/v1/guardrails/words", body).send().await;
            assert!(stored.status < 300, "{}", stored.text());
        };
        guard("[ONE]").await;
        let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["words"]}});
        app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
        app.chat("echo").send().await.expect_status(200);
        assert_eq!(cache_headers(&app.chat("echo").send().await), HIT);
        guard("[TWO]").await;
        assert_eq!(cache_headers(&app.chat("echo").send().await), MISS);
    })
    .await;
}

#[tokio::test]
async fn a_hit_takes_no_tokens_and_no_budget() {
    app::each_with(cached, async |app| {
        let limits = json!({"name": "one", "rate_limits": {"tokens_per_day": 100_000}});
        let (_, key) = app.key(limits).await;
        let ask = || app.chat("gpt-4o").key(&key).send();
        let remaining = |answer: &Answer| answer.header("x-ratelimit-remaining").unwrap().to_owned();
        ask().await.expect_status(200);
        let one = ask().await.expect_status(200);
        let two = ask().await.expect_status(200);
        assert_eq!([cache_headers(&one), cache_headers(&two)], [HIT, HIT]);
        assert_eq!(remaining(&one), remaining(&two));
    })
    .await;
}

#[tokio::test]
async fn explain_and_debug_tell_the_verdict() {
    app::each_with(cached, async |app| {
        let explain = async || {
            let body = json!({"body": question("text")});
            app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json()
        };
        let debug = async |body: Value| {
            let body = json!({"body": body});
            app.post("/admin/api/v1/cache/debug", body).send().await.expect_status(200).json()
        };
        let before = explain().await;
        assert_eq!(
            (&before["cache"]["status"], &before["cache"]["miss_reason"]),
            (&json!("miss"), &json!("not_found"))
        );
        let answer = app.chat("text").header("x-cache-debug", "1").send().await.expect_status(200);
        assert_eq!(before["cache"]["key"].as_str(), answer.header("x-cache-key"));
        let after = explain().await;
        assert_eq!(after["cache"]["status"], "hit-exact");
        assert_eq!((&after["decision"]["first"], &after["candidates"]), (&Value::Null, &Value::Null));

        let hit = debug(question("text")).await;
        assert_eq!((&hit["cacheable"], &hit["miss_reason"]), (&json!(true), &json!("")));
        assert_eq!(hit["exact_cache_key"], before["cache"]["key"]);
        let mut miss = debug(question("long")).await;
        // It has the address of the scripted provider in it.
        assert_eq!(miss["exact_cache_key"].take().as_str().map(str::len), Some(64));
        app::check_snapshot("cache debug", &app::pretty(miss));
        let refused = app
            .post(
                "/admin/api/v1/cache/debug",
                json!({"body": {"messages": [{"role": "user", "content": "x"}]}}),
            )
            .refusal()
            .await;
        assert_eq!((refused.0, refused.2.as_deref()), (400, Some("body")));
    })
    .await;
}

#[tokio::test]
async fn cached_answers_can_be_purged() {
    app::each_with(cached, async |app| {
        let fill = async || {
            for path in ["/a", "/a/b", "/c"] {
                app.chat("text").header("x-gateway-user-path", path).send().await.expect_status(200);
            }
        };
        let purge = async |body: Value| {
            app.post("/admin/api/v1/cache/purge", body).send().await.expect_status(200).json()["purged"]
                .clone()
        };
        fill().await;
        assert_eq!(purge(json!({"user_path": "/a"})).await, 2);
        fill().await;
        assert_eq!(asked(&app), 5);
        assert_eq!(purge(json!({"model": "long"})).await, 0);
        assert_eq!(purge(json!({})).await, 3);
        let team = json!({"name": "team", "scopes": ["admin:write"], "user_path": "/a"});
        let (_, team) = app.key(team).await;
        fill().await;
        let own = app.post("/admin/api/v1/cache/purge", json!({})).key(&team).send().await.expect_status(200);
        assert_eq!(own.json()["purged"], 2, "a key of a path purges its own");
        let other =
            app.post("/admin/api/v1/cache/purge", json!({"user_path": "/c"})).key(&team).refusal().await;
        assert_eq!((other.0, &*other.1), (403, "user_path_denied"));
    })
    .await;
}

#[tokio::test]
async fn without_the_cache_its_reports_are_unavailable() {
    app::each(async |app| {
        let answer = app.chat("text").send().await.expect_status(200);
        assert_eq!(cache_headers(&answer), ("off", None));
        let question = json!({"body": question("text")});
        for (path, body) in [("debug", question), ("purge", json!({}))] {
            let refused = app.post(format!("/admin/api/v1/cache/{path}"), body).refusal().await;
            assert_eq!((refused.0, &*refused.1), (503, "feature_unavailable"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_that_guardrails_changed_shares_nothing_of_its_original() {
    app::each_with(cached, async |app| {
        let config = json!({"action": "sanitize", "patterns": ["(?i)alice|bob"]});
        let body = json!({"type": "regex_block", "direction": "input", "config": config});
        app.put("/admin/api/v1/guardrails/names", body).send().await.expect_status(201);
        let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["names"]}});
        app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
        let ask = async |name: &str| {
            let body = json!({"model": "text", "input": "Hello", "instructions": format!("Help {name}.")});
            app.post("/v1/responses", body).send().await.expect_status(200)
        };
        assert!(ask("alice").await.text().contains("Help alice."), "the client's own request is repeated");
        let other = ask("bob").await;
        assert!(!other.text().contains("alice") && cache_headers(&other) == MISS, "{}", other.text());
        assert_eq!(cache_headers(&ask("bob").await), HIT);
    })
    .await;
}

#[tokio::test]
async fn answers_that_cannot_be_converted_are_cached_for_each_form() {
    app::each_with(cached, async |app| {
        let mut body = question("text");
        body["n"] = json!(2);
        body["stream"] = json!(true);
        let plain = app.post("/v1/chat/completions", body.clone()).send().await.expect_status(200);
        body["stream_options"] = json!({"include_usage": true});
        let counted = app.post("/v1/chat/completions", body.clone()).send().await.expect_status(200);
        assert_eq!([cache_headers(&plain), cache_headers(&counted)], [MISS, MISS]);
        assert!(counted.text().contains("\"usage\":{"), "{}", counted.text());
        assert_eq!(cache_headers(&app.post("/v1/chat/completions", body).send().await), HIT);
    })
    .await;
}

#[tokio::test]
async fn streams_with_an_early_head_are_cached_and_waited_for() {
    let settings = || {
        let mut settings = cached();
        settings.policy.stream_heartbeat = Duration::from_millis(50);
        settings
    };
    app::each_with(settings, async |app| {
        let body = json!({"model": "slow-200", "input": "Hello", "stream": true});
        let ask = || app.post("/v1/responses", body.clone()).send();
        let (first, second) = tokio::join!(ask(), ask());
        for answer in [&first, &second] {
            assert!(answer.text().starts_with(": keep-alive\n\n"), "{}", answer.text());
        }
        assert_eq!(asked(&app), 1, "the second waits for the first, and gets heartbeats meanwhile");
        let third = ask().await.expect_status(200);
        assert_eq!((cache_headers(&third), third.header("x-gateway-provider")), (HIT, Some("openai")));
        for answer in [&second, &third] {
            let (_, last) = answer.named_events().pop().unwrap();
            let next =
                json!({"model": "text", "input": "More", "previous_response_id": last["response"]["id"]});
            app.post("/v1/responses", next).send().await.expect_status(200);
            let sent = app.last_upstream_request();
            assert!(sent.contains("Hello") && sent.contains("More"), "{sent}");
        }
    })
    .await;
}

#[tokio::test]
async fn answers_that_a_budget_shortened_are_not_cached() {
    app::each_with(cached, async |app| {
        let path = "/admin/api/v1/budgets/%2F/daily";
        app.put(path, json!({"amount": 0.1})).send().await.expect_status(200);
        let mut body = question("openai/gpt-4o");
        body["max_tokens"] = json!(16_000);
        for _ in 0..2 {
            let answer = app.post("/v1/chat/completions", body.clone()).send().await.expect_status(200);
            assert!(answer.header("x-gateway-max-tokens-clamped").is_some());
            assert_eq!(cache_headers(&answer), MISS);
        }
    })
    .await;
}
