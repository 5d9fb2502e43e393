//! Tests of `PROMPT_CACHE_MODE`: cache breakpoints in requests to Anthropic, and session affinity.

use std::time::Duration;

use pipeline::policy::{Policy, PromptCacheMode};
use serde_json::{Value, json};

use super::routing::{each, put};
use crate::app::{self, CLIENTS, Client, TestApp, TestSettings};

const CLAUDE: &str = "anthropic/claude-sonnet-4-5~text";

fn policy(prompt_cache: PromptCacheMode) -> Policy {
    Policy { prompt_cache, ..Policy::default() }
}

fn in_mode(prompt_cache: PromptCacheMode) -> TestSettings {
    TestSettings { policy: policy(prompt_cache), ..TestSettings::every_dialect() }
}

/// A text that is long enough to be cached.
fn long() -> String {
    "word ".repeat(1000)
}

fn sent(app: &TestApp) -> Value {
    serde_json::from_str(&app.last_upstream_request()).unwrap()
}

/// The number of cache breakpoints in the last request to a provider.
fn breakpoints(app: &TestApp) -> usize {
    app.last_upstream_request().matches("\"cache_control\"").count()
}

/// A request to the Messages API whose client sets a breakpoint.
fn marked() -> Value {
    let mut body = Client::Messages.body(CLAUDE, &long());
    body["system"] = json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]);
    body
}

/// The same for the chat API.
fn marked_chat() -> Value {
    let mut body = Client::Chat.body(CLAUDE, &long());
    let part = json!({"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}});
    let system = json!({"role": "system", "content": [part]});
    body["messages"].as_array_mut().unwrap().insert(0, system);
    body
}

#[tokio::test]
async fn long_prompts_for_anthropic_get_breakpoints() {
    app::each_with(
        || in_mode(PromptCacheMode::Auto),
        async |app| {
            for client in CLIENTS {
                for stream in [false, true] {
                    let body = client.body(CLAUDE, &long());
                    client.send(&app, CLAUDE, stream, body).send().await.expect_status(200);
                    let block =
                        json!({"type": "text", "text": long(), "cache_control": {"type": "ephemeral"}});
                    assert_eq!(sent(&app)["messages"][0]["content"], json!([block]), "{client:?} {stream}");
                    let body = client.body(CLAUDE, "How are you?");
                    client.send(&app, CLAUDE, stream, body).send().await.expect_status(200);
                    assert_eq!(breakpoints(&app), 0, "{client:?} {stream}");
                }
            }
            for (client, body) in [(Client::Messages, marked()), (Client::Chat, marked_chat())] {
                client.send(&app, CLAUDE, false, body).send().await.expect_status(200);
                assert_eq!(breakpoints(&app), 1, "those of the client, {client:?}");
                assert!(sent(&app)["system"][0]["cache_control"].is_object(), "{client:?}");
            }
        },
    )
    .await;
}

#[tokio::test]
async fn other_providers_and_token_counts_get_none() {
    app::each_with(
        || in_mode(PromptCacheMode::Auto),
        async |app| {
            for model in ["openai/gpt-4.1~text", "gemini/gemini-2.5-flash~text", "anthropic/text"] {
                for client in CLIENTS {
                    client
                        .send(&app, model, false, client.body(model, &long()))
                        .send()
                        .await
                        .expect_status(200);
                    assert_eq!(breakpoints(&app), 0, "{client:?} {model}");
                }
            }
            let model = "openai/gpt-4.1~text";
            let mut body = Client::Chat.body(model, &long());
            body["prompt_cache_key"] = json!("agent-7");
            Client::Chat.send(&app, model, false, body).send().await.expect_status(200);
            assert_eq!(sent(&app)["prompt_cache_key"], "agent-7");
            let mut body = Client::Messages.body(CLAUDE, &long());
            body.as_object_mut().unwrap().remove("max_tokens");
            app.post("/v1/messages/count_tokens", body).send().await.expect_status(200);
            assert_eq!(breakpoints(&app), 0);
        },
    )
    .await;
}

#[tokio::test]
async fn manual_sends_the_clients_breakpoints_and_off_removes_them() {
    for (mode, own) in [(PromptCacheMode::Manual, 1), (PromptCacheMode::Off, 0)] {
        app::each_with(
            || in_mode(mode),
            async |app| {
                for client in CLIENTS {
                    let body = client.body(CLAUDE, &long());
                    client.send(&app, CLAUDE, false, body).send().await.expect_status(200);
                    assert_eq!(breakpoints(&app), 0, "{client:?} {mode:?}");
                }
                for (client, body) in [(Client::Messages, marked()), (Client::Chat, marked_chat())] {
                    let answer = client.send(&app, CLAUDE, false, body).send().await.expect_status(200);
                    assert_eq!(breakpoints(&app), own, "{client:?} {mode:?}");
                    assert_eq!(answer.header("x-gateway-dropped-params"), None, "{client:?} {mode:?}");
                    assert_eq!(sent(&app)["system"][0]["text"], "Be brief.", "{client:?} {mode:?}");
                }
            },
        )
        .await;
    }
}

async fn explain(app: &TestApp, question: Value) -> Value {
    app.post("/admin/api/v1/explain", question).send().await.expect_status(200).json()
}

#[tokio::test]
async fn explain_shows_the_breakpoints() {
    app::each_with(
        || in_mode(PromptCacheMode::Auto),
        async |app| {
            for client in [Client::Messages, Client::Chat] {
                let body = client.body(CLAUDE, &long());
                let explained =
                    explain(&app, json!({"path": client.path(CLAUDE, false), "body": body})).await;
                client.send(&app, CLAUDE, false, body).send().await.expect_status(200);
                let shown = &explained["upstream_request"]["body"];
                assert_eq!(*shown, sent(&app), "{client:?}");
                assert!(shown["messages"][0]["content"][0]["cache_control"].is_object(), "{shown}");
            }
        },
    )
    .await;
}

/// A conversation with so many turns of the user, in a pool of two instances.
fn conversation(first: &str, turns: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": first})];
    for turn in 1..turns {
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn}")}));
        messages.push(json!({"role": "user", "content": format!("Question {turn}")}));
    }
    json!({"model": "both/text", "messages": messages})
}

async fn served_by(call: app::Call<'_>) -> String {
    call.send().await.expect_status(200).header("x-gateway-provider").unwrap().to_owned()
}

#[tokio::test]
async fn a_conversation_stays_where_its_prompt_is_cached() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "pools/both", json!({"members": ["one", "two"]})).await;
        let ask = |turns: usize| app.post("/v1/chat/completions", conversation(&long(), turns));
        // The strategy is round_robin: without affinity, the instances would take turns.
        assert_eq!(served_by(ask(1)).await, "one");
        let explained = explain(&app, json!({"body": conversation(&long(), 2)})).await;
        assert_eq!(explained["decision"]["first"], "one/text", "{explained}");
        assert_eq!(explained["candidates"][0]["reason"], "both: its prompt cache has the conversation");
        assert_eq!(served_by(ask(2)).await, "one");
        assert_eq!(served_by(ask(3)).await, "one");
        // The prompt cache of the provider has forgotten it.
        app.clock.pass(Duration::from_secs(301));
        assert_eq!(served_by(ask(4)).await, "two");
    })
    .await;
}

#[tokio::test]
async fn conversations_belong_to_their_callers() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "pools/both", json!({"members": ["one", "two"]})).await;
        let key = app.key_with(&["inference"]).await;
        let ask = |turns: usize| app.post("/v1/chat/completions", conversation(&long(), turns));
        assert_eq!(served_by(ask(1)).await, "one");
        assert_eq!(served_by(ask(2).key(&key)).await, "two");
    })
    .await;
}

#[tokio::test]
async fn a_session_stays_with_its_target() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "pools/both", json!({"members": ["one", "two"]})).await;
        let ask = |first: String| {
            let call = app.post("/v1/chat/completions", conversation(&first, 1));
            call.header("x-gateway-session-id", "a-session")
        };
        assert_eq!(served_by(ask(long())).await, "one");
        assert_eq!(served_by(ask(format!("Other {}", long()))).await, "one");
    })
    .await;
}

#[tokio::test]
async fn without_help_the_strategy_alone_decides() {
    let manual = || TestSettings { policy: policy(PromptCacheMode::Manual), ..TestSettings::default() };
    each(manual, json!({}), async |app| {
        put(&app, "pools/both", json!({"members": ["one", "two"]})).await;
        for (turns, instance) in [(1, "one"), (2, "two"), (3, "one")] {
            let call = app.post("/v1/chat/completions", conversation(&long(), turns));
            assert_eq!(served_by(call).await, instance);
        }
    })
    .await;
}

#[tokio::test]
async fn savings_are_booked_and_follow_recalculated_prices() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let price = |model: &str, input: f64| {
            let path = format!("/admin/api/v1/model-pricing/{model}");
            let body = json!({"input_per_mtok": input, "output_per_mtok": 8, "cached_input_per_mtok": 0.5,
                "cache_write_per_mtok": 2.5, "cache_write_1h_per_mtok": 4});
            app.put(path, body)
        };
        price("openai/cached", 2.0).send().await.expect_status(201);
        price("anthropic/cached", 2.0).send().await.expect_status(201);
        app.chat("openai/cached").send().await.expect_status(200);
        let message = app::message("anthropic/cached", "How are you today?");
        app.post("/v1/messages", message).send().await.expect_status(200);
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        // A model without a price: nothing is known to be saved.
        app.chat("groq/cached").send().await.expect_status(200);
        let nanos = |value: &Value| value.as_f64().map(|dollars| (dollars * 1e9).round() as i64);
        let bill = app.upstream.bill();
        let saved = |input: i64| -> Vec<i64> {
            let count = |tokens: u64| tokens as i64;
            let lines = bill.iter().filter(|line| line.model == "cached").take(2);
            let of_line = |line: &testkit::BillLine| {
                count(line.cached_tokens) * (input - 500)
                    - count(line.cache_write_5m_tokens) * (2500 - input)
                    - count(line.cache_write_1h_tokens) * (4000 - input)
            };
            lines.map(of_line).collect()
        };
        let check = async |input: i64| {
            let rows = app.receipts(4).await;
            let booked: Vec<_> = rows.iter().map(|row| nanos(&row["prompt_cache_savings"])).collect();
            let expected = saved(input);
            assert_eq!(booked, [Some(expected[0]), Some(expected[1]), None, None], "{rows:#?}");
            let get = async |path: &str| app.get(path).send().await.expect_status(200).json();
            let summary = get("/admin/api/v1/usage/summary").await;
            assert_eq!(
                nanos(&summary["total_prompt_cache_savings"]),
                Some(expected.iter().sum()),
                "{summary:#}"
            );
            let models = get("/admin/api/v1/usage/models").await;
            for (provider, expected) in
                [("openai", Some(expected[0])), ("anthropic", Some(expected[1])), ("groq", None)]
            {
                let mut lines = models.as_array().unwrap().iter();
                let is_meant = |line: &&Value| line["model"] == "cached" && line["provider"] == provider;
                let line = lines.find(is_meant).unwrap();
                assert_eq!(nanos(&line["prompt_cache_savings"]), expected, "{line:#}");
            }
        };
        check(2000).await;
        // Another price changes nothing that is booked, until costs are recalculated.
        price("openai/cached", 3.0).send().await.expect_status(200);
        price("anthropic/cached", 3.0).send().await.expect_status(200);
        check(2000).await;
        let body = json!({"confirmation": "recalculate"});
        app.post("/admin/api/v1/usage/recalculate-pricing", body).send().await.expect_status(200);
        check(3000).await;
    })
    .await;
}
