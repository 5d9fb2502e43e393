//! Tests of `/p/{provider}/{endpoint}`: forwarded requests and responses, access, and cost.

mod background;
mod guardrails;
mod lines;
mod lists;
mod models;
mod ownership;
mod secrets;

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use pipeline::policy::PassthroughRules;
use pipeline::policy::Policy;
use serde_json::{Value, json};
use testkit::{Answer as Scripted, FaultScript, Step};

use crate::app::{self, Call, MASTER, TestApp, TestSettings, UPSTREAM_KEY, question};

fn streaming(model: &str) -> Value {
    let mut body = question(model);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body
}

fn passing<'a>(app: &'a TestApp, body: &Value) -> Call<'a> {
    app.post("/p/openai/v1/chat/completions", body.clone())
}

fn ruled(rules: PassthroughRules) -> TestSettings {
    TestSettings { policy: Policy { passthrough: rules, ..Policy::default() }, ..TestSettings::default() }
}

#[tokio::test]
async fn a_request_arrives_as_it_was_sent_but_for_its_credentials() {
    app::each(async |app| {
        for (method, path) in [
            (Method::PUT, "/p/openai/v1/files/a%20b?purpose=x&key=secret"),
            (Method::PATCH, "/p/openai/files/a%20b?purpose=x"),
            (Method::DELETE, "/p/openai/v1%2Ffiles%2Fa%20b?purpose=x"),
            (Method::OPTIONS, "/p/openai/files/a%20b?purpose=x"),
        ] {
            let call = app.call(method.clone(), path).header("content-type", "application/octet-stream");
            let call = call.header("cookie", "session=1").header("x-gateway-user-path", "/team");
            let call = call.header("openai-beta", "assistants=v2").header("x-api-key", MASTER);
            let answer = call.header("accept-encoding", "gzip").body(b"\x00\xff".as_slice()).send().await;
            assert_eq!(answer.status, 404, "{}", answer.text());
            let seen = app.upstream.requests().pop().unwrap();
            assert_eq!(
                (seen.method.as_str(), seen.path.as_str()),
                (method.as_str(), "/v1/files/a%20b?purpose=x")
            );
            assert_eq!(seen.body, b"\x00\xff");
            assert_eq!(seen.header("authorization"), Some(&*format!("Bearer {UPSTREAM_KEY}")));
            assert_eq!(seen.header("content-type"), Some("application/octet-stream"));
            assert_eq!(seen.header("openai-beta"), Some("assistants=v2"));
            assert_eq!(seen.header("accept-encoding"), Some("identity"));
            for name in ["cookie", "x-gateway-user-path", "x-api-key", "x-request-id", "accept"] {
                assert_eq!(seen.header(name), None, "{name}");
            }
            assert!(!format!("{seen:?}").contains(MASTER), "{seen:?}");
        }
        let rows = app.receipts(4).await;
        for row in &rows {
            assert_eq!(
                (row["endpoint"].as_str(), row["user_path"].as_str()),
                (Some("/p/{provider}"), Some("/team"))
            );
            assert_eq!((&row["total_tokens"], &row["estimated"]), (&json!(0), &json!(false)), "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_comes_back_as_it_was_sent_but_for_secrets() {
    app::each(async |app| {
        app.upstream.push(FaultScript::Exact(Scripted {
            status: 201,
            content_type: "application/x-thing".into(),
            headers: [
                ("set-cookie", "a=b"),
                ("authorization", UPSTREAM_KEY),
                ("x-echo", UPSTREAM_KEY),
                ("etag", "\"v7\""),
                ("x-ratelimit-remaining-tokens", "5"),
                ("openai-organization", "org-secret"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..Scripted::whole(b"\x00\x01\xff".as_slice())
        }));
        let answer = passing(&app, &question("text")).send().await.expect_status(201);
        assert_eq!(&answer.body[..], b"\x00\x01\xff");
        assert_eq!(answer.header("content-type"), Some("application/x-thing"));
        assert_eq!(answer.header("etag"), Some("\"v7\""));
        assert_eq!(answer.header("x-ratelimit-remaining-tokens"), Some("5"));
        assert_eq!(answer.header("x-gateway-provider"), Some("openai"));
        assert_eq!(answer.header("x-gateway-model"), Some("openai/text"));
        assert_eq!(answer.header("x-gateway-attempts"), Some("1"));
        assert_ne!(answer.header("x-request-id"), Some("req_scripted"));
        assert!(!format!("{:?}", answer.headers).contains("secret"), "{:?}", answer.headers);
        assert_eq!(answer.header("set-cookie"), None);

        let head = app.call(Method::HEAD, "/p/openai/models").send().await.expect_status(404);
        assert!(head.body.is_empty() && head.header("content-length").is_some());
        let listed = app.get("/p/openai/v1/models").send().await.expect_status(200);
        assert_eq!(listed.json()["object"], "list");
        assert_eq!(listed.header("x-gateway-model"), None);
        app.receipts(3).await;
    })
    .await;
}

#[tokio::test]
async fn usage_is_read_from_passthrough_answers() {
    app::each(async |app| {
        let models = ["text", "cached", "reasoning", "huge-event-2048", "usage-every-chunk"];
        for model in models {
            let whole = passing(&app, &question(model)).send().await.expect_status(200);
            assert!(whole.json().get("provider").is_none(), "nothing is added");
            let stream = passing(&app, &streaming(model)).send().await.expect_status(200);
            assert!(stream.text().ends_with("data: [DONE]\n\n"));
        }
        let rows = app.receipts(2 * models.len()).await;
        for line in app.upstream.bill() {
            let row = rows.iter().find(|row| row["provider_id"] == line.id).unwrap();
            let found = ["input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"]
                .map(|name| row[name].as_u64().unwrap());
            let billed =
                [line.prompt_tokens, line.completion_tokens, line.cached_tokens, line.reasoning_tokens];
            assert_eq!(found, billed, "{} {row:#}", line.model);
            assert_eq!((&row["estimated"], &row["model"]), (&json!(false), &json!(line.model)));
        }
        passing(&app, &question("no-usage")).send().await.expect_status(200);
        let rows = app.receipts(2 * models.len() + 1).await;
        let row = rows.last().unwrap();
        assert_eq!(row["estimated"], true, "{row:#}");
        assert!(row["output_tokens"].as_u64().unwrap() > 0, "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn reranked_documents_are_not_counted_as_output() {
    app::each(async |app| {
        let found =
            json!({"index": 0, "relevance_score": 0.9, "document": {"text": "a long document ".repeat(40)}});
        let answer = json!({"results": [found], "usage": {"prompt_tokens": 815, "total_tokens": 815}});
        app.upstream.push(FaultScript::status(200, "application/json", answer.to_string()));
        let body = json!({"model": "rerank", "query": "a", "documents": ["b"]});
        app.post("/p/openai/v1/rerank", body).send().await.expect_status(200);
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["input_tokens"], &row["output_tokens"]), (&json!(815), &json!(0)), "{row:#}");
        assert_eq!(row["estimated"], false);
    })
    .await;
}

#[tokio::test]
async fn images_are_charged_each() {
    app::each_with(TestSettings::enterprise, async |app| {
        let price = json!({"per_image": 0.3, "input_per_mtok": 0, "output_per_mtok": 0});
        app.put("/admin/api/v1/model-pricing/openai/dall-e-3", price).send().await.expect_status(201);
        let url = "/admin/api/v1/budgets/%2Fart/daily";
        app.put(url, json!({"amount": 1})).send().await.expect_status(200);
        let draw = |count: u64| {
            let body = json!({"model": "dall-e-3", "prompt": "a gate", "n": count});
            app.post("/p/openai/v1/images/generations", body).header("x-gateway-user-path", "/art")
        };
        assert_eq!(draw(4).send().await.refusal().1, "budget_exceeded");
        draw(2).send().await.expect_status(200);
        assert_eq!(draw(2).send().await.refusal().1, "budget_exceeded");
        draw(1).send().await.expect_status(200);
        let rows = app.receipts(4).await;
        let mut costs: Vec<f64> = rows.iter().filter_map(|row| row["total_cost"].as_f64()).collect();
        costs.retain(|cost| *cost > 0.0);
        assert_eq!(costs, [0.6, 0.3]);
        assert!(rows.iter().all(|row| row["requested_model"] == "dall-e-3"), "{rows:#?}");
    })
    .await;
}

#[tokio::test]
async fn a_status_is_kept_and_only_formless_errors_are_wrapped() {
    app::each(async |app| {
        for (model, status) in
            [("error-404", 404), ("error-429", 429), ("error-500", 500), ("unauthorized", 401)]
        {
            let answer = passing(&app, &question(model)).send().await.expect_status(status);
            assert!(answer.json()["error"]["message"].is_string());
            assert_eq!(answer.header("retry-after"), (status == 429).then_some("30"));
        }
        for (status, code) in
            [(400, "upstream_error"), (401, "upstream_auth_failed"), (502, "upstream_error")]
        {
            for (kind, body) in
                [("text/html", "<h1>no</h1>"), ("application/json", "{\"detail\":\"no\"}"), ("", "")]
            {
                app.upstream.push(FaultScript::status(status, kind, body));
                let refusal = passing(&app, &question("text")).refusal().await;
                assert_eq!(refusal, (status, code.to_owned(), None), "{body}");
            }
        }
        app.upstream.push(FaultScript::status(503, "text/html", "<h1>later</h1>"));
        let answer = passing(&app, &question("text")).send().await.expect_status(503);
        assert_eq!(
            (answer.text().as_str(), answer.header("content-type")),
            ("<h1>later</h1>", Some("text/html"))
        );
        let rows = app.receipts(14).await;
        assert!(rows.iter().all(|row| row["total_tokens"] == 0), "{rows:#?}");
    })
    .await;
}

#[tokio::test]
async fn a_path_cannot_leave_the_base_url() {
    app::each(async |app| {
        let paths = [
            "../x",
            "a/%2e%2e/x",
            "..%2fx",
            "a%5cb",
            "%2Fx",
            "a%00",
            "https:%2f%2fevil/",
            "a//b",
            "%252e%252e",
        ];
        for path in paths {
            let refusal = app.get(format!("/p/openai/{path}")).refusal().await;
            assert_eq!(refusal, (400, "invalid_parameter".into(), Some("endpoint".into())), "{path}");
        }
        assert_eq!(app.upstream.requests().len(), 0);
        app.receipts(paths.len()).await;
    })
    .await;
}

#[tokio::test]
async fn an_unknown_provider_and_a_closed_door_are_not_found() {
    let gone =
        |name: &str| (404, name.to_owned(), (name == "provider_not_found").then(|| "provider".to_owned()));
    app::each(async |app| {
        assert_eq!(app.get("/p/nobody/models").refusal().await, gone("provider_not_found"));
        assert_eq!(app.get("/p/openai/models").anonymous().send().await.status, 401);
        assert_eq!(app.get("/p/openai").send().await.status, 404);
    })
    .await;
    let rules = || PassthroughRules { providers: vec!["anthropic".into()], ..PassthroughRules::default() };
    app::each_with(
        move || ruled(rules()),
        async |app| {
            assert_eq!(app.get("/p/openai/models").refusal().await, gone("provider_not_found"));
        },
    )
    .await;
    let rules = || PassthroughRules { enabled: false, drop_version: false, ..PassthroughRules::default() };
    app::each_with(
        move || ruled(rules()),
        async |app| {
            assert_eq!(app.get("/p/openai/models").refusal().await, gone("not_found"));
        },
    )
    .await;
    app::each_with(
        || ruled(PassthroughRules { drop_version: false, ..PassthroughRules::default() }),
        async |app| {
            app.get("/p/openai/v1/models").send().await.expect_status(404);
            assert_eq!(app.upstream.requests()[0].path, "/v1/v1/models");
        },
    )
    .await;
}

#[tokio::test]
async fn no_connection_is_502() {
    app::each(async |app| {
        app.upstream.stop();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let refusal = passing(&app, &question("text")).refusal().await;
        assert_eq!(refusal, (502, "upstream_unreachable".into(), None));
        assert_eq!(app.receipts(1).await[0]["total_tokens"], 0);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_cut_and_booked_once() {
    app::each(async |app| {
        for body in [streaming("cut-mid-stream"), streaming("reset-mid-stream"), question("cut-mid-stream")] {
            let response = passing(&app, &body).open().await;
            assert_eq!(response.status(), 200);
            assert!(response.into_body().collect().await.is_err(), "{body}");
        }
        let rows = app.receipts(3).await;
        for row in &rows[..2] {
            assert_eq!(row["estimated"], true, "{row:#}");
            assert!(row["output_tokens"].as_u64().unwrap() > 0, "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn silence_is_bounded() {
    let hasty = || Policy {
        stream_idle_timeout: Duration::from_millis(150),
        request_timeout: Duration::from_millis(300),
        ..Policy::default()
    };
    app::each_with(
        || TestSettings { policy: hasty(), ..TestSettings::default() },
        async |app| {
            let refusal = passing(&app, &question("hang")).refusal().await;
            assert_eq!((refusal.0, &*refusal.1), (504, "upstream_timeout"));
            let response = passing(&app, &streaming("hang-mid-stream")).open().await;
            assert!(response.into_body().collect().await.is_err());
            app.receipts(2).await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_disconnect_cancels_the_call_and_charges_the_passed_part() {
    app::each(async |app| {
        let mut response = passing(&app, &streaming("drip-20")).open().await;
        for _ in 0..3 {
            response.body_mut().frame().await.unwrap().unwrap();
        }
        drop(response);
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["estimated"], &row["model"]), (&json!(true), &json!("drip-20")), "{row:#}");
        assert!(row["output_tokens"].as_u64().unwrap() > 0, "{row:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        let bill = app.upstream.bill();
        assert!(!bill[0].finished, "{bill:?}");
        app.upstream.push(FaultScript::Exact(Scripted { before: vec![Step::Hang], ..Scripted::default() }));
        let waiting = passing(&app, &question("text")).open();
        assert!(tokio::time::timeout(Duration::from_millis(100), waiting).await.is_err());
        app.receipts(2).await;
    })
    .await;
}
