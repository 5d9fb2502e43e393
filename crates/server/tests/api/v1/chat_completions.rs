//! Tests of `POST /v1/chat/completions`: the upstream request, the response, and authentication.

use serde_json::{Value, json};

use crate::app::{self, TestApp, UPSTREAM_KEY, question};

#[tokio::test]
async fn a_whole_answer() {
    app::each(async |app| {
        let answer = app.chat("openai/gpt-4o").send().await;
        answer.snapshot("chat whole");
        let latency = answer.json()["latency"].as_str().unwrap().strip_suffix("ms").unwrap().parse::<u64>();
        assert!(latency.is_ok_and(|millis| millis < 60_000));
        assert_eq!(answer.header("x-gateway-cost-usd").map(str::len), Some("0.000000000".len()));
    })
    .await;
}

/// Sends this body and returns the body that the provider received.
async fn upstream_body(app: &TestApp, path: &str, body: &str) -> String {
    app.upstream.reset();
    let answer = app.post(path, json!({})).body(body.to_owned()).send().await;
    answer.expect_status(200);
    String::from_utf8(app.upstream.requests()[0].body.clone()).unwrap()
}

const PATH: &str = "/v1/chat/completions";

#[tokio::test]
async fn every_byte_that_need_not_change_stays() {
    app::each(async |app| {
        let body = concat!(
            "{ \"seed\":1.0e+2, \"model\" :\"openai/text\",\t\"x_unknown\": {\"b\":1,\"a\":[ 0.10, -0, 1E5 ]},\n",
            "  \"messages\": [{\"role\":\"user\",\"content\":\"caf\\u00e9 \\ud83d\\ude00 / \\/ ü\"}],",
            "\"temperature\":0.70,\"tools\":null }"
        );
        let expected = body.replace("openai/text", "text");
        assert_eq!(upstream_body(&app, PATH, body).await, expected);
        // A bare name needs no edit at all.
        assert_eq!(upstream_body(&app, PATH, &expected).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_provider_hint_is_ours_and_an_object_is_theirs() {
    app::each(async |app| {
        let sent = r#"{"model":"text","provider":"openai","messages":[{"role":"user","content":"hi"}]}"#;
        let expected = r#"{"model":"text","messages":[{"role":"user","content":"hi"}]}"#;
        assert_eq!(upstream_body(&app, PATH, sent).await, expected);

        let sent =
            r#"{"model":"text","provider":{"order":["a"]},"messages":[{"role":"user","content":"hi"}]}"#;
        assert_eq!(upstream_body(&app, PATH, sent).await, sent);

        let mut unknown = question("text");
        unknown["provider"] = json!("nowhere");
        let refused = app.post(PATH, unknown).refusal().await;
        assert_eq!(refused, (404, "provider_not_found".into(), Some("provider".into())));
    })
    .await;
}

#[tokio::test]
async fn usage_is_always_asked_for_on_streams() {
    app::each(async |app| {
        let messages = r#""messages":[{"role":"user","content":"hi"}]"#;
        let check = async |path: &str, sent: String, expected: String| {
            assert_eq!(upstream_body(&app, path, &sent).await, expected, "from {sent}");
        };
        let stream = |rest: &str| format!(r#"{{"model":"text",{messages},"stream":true{rest}}}"#);
        check(PATH, stream(""), stream(r#","stream_options":{"include_usage":true}"#)).await;
        check(
            PATH,
            stream(r#","stream_options":{"include_obfuscation":false}"#),
            stream(r#","stream_options":{"include_obfuscation":false,"include_usage":true}"#),
        )
        .await;
        check(
            PATH,
            stream(r#","stream_options":{"include_usage":false}"#),
            stream(r#","stream_options":{"include_usage":true}"#),
        )
        .await;
        let asked = stream(r#","stream_options":{"include_usage":true}"#);
        check(PATH, asked.clone(), asked).await;
        check(
            "/v1/chat/completions?stream=true",
            format!(r#"{{"model":"text",{messages}}}"#),
            stream(r#","stream_options":{"include_usage":true}"#),
        )
        .await;
        // A whole answer tells its usage anyway: nothing is added.
        let whole = format!(r#"{{"model":"text",{messages},"stream":false}}"#);
        check(PATH, whole.clone(), whole).await;
    })
    .await;
}

#[tokio::test]
async fn the_query_may_ask_for_a_stream_but_not_against_the_body() {
    app::each(async |app| {
        let answer = app.post("/v1/chat/completions?stream=true", question("text")).send().await;
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert!(answer.text().ends_with("data: [DONE]\n\n"));
        let mut body = question("text");
        body["stream"] = json!(false);
        let refused = app.post("/v1/chat/completions?stream=true", body.clone()).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("stream".into())));
        let refused = app.post("/v1/chat/completions?stream=maybe", body.clone()).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("stream".into())));
        app.post("/v1/chat/completions?stream=false", body).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn client_credentials_are_not_forwarded() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "client"})).await;
        let call = app.chat("text").key(&key).header("cookie", "session=1").header("x-api-key", &key);
        call.header("x-gateway-user-path", "/a").send().await.expect_status(200);
        let request = &app.upstream.requests()[0];
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {UPSTREAM_KEY}")));
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["cookie", "x-api-key", "x-gateway-user-path", "x-request-id"] {
            assert!(!names.contains(&name), "{name} went up");
        }
        assert!(!format!("{request:?}").contains(&key));
    })
    .await;
}

#[tokio::test]
async fn every_way_to_send_a_key() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "client"})).await;
        for name in ["x-api-key", "api-key", "x-goog-api-key"] {
            app.chat("text").anonymous().header(name, &key).send().await.expect_status(200);
        }
        let path = format!("/v1/chat/completions?key={key}");
        app.post(path, question("text")).anonymous().send().await.expect_status(200);
        app.chat("text").header("authorization", &format!("bEARER {key}")).send().await.expect_status(200);
        // An Authorization header decides, even a useless one.
        let refused = app.chat("text").header("authorization", "Basic eA==").header("x-api-key", &key);
        assert_eq!(refused.refusal().await.0, 401);
        let answer = app.chat("text").key("wrong").send().await;
        answer.snapshot("chat unauthorized");
        let (status, code, _) = app.chat("text").anonymous().refusal().await;
        assert_eq!((status, &*code), (401, "missing_api_key"));
    })
    .await;
}

#[tokio::test]
async fn a_keys_lists_are_judged_on_the_target() {
    app::each(async |app| {
        let refusal = async |body: Value, model: &str| {
            let (_, key) = app.key(body).await;
            let answer = app.chat(model).key(&key).send().await;
            if answer.status == 200 { (200, String::new()) } else { (answer.status, answer.refusal().1) }
        };
        let denied = |code: &str| (403, code.to_owned());
        let allowed = (200, String::new());
        let only_groq = json!({"name": "a", "allowed_providers": ["groq"]});
        assert_eq!(refusal(only_groq, "text").await, denied("key_provider_access_denied"));
        let nothing = json!({"name": "a", "allowed_models": []});
        assert_eq!(refusal(nothing, "text").await, denied("key_model_access_denied"));
        let some = json!({"name": "a", "allowed_models": ["openai/te*"]});
        assert_eq!(refusal(some.clone(), "text").await, allowed);
        assert_eq!(refusal(some, "long").await, denied("key_model_access_denied"));
        let deny_wins = json!({"name": "a", "allowed_models": ["*"], "denied_models": ["text"]});
        assert_eq!(refusal(deny_wins, "openai/text").await, denied("key_model_access_denied"));
    })
    .await;
}

#[tokio::test]
async fn the_user_path_may_be_narrowed_and_not_left() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "team", "user_path": "/team"})).await;
        let send =
            async |path: &str| app.chat("text").key(&key).header("x-gateway-user-path", path).send().await;
        send("/team/app").await.expect_status(200);
        send("team//app/").await.expect_status(200);
        assert_eq!(send("/teams").await.refusal().1, "user_path_denied");
        assert_eq!(send("/").await.refusal().0, 403);
        assert_eq!(send("/team/../x").await.refusal().2.as_deref(), Some("X-Gateway-User-Path"));
        let long = send(&format!("/team/{}", "x".repeat(7000))).await.refusal();
        assert_eq!(long, (400, "invalid_parameter".into(), Some("X-Gateway-User-Path".into())));
        app.chat("text").key(&key).send().await.expect_status(200);
        app.chat("text").header("x-user-path", "/anyone").send().await.expect_status(200);
        let booked = app.receipts(8).await;
        let paths: Vec<_> =
            booked.iter().map(|row| (row["user_path"].as_str().unwrap(), &row["status_code"])).collect();
        let expected = ["/team/app", "/team/app"];
        let statuses = [200, 200, 403, 403, 400, 400, 200, 200].map(Value::from);
        assert_eq!(paths.iter().map(|(path, _)| *path).collect::<Vec<_>>()[..2], expected);
        assert_eq!(paths.iter().map(|(_, status)| (*status).clone()).collect::<Vec<_>>(), statuses);
        assert_eq!(paths[6].0, "/team");
        assert_eq!(paths[7].0, "/anyone");
    })
    .await;
}

#[tokio::test]
async fn tools_and_reasoning_pass_through() {
    app::each(async |app| {
        let answer = app.chat("parallel-tools").send().await.expect_status(200).json();
        assert_eq!(answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(), 2);
        assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
        let answer = app.chat("reasoning").send().await.expect_status(200).json();
        assert!(answer["choices"][0]["message"]["reasoning_content"].as_str().is_some());
        let stream = app.stream("parallel-tools").send().await.expect_status(200).text();
        assert!(stream.contains(r#""arguments":"{\"city\": "#), "{stream}");
        assert!(stream.ends_with("data: [DONE]\n\n"));
    })
    .await;
}

/// The upstream's own `provider` gives way to ours; what else it says about itself stays.
#[tokio::test]
async fn unknown_members_of_an_answer_are_kept() {
    app::each(async |app| {
        let body = r#"{"id":"x","model":"as-named-by-them","provider":"Inner","x_extra":[1.50],"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
        app.upstream.push(testkit::FaultScript::status(200, "application/json", body));
        let answer = app.chat("text").send().await.expect_status(200);
        assert!(answer.text().contains(r#""x_extra":[1.50]"#), "{}", answer.text());
        assert_eq!(answer.text().matches("\"provider\"").count(), 1);
        assert_eq!((&answer.json()["provider"], &answer.json()["model"]), (&json!("openai"), &json!("as-named-by-them")));
    })
    .await;
}
