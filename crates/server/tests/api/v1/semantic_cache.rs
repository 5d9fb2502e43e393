//! Tests of the semantic cache: hits of similar calls, shadow mode, comparisons, isolation and restarts.

mod pgvector;
mod qdrant;

use std::sync::Arc;
use std::time::Duration;

use pipeline::gateway::background;
use pipeline::policy::{CachePolicy, CacheScope, Policy, SemanticMode, SemanticPolicy};
use pipeline::services::embedder::{Embedder, TextEncoder};
use serde_json::{Value, json};
use testkit::FaultScript;

use crate::app::{self, Answer, CLIENTS, Call, TestApp, TestSettings, WordEncoder};

const QUESTION: &str = "How do I convert 5 km to miles?";
const SIMILAR: &str = "Please convert 5 km to miles.";
const OVERVIEW: &str = "/admin/api/v1/cache/overview";

fn settings(mode: SemanticMode, recheck: f64) -> TestSettings {
    let semantic = SemanticPolicy {
        enabled: true,
        mode,
        recheck,
        // Long, so that a busy machine does not look like a slow embedder or store.
        embedding_timeout: Duration::from_secs(20),
        store_timeout: Duration::from_secs(20),
        ..SemanticPolicy::default()
    };
    let cache = CachePolicy { enabled: true, semantic, ..CachePolicy::default() };
    TestSettings { policy: Policy { cache, ..Policy::default() }, ..TestSettings::enterprise() }
}

fn serving() -> TestSettings {
    settings(SemanticMode::Serve, 0.0)
}

fn shadowing() -> TestSettings {
    settings(SemanticMode::Shadow, 0.0)
}

fn ask<'a>(app: &'a TestApp, text: &str) -> Call<'a> {
    let body = json!({"model": "text", "messages": [{"role": "user", "content": text}]});
    app.post("/v1/chat/completions", body).header("x-cache-debug", "1")
}

fn asked(app: &TestApp) -> usize {
    app.upstream.requests().iter().filter(|request| request.path != "/v1/models").count()
}

fn cache_headers(answer: &Answer) -> (&str, Option<&str>) {
    (answer.header("x-gateway-cache").unwrap(), answer.header("x-cache"))
}

const HIT: (&str, Option<&str>) = ("hit-semantic", Some("HIT (semantic)"));
const MISS: (&str, Option<&str>) = ("miss", Some("MISS"));

/// Waits until the cache has this many answers: they are added in the background.
async fn entries(app: &TestApp, count: u64) {
    let cache = app.gateway.semantic_cache.as_ref().unwrap();
    for _ in 0..2000 {
        if cache.len() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} entries instead of {count}", cache.len());
}

async fn summary(app: &TestApp) -> Value {
    app.get(OVERVIEW).send().await.expect_status(200).json()["summary"].clone()
}

/// Waits until this many answers were compared.
async fn rechecks(app: &TestApp, count: u64) -> Value {
    for _ in 0..2000 {
        let found = summary(app).await;
        if found["rechecks"] == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} instead of {count}", summary(app).await);
}

#[tokio::test]
async fn a_similar_call_is_answered_from_the_cache_and_costs_nothing() {
    app::each_with(serving, async |app| {
        let first = ask(&app, QUESTION).send().await.expect_status(200);
        assert_eq!(cache_headers(&first), MISS);
        entries(&app, 1).await;
        let similar = ask(&app, SIMILAR).send().await.expect_status(200);
        assert_eq!((cache_headers(&similar), asked(&app)), (HIT, 1), "{:?}", similar.headers);
        assert_eq!(similar.body, first.body);
        assert_eq!(similar.header("x-gateway-attempts"), Some("0"));
        assert_eq!(similar.header("x-gateway-cost-usd"), Some("0.000000000"));
        assert_eq!(similar.header("x-cache-layer"), Some("both"));
        assert!(similar.header("x-cache-semantic-score").unwrap().parse::<f64>().unwrap() > 0.95);
        assert_eq!(similar.header("x-cache-semantic-threshold"), Some("0.9500"));
        assert_eq!(ask(&app, QUESTION).send().await.header("x-gateway-cache"), Some("hit-exact"));

        let path = "/admin/api/v1/usage/log?cache_mode=cached";
        app.receipts(1).await;
        let rows = app.get(path).send().await.expect_status(200).json()["entries"].clone();
        let types: Vec<&str> =
            rows.as_array().unwrap().iter().filter_map(|row| row["cache_type"].as_str()).collect();
        assert_eq!(types, ["exact", "semantic"], "newest first");
        assert!(rows.as_array().unwrap().iter().all(|row| row["total_cost"] == 0.0), "{rows:#}");
        let summary = summary(&app).await;
        assert_eq!(
            (&summary["semantic_hits"], &summary["exact_hits"], &summary["misses"]),
            (&json!(1), &json!(1), &json!(1))
        );
        let metrics = app.get("/metrics").send().await.text();
        assert!(metrics.contains(r#"gatehouse_cache_lookups_total{result="hit-semantic"} 1"#), "{metrics}");
    })
    .await;
}

#[tokio::test]
async fn misses_say_why() {
    app::each_with(serving, async |app| {
        ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let long = "word ".repeat(200);
        for (text, reason) in [
            ("Please convert 6 km to miles.", "prompt_changed"),
            ("Who wrote Hamlet?", "below_threshold"),
            (&*long, "too_long"),
            ("An unembeddable question", "embedder_failed"),
        ] {
            let answer = ask(&app, text).send().await.expect_status(200);
            assert_eq!(cache_headers(&answer), MISS, "{text}");
            assert_eq!(answer.header("x-cache-miss-reason"), Some(reason), "{text}");
        }
        let other = json!({"model": "text", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]});
        let answer = app.post("/v1/chat/completions", other).header("x-cache-debug", "1").send().await;
        assert_eq!(answer.header("x-cache-miss-reason"), Some("not_found"), "the system prompt differs");
    })
    .await;
}

#[tokio::test]
async fn requests_with_tools_or_images_are_not_compared() {
    app::each_with(serving, async |app| {
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
        let with_tools = |text: &str| {
            json!({"model": "text", "messages": [{"role": "user", "content": text}], "tools": [tool.clone()]})
        };
        for text in [QUESTION, SIMILAR] {
            let answer = app.post("/v1/chat/completions", with_tools(text)).header("x-cache-debug", "1").send().await;
            assert_eq!(cache_headers(&answer.expect_status(200)), MISS);
        }
        let only = app.post("/v1/chat/completions", with_tools(QUESTION)).header("x-cache-debug", "1");
        let only = only.header("x-cache-type", "semantic").send().await.expect_status(200);
        assert_eq!(cache_headers(&only).0, "bypass");
        assert_eq!(only.header("x-cache-miss-reason"), Some("not_cacheable"));
        entries(&app, 0).await;
    })
    .await;
}

#[tokio::test]
async fn similar_calls_of_every_format_share_an_entry_whole_and_streamed() {
    let settings = || TestSettings { vendors: TestSettings::every_dialect().vendors, ..serving() };
    app::each_with(settings, async |app| {
        let mut count = 0;
        for client in CLIENTS {
            for model in
                ["openai/gpt-4.1~text", "anthropic/claude-sonnet-4-5~text", "gemini/gemini-2.5-flash~text"]
            {
                let ask = |text: &str, stream: bool| {
                    client.send(&app, model, stream, client.body(model, text)).send()
                };
                let made = ask(QUESTION, false).await.expect_status(200);
                count += 1;
                entries(&app, count).await;
                let before = asked(&app);
                for stream in [false, true] {
                    let answer = ask(SIMILAR, stream).await.expect_status(200);
                    assert_eq!(cache_headers(&answer), HIT, "{client:?} {model} {stream}");
                    assert_eq!(client.text(&answer), client.text(&made), "{client:?} {model} {stream}");
                    if stream {
                        client.check_end(&answer);
                    }
                }
                assert_eq!(asked(&app), before, "{client:?} {model}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn callers_of_another_scope_never_get_a_similar_answer() {
    for (scope, shared) in [
        (CacheScope::UserPath, [true, false, false]),
        (CacheScope::Key, [false, true, false]),
        (CacheScope::Tenant, [true, true, false]),
        (CacheScope::Global, [true, true, false]),
    ] {
        let settings = || {
            let mut settings = serving();
            settings.policy.cache.scope = scope;
            settings
        };
        app::each_with(settings, async |app| {
            let key = async |name: &str, tenant: Option<&str>| {
                app.key(json!({"name": name, "tenant_id": tenant})).await.1
            };
            let (one, two) = (key("one", None).await, key("two", None).await);
            app.post("/admin/api/v1/tenants", json!({"slug": "t2"})).send().await.expect_status(201);
            let elsewhere = key("three", Some("t2")).await;
            let ask = async |key: &str, path: &str, text: &str| {
                ask(&app, text).key(key).header("x-gateway-user-path", path).send().await.expect_status(200)
            };
            assert_eq!(cache_headers(&ask(&one, "/a", QUESTION).await), MISS);
            entries(&app, 1).await;
            assert_eq!(cache_headers(&ask(&one, "/a", SIMILAR).await), HIT, "{scope:?}");
            // Texts that no call before has had, so that only the first entry can be found.
            for (number, (key, path)) in
                [(&two, "/a"), (&one, "/a/b"), (&elsewhere, "/a")].into_iter().enumerate()
            {
                let text = format!("{}onvert 5 km to miles, please.", ["C", "Please c", "Please, c"][number]);
                let expected = if shared[number] { HIT } else { MISS };
                assert_eq!(
                    cache_headers(&ask(key, path, &text).await),
                    expected,
                    "{scope:?}: {path} {number}"
                );
            }
        })
        .await;
    }
}

#[tokio::test]
async fn shadow_mode_sends_every_call_and_compares_the_answers() {
    app::each_with(shadowing, async |app| {
        ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let similar = ask(&app, SIMILAR).send().await.expect_status(200);
        assert_eq!((cache_headers(&similar), asked(&app)), (MISS, 2));
        assert_eq!(similar.header("x-cache-shadow"), Some("hit"));
        let found = rechecks(&app, 1).await;
        assert_eq!((&found["shadow_hits"], &found["false_hit_rate"]), (&json!(1), &json!(0.0)), "{found}");
        assert_eq!(found["semantic_hits"], 0);

        // An answer that differs: the entry is wrong, and the new answer gets one of its own.
        app.upstream.push(FaultScript::named("long"));
        let wrong = ask(&app, "Convert 5 km to miles, please.").send().await.expect_status(200);
        assert_eq!(wrong.header("x-cache-shadow"), Some("hit"));
        let found = rechecks(&app, 2).await;
        assert_eq!((&found["shadow_hits"], &found["false_hit_rate"]), (&json!(2), &json!(0.5)), "{found}");
        entries(&app, 2).await;
        let metrics = app.get("/metrics").send().await.text();
        for line in [
            "gatehouse_semantic_cache_shadow_hits_total 2",
            r#"gatehouse_semantic_cache_rechecks_total{result="disagreed"} 1"#,
        ] {
            assert!(metrics.contains(line), "{metrics}");
        }
        let elsewhere =
            app.get(format!("{OVERVIEW}?user_path=/elsewhere")).send().await.expect_status(200).json();
        assert_eq!(elsewhere["summary"]["shadow_hits"], 0);
    })
    .await;
}

#[tokio::test]
async fn a_share_of_served_hits_is_asked_again_in_the_background() {
    let settings = || TestSettings {
        vendors: TestSettings::every_dialect().vendors,
        ..settings(SemanticMode::Serve, 1.0)
    };
    app::each_with(settings, async |app| {
        let (mut clients, mut hits) = (0, 0);
        for client in CLIENTS {
            let model = "openai/gpt-4.1~text";
            let ask =
                |text: &str, stream: bool| client.send(&app, model, stream, client.body(model, text)).send();
            ask(QUESTION, false).await.expect_status(200);
            clients += 1;
            entries(&app, clients).await;
            for stream in [false, true] {
                let served = ask(SIMILAR, stream).await.expect_status(200);
                assert_eq!(cache_headers(&served), HIT, "{client:?} {stream}");
                hits += 1;
                let found = rechecks(&app, hits).await;
                assert_eq!(found["false_hit_rate"], json!(0.0), "{client:?} {stream}: {found}");
            }
        }
        app.drain().await.unwrap();
        let found = summary(&app).await;
        assert_eq!((&found["semantic_hits"], &found["shadow_hits"]), (&json!(hits), &json!(0)));
        assert!(
            found["false_hit_rate_high"].as_f64().is_some_and(|high| high > 0.0 && high < 0.5),
            "{found}"
        );
        assert_eq!(asked(&app) as u64, clients + hits, "an answer for each client, and one for each hit");
    })
    .await;
}

#[tokio::test]
async fn a_hit_that_was_wrong_is_not_served_again() {
    app::each_with(
        || settings(SemanticMode::Serve, 1.0),
        async |app| {
            ask(&app, QUESTION).send().await.expect_status(200);
            entries(&app, 1).await;
            app.upstream.push(FaultScript::named("long"));
            let served = ask(&app, SIMILAR).send().await.expect_status(200);
            assert_eq!(cache_headers(&served), HIT, "the hit is served without delay");
            assert_eq!(rechecks(&app, 1).await["false_hit_rate"], json!(1.0));
            // The re-check is an ordinary row of the caller; that of the hit is not among these.
            let rows = app.receipts(2).await;
            assert!(rows.iter().all(|row| row["endpoint"] == "/v1/chat/completions"), "{rows:#?}");
            assert!(rows.iter().all(|row| row["cache_type"] == ""), "{rows:#?}");
            // The entry needs a higher score now.
            let missed = ask(&app, SIMILAR).send().await.expect_status(200);
            assert_eq!(missed.header("x-cache-miss-reason"), Some("below_threshold"));
        },
    )
    .await;
}

#[tokio::test]
async fn a_hit_is_not_asked_again_if_a_budget_has_no_room() {
    let settings = || {
        let mut settings =
            TestSettings { budgets: "/poor=daily:0.000001", ..settings(SemanticMode::Serve, 1.0) };
        settings.policy.cache.scope = CacheScope::Global;
        settings
    };
    app::each_with(settings, async |app| {
        let question =
            |text: &str| json!({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]});
        let ask = |path: &'static str, text: &str, stream: bool| {
            let mut body = question(text);
            body["stream"] = json!(stream);
            app.post("/v1/chat/completions", body).header("x-gateway-user-path", path)
        };
        let warm = ask("/rich", QUESTION, false).header("cache-control", "no-cache");
        warm.send().await.expect_status(200);
        entries(&app, 1).await;
        let explained = json!({"headers": {"x-gateway-user-path": "/poor"}, "body": question(SIMILAR)});
        let explained = app.post("/admin/api/v1/explain", explained).send().await.expect_status(200).json();
        assert_eq!(
            (&explained["cache"]["status"], &explained["decision"]["error"]),
            (&json!("hit-semantic"), &Value::Null)
        );
        for stream in [false, true] {
            let served = ask("/poor", SIMILAR, stream).send().await.expect_status(200);
            assert_eq!(cache_headers(&served), HIT, "stream: {stream}");
        }
        let slots = &app.gateway.semantic_cache.as_ref().unwrap().recheck_slots;
        for _ in 0..2000 {
            if slots.available_permits() == 4 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((asked(&app), slots.available_permits()), (1, 4));
        assert_eq!(summary(&app).await["rechecks"], 0);
        app.receipts(1).await;
    })
    .await;
}

/// An embedder that takes longer than calls wait for it.
struct SlowEncoder;

impl TextEncoder for SlowEncoder {
    fn embed(&self, text: &str) -> Result<Vec<f32>, String> {
        std::thread::sleep(Duration::from_millis(400));
        WordEncoder.embed(text)
    }

    fn word_pieces(&self, text: &str) -> Result<usize, String> {
        WordEncoder.word_pieces(text)
    }

    fn identity(&self) -> Result<String, String> {
        WordEncoder.identity()
    }
}

#[tokio::test]
async fn a_call_is_sent_without_its_embedding_if_that_takes_too_long() {
    let settings = || {
        let mut settings = TestSettings { embedder: Embedder::Local(Arc::new(SlowEncoder)), ..serving() };
        settings.policy.cache.semantic.embedding_timeout = Duration::from_millis(50);
        settings
    };
    app::each_with(settings, async |app| {
        let answer = ask(&app, QUESTION).send().await.expect_status(200);
        assert_eq!(cache_headers(&answer), MISS);
        assert_eq!(answer.header("x-cache-miss-reason"), Some("embedding_timeout"));
        // The answer is added all the same, with the vector that came late.
        entries(&app, 1).await;
    })
    .await;
}

#[tokio::test]
async fn entries_of_another_process_are_found_without_a_restart() {
    app::each_with(serving, async |app| {
        let other = app.neighbour().await;
        let Some(mut position) = background::load_semantic_cache(&other.gateway).await else {
            assert!(matches!(app.backend, store::Backend::Sqlite { .. }), "PostgreSQL is shared");
            return;
        };
        let first = ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        for _ in 0..2000 {
            background::follow_semantic_cache(&other.gateway, &mut position).await;
            if other.gateway.semantic_cache.as_ref().unwrap().len() == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let similar = ask(&other, SIMILAR).send().await.expect_status(200);
        assert_eq!((cache_headers(&similar), &similar.body), (HIT, &first.body));
        app.post("/admin/api/v1/cache/purge", json!({})).send().await.expect_status(200);
        background::follow_semantic_cache(&other.gateway, &mut position).await;
        entries(&other, 0).await;
    })
    .await;
}

#[tokio::test]
async fn clients_choose_layers_and_bounds() {
    app::each_with(serving, async |app| {
        ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let exact = ask(&app, SIMILAR).header("x-cache-type", "exact").send().await;
        assert_eq!((cache_headers(&exact), exact.header("x-cache-layer")), (MISS, Some("exact")));
        let semantic = ask(&app, QUESTION).header("x-cache-type", "semantic").send().await;
        assert_eq!((cache_headers(&semantic), semantic.header("x-cache-layer")), (HIT, Some("semantic")));
        assert_eq!(semantic.header("x-cache-key"), None);
        let strict = ask(&app, "Convert 5 km to miles, please.").header("x-cache-prompt-similarity", "0.99");
        let strict = strict.send().await.expect_status(200);
        assert_eq!(strict.header("x-cache-miss-reason"), Some("prompt_changed"));
        for (name, value) in [
            ("x-cache-semantic-threshold", "0"),
            ("x-cache-semantic-threshold", "1.1"),
            ("x-cache-semantic-threshold", "high"),
            ("x-cache-prompt-similarity", "-1"),
        ] {
            let refused = ask(&app, QUESTION).header(name, value).refusal().await;
            assert_eq!((refused.0, &*refused.1), (400, "invalid_parameter"), "{name}: {value}");
            assert_eq!(refused.2.map(|param| param.to_lowercase()).as_deref(), Some(name));
        }
    })
    .await;
}

#[tokio::test]
async fn a_workflow_sets_the_threshold() {
    app::each_with(serving, async |app| {
        let workflow = |threshold: f64| json!({"name": "w", "workflow_payload": {"cache": {"semantic_threshold": threshold}}});
        let refused = app.post("/admin/api/v1/workflows", workflow(1.5)).refusal().await;
        assert_eq!(refused.2.as_deref(), Some("workflow_payload.cache.semantic_threshold"));
        app.post("/admin/api/v1/workflows", workflow(0.7)).send().await.expect_status(201);
        ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let answer = ask(&app, SIMILAR).send().await.expect_status(200);
        assert_eq!((cache_headers(&answer), answer.header("x-cache-semantic-threshold")), (HIT, Some("0.7000")));
    })
    .await;
}

#[tokio::test]
async fn entries_survive_a_restart() {
    app::each_with(serving, async |app| {
        let first = ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let again = app.restart().await;
        background::load_semantic_cache(&again.gateway).await;
        entries(&again, 1).await;
        let similar = ask(&again, SIMILAR).send().await.expect_status(200);
        assert_eq!((cache_headers(&similar), &similar.body), (HIT, &first.body));
        again.clock.pass(Duration::from_secs(3601));
        assert_eq!(cache_headers(&ask(&again, SIMILAR).send().await), MISS, "the lifetime goes on");
    })
    .await;
}

#[tokio::test]
async fn a_purge_removes_similar_answers_from_memory_and_storage() {
    app::each_with(serving, async |app| {
        let call =
            || ask(&app, QUESTION).header("x-gateway-user-path", "/a").header("x-cache-type", "semantic");
        call().send().await.expect_status(200);
        entries(&app, 1).await;
        let purge = async |body: Value| {
            app.post("/admin/api/v1/cache/purge", body).send().await.expect_status(200).json()
        };
        assert_eq!(purge(json!({"user_path": "/b"})).await, json!({"purged": 0}));
        assert_eq!(purge(json!({"user_path": "/a"})).await, json!({"purged": 1}));
        assert_eq!(cache_headers(&call().send().await), MISS);
        entries(&app, 1).await;
        purge(json!({})).await;
        let again = app.restart().await;
        background::load_semantic_cache(&again.gateway).await;
        entries(&again, 0).await;
    })
    .await;
}

#[tokio::test]
async fn debug_and_explain_tell_the_verdict() {
    app::each_with(serving, async |app| {
        ask(&app, QUESTION).send().await.expect_status(200);
        entries(&app, 1).await;
        let debug = async |text: &str| {
            let body = json!({"body": {"model": "text", "messages": [{"role": "user", "content": text}]}});
            app.post("/admin/api/v1/cache/debug", body).send().await.expect_status(200).json()
        };
        let hit = debug(SIMILAR).await;
        assert_eq!((&hit["cache_type"], &hit["miss_reason"]), (&json!("both"), &json!("")), "{hit:#}");
        assert_eq!(hit["embedder_identity"], "words float32 1");
        assert_eq!((&hit["semantic_threshold"], &hit["semantic_ttl_seconds"]), (&json!(0.95), &json!(3600)));
        assert!(hit["semantic_score"].as_f64().unwrap() > 0.95, "{hit:#}");
        assert_eq!(hit["semantic_cache_key"].as_str().unwrap().len(), 64);
        let other = debug("Who wrote Hamlet?").await;
        assert_eq!(other["miss_reason"], "below_threshold");
        assert_eq!(
            other["semantic_cache_key"], hit["semantic_cache_key"],
            "they differ in the last text alone"
        );
        let body = json!({"body": {"model": "text", "messages": [{"role": "user", "content": SIMILAR}]}});
        let explained = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        assert_eq!(explained["cache"]["status"], "hit-semantic");
        assert_eq!(explained["decision"]["first"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn a_missing_embedder_is_reported_and_calls_are_sent() {
    let settings = || TestSettings { embedder: Embedder::Missing("import the weights".into()), ..serving() };
    app::each_with(settings, async |app| {
        let answer = ask(&app, QUESTION).send().await.expect_status(200);
        assert_eq!(cache_headers(&answer), MISS);
        assert_eq!(answer.header("x-cache-miss-reason"), Some("embedder_failed"));
        assert_eq!(cache_headers(&ask(&app, QUESTION).send().await).0, "hit-exact");
        let status = app.get("/admin/api/v1/runtime/status").send().await.expect_status(200).json();
        let semantic = &status["semantic_cache"];
        assert_eq!((&semantic["state"], &semantic["error"]), (&json!("off"), &json!("import the weights")));
    })
    .await;
}

#[tokio::test]
async fn the_embeddings_of_a_provider_are_calls_of_the_caller() {
    let settings = || TestSettings { embedder: Embedder::Provider("openai/text".into()), ..serving() };
    app::each_with(settings, async |app| {
        // The call of the embedder is not counted as a second request.
        let limits = json!({"requests_per_minute": 1});
        let (id, key) = app.key(json!({"name": "k", "user_path": "/team", "rate_limits": limits})).await;
        ask(&app, QUESTION).key(&key).send().await.expect_status(200);
        let rows = app.receipts(2).await;
        let embedding = rows.iter().find(|row| row["endpoint"] == "/v1/embeddings").unwrap();
        assert_eq!((&embedding["user_path"], &embedding["auth_key_id"]), (&json!("/team"), &json!(id)));
        entries(&app, 1).await;
        let sent: Vec<String> = app.upstream.requests().iter().map(|request| request.path.clone()).collect();
        assert!(sent.contains(&"/v1/embeddings".to_owned()), "{sent:?}");
    })
    .await;
}
