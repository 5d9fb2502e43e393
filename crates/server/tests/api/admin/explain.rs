//! `/admin/api/v1/explain`.

mod replay;

use domain::resources::Resource;
use domain::resources::pool::Pool;
use pipeline::policy::Policy;
use serde_json::{Value, json};
use store::Write;

use crate::app::{self, MASTER, TestApp, TestSettings, UPSTREAM_KEY};

const PATH: &str = "/admin/api/v1/explain";

async fn explain(app: &TestApp, question: Value) -> Value {
    explain_as(app, MASTER, question).await
}

async fn explain_as(app: &TestApp, key: &str, question: Value) -> Value {
    app.post(PATH, question).key(key).send().await.expect_status(200).json()
}

async fn set<T: Resource>(app: &TestApp, document: &T) {
    app.refresher.store().collection::<T>().put(document, Write::Upsert, "master", None).await.unwrap();
    app.refresher.refresh().await.unwrap();
}

fn chat(model: &str) -> Value {
    json!({"body": app::question(model)})
}

/// Status and code of the error that the call would get.
fn error(explanation: &Value) -> (Option<u64>, Option<&str>) {
    let error = &explanation["decision"]["error"];
    (error["status"].as_u64(), error["code"].as_str())
}

#[tokio::test]
async fn a_call_is_explained_and_not_made() {
    app::each(async |app| {
        let mut question = chat("openai/gpt-4o-mini");
        question["headers"] = json!({"X-Request-Id": "an-example"});
        let explanation = explain(&app, question).await;
        assert!(app.upstream.requests().is_empty());
        let answer = app.chat("openai/gpt-4o-mini").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), explanation["decision"]["first"].as_str());
        let sent = &app.upstream.requests()[0];
        let upstream = &explanation["upstream_request"];
        assert_eq!(upstream["body"].to_string().as_bytes(), sent.body);
        assert!(upstream["url"].as_str().unwrap().ends_with(&sent.path), "{upstream}");
        assert_eq!(
            (&upstream["headers"]["authorization"], &upstream["body_truncated"]),
            (&json!("***"), &json!(false))
        );
        assert!(!explanation.to_string().contains(UPSTREAM_KEY), "{explanation}");
        assert_eq!(app.receipts(1).await.len(), 1, "only the call is booked");
        let address = app.upstream.address().to_string();
        let shown = serde_json::to_string_pretty(&explanation).unwrap().replace(&address, "upstream");
        app::check_snapshot("an explanation", &shown);
    })
    .await;
}

#[tokio::test]
async fn every_dialect_is_explained() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let turns = json!([{"role": "user", "content": "hi"}]);
        let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
        for (path, body, surface, dialect) in [
            (
                "/v1/chat/completions?stream=true",
                json!({"model": "anthropic/text", "messages": turns}),
                "chat",
                "translated:messages",
            ),
            (
                "/v1/messages",
                json!({"model": "anthropic/text", "max_tokens": 9, "messages": turns}),
                "messages",
                "native",
            ),
            ("/v1/responses", json!({"model": "groq/text", "input": "hi"}), "responses", "translated:chat"),
            (
                "/v1beta/models/openai/text:streamGenerateContent",
                json!({"contents": contents}),
                "generate",
                "translated:chat",
            ),
            ("/v1/embeddings", json!({"model": "openai/text", "input": "hi"}), "embeddings", "native"),
            ("/v1/completions", json!({"model": "openai/text", "prompt": "hi"}), "completions", "native"),
            (
                "/v1/rerank",
                json!({"model": "jina/text", "query": "q", "documents": ["d"]}),
                "rerank",
                "native",
            ),
        ] {
            let explanation = explain(&app, json!({"path": path, "body": body})).await;
            let request = &explanation["request"];
            assert_eq!(request["surface"], surface, "{path}: {explanation}");
            assert_eq!(request["stream"], path.contains("tream"), "{path}");
            assert_eq!(explanation["candidates"][0]["dialect"], dialect, "{path}: {explanation}");
            let why = (dialect != "native").then_some("formats_differ");
            assert_eq!(explanation["candidates"][0]["why_canonical"].as_str(), why, "{path}");
        }
        let body = json!({"model": "anthropic/text", "input": "hi"});
        let explanation = explain(&app, json!({"path": "/v1/embeddings", "body": body})).await;
        assert_eq!(error(&explanation), (Some(501), Some("unsupported_operation")));
        assert_eq!(explanation["candidates"][0]["error"]["status"], 501);
        assert!(
            explanation["upstream_request"].is_null() && explanation["decision"]["would_try"] == json!([])
        );
    })
    .await;
}

/// An answer in the format of the client is translated only for a reason, which is shown.
#[tokio::test]
async fn the_reason_for_a_translation_within_one_format_is_explained() {
    let resuming = || {
        let policy = Policy { resume_streams: true, ..Policy::default() };
        TestSettings { policy, ..TestSettings::default() }
    };
    app::each_with(resuming, async |app| {
        for (stream, choices, content, why) in [
            (true, 1, "hi", Some("resumable_stream")),
            (true, 2, "hi", None),
            (false, 1, "hi", None),
            (false, 1, "GHsealed", Some("sealed_state")),
        ] {
            let turns = json!([{"role": "user", "content": content}]);
            let body = json!({"model": "openai/text", "messages": turns, "stream": stream, "n": choices});
            let explanation = explain(&app, json!({"body": body})).await;
            let candidate = &explanation["candidates"][0];
            assert_eq!(candidate["why_canonical"].as_str(), why, "{body}: {explanation}");
            let dialect = if why.is_some() { "translated:chat" } else { "native" };
            assert_eq!(candidate["dialect"], dialect, "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn steps_that_are_not_reached_are_null() {
    app::each(async |app| {
        for (question, expected, reached) in [
            (json!({"body": {"messages": [{"role": "user", "content": "hi"}]}}), (400, "model_required"), 2),
            (chat("openai/no-such/../model"), (400, "invalid_parameter"), 2),
            (chat("demo/at-all"), (404, "model_not_found"), 2),
            (json!({"body": []}), (400, "invalid_json"), 0),
            (json!({"body": app::question("openai/text"), "headers": {"content-encoding": "gzip"}}), (415, "unsupported_media_type"), 0),
            (json!({"body": app::question("openai/text"), "headers": {"x-gateway-force-provider": "nobody"}}), (400, "invalid_parameter"), 2),
        ] {
            let explanation = explain(&app, question.clone()).await;
            let (status, code) = error(&explanation);
            assert_eq!((status, code), (Some(expected.0), Some(expected.1)), "{question}");
            let parts = ["request", "resolution"].iter().filter(|part| !explanation[**part].is_null()).count();
            assert_eq!(parts, reached, "{question}: {explanation}");
            for part in ["candidates", "upstream_request", "estimated_cost"] {
                assert_eq!(explanation.get(part), Some(&Value::Null), "{question}");
            }
            assert!(explanation["principal"]["active"].as_bool().unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn the_key_named_is_the_caller() {
    app::each(async |app| {
        let list = json!({"name": "listed", "allowed_models": ["openai/gpt-4o"], "user_path": "/team/one"});
        let (listed, _) = app.key(list).await;
        let question = |model: &str, id: &str| json!({"body": app::question(model), "as_key_id": id});
        let explanation = explain(&app, question("openai/gpt-4o", &listed)).await;
        let principal = &explanation["principal"];
        assert_eq!(
            (&principal["auth_key_id"], &principal["name"], &principal["user_path"]),
            (&json!(listed), &json!("listed"), &json!("/team/one"))
        );
        assert_eq!(error(&explanation), (None, None));
        let explanation = explain(&app, question("openai/gpt-4o-mini", &listed)).await;
        assert_eq!(error(&explanation), (Some(403), Some("key_model_access_denied")));
        assert_eq!(explanation["resolution"]["steps"].as_array().unwrap().last().unwrap()["step"], "refused");

        let (off, _) = app.key(json!({"name": "off"})).await;
        app.post(format!("/admin/api/v1/auth-keys/{off}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        let explanation = explain(&app, question("openai/text", &off)).await;
        assert_eq!(error(&explanation), (Some(401), Some("invalid_api_key")));
        assert_eq!(
            (&explanation["principal"]["active"], &explanation["principal"]["reason"]),
            (&json!(false), &json!("deactivated key"))
        );

        let (_, auditor) = app.key(json!({"name": "auditor", "scopes": ["admin:explain:read"]})).await;
        let explanation = explain_as(&app, &auditor, chat("openai/text")).await;
        assert_eq!(error(&explanation), (Some(403), Some("insufficient_scope")), "it may not call");
        let explanation = explain_as(&app, &auditor, question("openai/gpt-4o", &listed)).await;
        assert_eq!(error(&explanation), (None, None), "but it may explain");

        let refusal = app.post(PATH, question("openai/text", "key_nobody")).refusal().await;
        assert_eq!(refusal, (404, "not_found".into(), Some("as_key_id".into())));
    })
    .await;
}

#[tokio::test]
async fn keys_bound_to_a_path_explain_only_their_subtree() {
    app::each(async |app| {
        let key = async |path: Option<&str>| {
            app.key(json!({"name": "k", "scopes": ["inference", "admin:explain:read"], "user_path": path}))
                .await
        };
        let (own, bound) = key(Some("/team")).await;
        let (below, _) = key(Some("/team/one")).await;
        let (beside, _) = key(Some("/teams")).await;
        let (root, _) = key(None).await;
        for (id, expected) in [(own, 200), (below, 200), (beside, 404), (root, 404)] {
            let question = json!({"body": app::question("openai/text"), "as_key_id": id});
            assert_eq!(app.post(PATH, question).key(&bound).send().await.status, expected, "{id}");
        }
    })
    .await;
}

/// Stored turns are part of the explained request, and visible to their owner only.
#[tokio::test]
async fn stored_turns_need_a_scope_to_be_explained() {
    app::each(async |app| {
        let (id, raw) = app.key(json!({"name": "talker"})).await;
        let auditor = app.key_with(&["admin:explain:read"]).await;
        let body = json!({"model": "openai/text", "input": "my secret is 42"});
        let first = app.post("/v1/responses", body).key(&raw).send().await.expect_status(200).json();
        let body = json!({"model": "openai/text", "input": "and?", "previous_response_id": first["id"]});
        let question = json!({"path": "/v1/responses", "body": body, "as_key_id": id});
        let refused = app.post(PATH, question.clone()).key(&auditor).refusal().await;
        assert_eq!((refused.0, &*refused.1), (403, "insufficient_scope"));
        let explanation = explain(&app, question).await;
        assert_eq!(error(&explanation), (None, None), "{explanation}");
    })
    .await;
}

#[tokio::test]
async fn unhealthy_targets_are_reported() {
    app::each_with(
        || TestSettings { loopback_listener: true, ..TestSettings::default() },
        async |app| {
            let lab = json!({"name": "lab", "type": "openai_compatible", "base_url": app.upstream.base_url(), "models": ["error-429-30", "text"]});
            app.post("/admin/api/v1/providers", lab).send().await.expect_status(201);
            app.chat("lab/error-429-30").send().await.expect_status(429);
            let explanation = explain(&app, chat("lab/error-429-30")).await;
            let candidate = &explanation["candidates"][0];
            assert_eq!(candidate["availability"], "cooling");
            let left = candidate["retry_in_ms"].as_u64().unwrap();
            assert!((15_000..=30_000).contains(&left), "{left}");
            assert_eq!(error(&explanation), (Some(429), Some("rate_limit_exceeded")));
            assert!(explanation["decision"]["error"]["retry_after_ms"].as_u64().is_some());

            let pool = json!({"name": "both", "members": ["lab", "openai"], "strategy": "primary_fallback", "health_aware": true});
            set::<Pool>(&app, &serde_json::from_value(pool).unwrap()).await;
            let explanation = explain(&app, chat("both/error-429-30")).await;
            assert_eq!(explanation["decision"]["would_try"], json!(["openai/error-429-30"]), "{explanation}");
            assert_eq!(explanation["candidates"].as_array().unwrap().len(), 2);
        },
    )
    .await;
}

#[tokio::test]
async fn a_question_is_strict() {
    app::each(async |app| {
        let body = || app::question("openai/text");
        for (question, param) in [
            (json!({"body": body(), "as_key": "x"}), "as_key"),
            (json!({}), "body"),
            (json!({"body": body(), "method": "GET"}), "method"),
            (json!({"body": body(), "path": "/v1/files"}), "path"),
            (json!({"body": body(), "path": "/v1beta/models/m:countTokens"}), "path"),
            (json!({"body": body(), "headers": {"no header": "x"}}), "headers.no header"),
            (json!({"body": body(), "headers": {"x-ok": "a\nb"}}), "headers.x-ok"),
            (json!({"body": body(), "headers": {"x-ok": 5}}), "headers.x-ok"),
        ] {
            let refused = app.post(PATH, question.clone()).refusal().await;
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some(param)), "{question}");
        }
        // A mistake inside the call's own body is the call's.
        let twice = r#"{"body": {"model": "openai/text", "model": "openai/long"}}"#;
        let explanation = app.post(PATH, json!({})).body(twice).send().await.expect_status(200).json();
        assert_eq!(error(&explanation), (Some(400), Some("invalid_json")));
        // What is explained is what was written, to the byte.
        let odd = r#"{"body": {"model":"openai/text",  "messages":[{"role":"user","content":"\u0068i"}], "temperature":1.00}}"#;
        let answer = app.post(PATH, json!({})).body(odd).send().await.expect_status(200);
        assert!(answer.text().contains(r#"\u0068i"}], "temperature":1.00"#), "{}", answer.text());
    })
    .await;
}
