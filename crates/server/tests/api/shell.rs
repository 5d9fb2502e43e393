//! Tests across routes: request ids, unknown routes, methods, CORS, metrics, liveness.

use http::Method;
use serde_json::json;

use crate::app::{self, Line, TestSettings, eventually};

#[tokio::test]
async fn unknown_routes_answer_404() {
    app::each(async |app| {
        for path in ["/nothing", "/v1", "/v1/", "/admin/api/v1/nothing", "/v1/images", "//"] {
            let found = app.get(path).refusal().await;
            assert_eq!((found.0, &*found.1), (404, "not_found"), "{path}");
        }
        app.get("/nothing").send().await.snapshot("not found");
        app.get("/nothing").anonymous().send().await.expect_status(404);
    })
    .await;
}

#[tokio::test]
async fn methods_that_are_not_served() {
    app::each(async |app| {
        for (method, path, allowed) in [
            (Method::GET, "/v1/chat/completions", "POST"),
            (Method::DELETE, "/health", "GET,HEAD"),
            (Method::PATCH, "/admin/api/v1/providers/openai", "GET,HEAD,PUT,DELETE"),
            (Method::PUT, "/admin/api/v1/auth-keys", "GET,HEAD,POST"),
        ] {
            let answer = app.call(method.clone(), path).send().await;
            let found = answer.refusal();
            assert_eq!((found.0, &*found.1), (405, "method_not_allowed"), "{method} {path}");
            let sorted = |text: &str| {
                let mut methods: Vec<String> =
                    text.split(',').map(|method| method.trim().to_owned()).collect();
                methods.sort();
                methods
            };
            assert_eq!(answer.header("allow").map(sorted), Some(sorted(allowed)), "{method} {path}");
        }
    })
    .await;
}

/// Even a path that cannot be decoded gets the envelope.
#[tokio::test]
async fn paths_that_cannot_be_read() {
    app::each(async |app| {
        for path in ["/admin/api/v1/providers/%FF", "/admin/api/v1/auth-keys/%FF", "/v1/models/%FF"] {
            let found = app.get(path).refusal().await;
            assert!([400, 404].contains(&found.0), "{path}: {found:?}");
        }
        for path in ["/admin/api/v1/providers/a%00b", "/admin/api/v1/auth-keys/a%00b"] {
            assert_eq!(app.get(path).refusal().await.0, 404, "{path}");
        }
        for query in ["search=%00", "search=%FF", "model=%00", "user_path=%00", "auth_key_id=%00"] {
            let answer = app.get(format!("/admin/api/v1/usage/log?{query}")).send().await;
            assert!([200, 400].contains(&answer.status), "{query}: {}", answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn request_ids() {
    app::each(async |app| {
        let sent = async |id: &str| {
            let answer = app.get("/health").header("x-request-id", id).send().await;
            answer.header("x-request-id").unwrap().to_owned()
        };
        assert_eq!(sent("client-7").await, "client-7");
        assert_eq!(sent(&"x".repeat(128)).await, "x".repeat(128));
        for bad in ["two words", "", &"x".repeat(129)] {
            let made = sent(bad).await;
            assert!(made != bad && made.len() == 32, "{made}");
        }
        assert_ne!(sent("").await, sent("").await);
        // On failures too, and on the row; strangers leave no row.
        let stranger = app.chat("text").anonymous().header("x-request-id", "stranger-1").send().await;
        assert_eq!((stranger.status, stranger.header("x-request-id")), (401, Some("stranger-1")));
        let refused = app.chat("").header("x-request-id", "refused-1").send().await;
        assert_eq!((refused.status, refused.header("x-request-id")), (400, Some("refused-1")));
        assert_eq!(
            app.get("/x").header("x-request-id", "lost-1").send().await.header("x-request-id"),
            Some("lost-1")
        );
        let rows = app.receipts(1).await;
        assert_eq!((&rows[0]["request_id"], &rows[0]["status_code"]), (&json!("refused-1"), &json!(400)));
    })
    .await;
}

/// Coding agents retry a 401 or 403 for minutes unless they are told not to.
#[tokio::test]
async fn refused_credentials_are_not_worth_a_retry() {
    app::each(async |app| {
        app.refresher.discover_one(None, "openai").await;
        let listed = app.key(json!({"name": "listed", "allowed_models": ["openai/gpt-4o"]})).await.1;
        let placed = app.key(json!({"name": "placed", "user_path": "/team"})).await.1;
        let message =
            json!({"model": "openai/text", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
        for (call, status) in [
            (app.chat("text").anonymous(), 401),
            (app.chat("text").key("wrong"), 401),
            (app.post("/v1/messages", message.clone()).key("wrong"), 401),
            (app.post("/v1/messages/count_tokens", message).key("wrong"), 401),
            (app.post("/v1beta/models/openai/text:generateContent", json!({})).key("wrong"), 401),
            (app.post("/v1beta/models/openai/text:countTokens", json!({})).key("wrong"), 401),
            (app.get("/metrics").key("wrong"), 401),
            (app.chat("openai/text").key(&listed), 403),
            (app.chat("openai/text").key(&placed).header("x-gateway-user-path", "/other"), 403),
            (app.get("/admin/api/v1/auth-keys").key(&placed), 403),
            (app.get("/admin/api/v1/budgets"), 403),
        ] {
            let answer = call.send().await.expect_status(status);
            assert_eq!(answer.header("x-should-retry"), Some("false"), "{}", answer.text());
        }
        for model in ["unauthorized", "no-such-provider/x"] {
            let answer = app.chat(model).send().await;
            assert!(![401, 403].contains(&answer.status), "{}", answer.text());
        }
    })
    .await;
}

/// nginx buffers a proxied answer unless it is told not to.
#[tokio::test]
async fn streams_disable_proxy_buffering() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = |model: &str| {
            json!({"model": model, "stream": true, "max_tokens": 64,
            "messages": [{"role": "user", "content": "hi"}]})
        };
        let contents = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
        // This one does not end by itself.
        let mut streamed = vec![app.get("/admin/api/v1/console/stream").glance().await.expect_status(200)];
        for call in [
            app.stream("openai/text"),
            app.stream("anthropic/claude-sonnet-4-5~text"),
            app.post("/v1/messages", body("anthropic/claude-sonnet-4-5~text")),
            app.post("/v1/responses", json!({"model": "openai/text", "input": "hi", "stream": true})),
            app.post("/v1beta/models/gemini/gemini-2.5-flash~text:streamGenerateContent?alt=sse", contents),
            app.post("/v1/completions", json!({"model": "openai/text", "prompt": "hi", "stream": true})),
            app.post("/p/openai/chat/completions", body("text")),
            app.stream("openai/text").header("idempotency-key", "once"),
            app.stream("openai/text").header("idempotency-key", "once"),
        ] {
            streamed.push(call.send().await.expect_status(200));
        }
        for answer in streamed {
            let header = |name| answer.header(name).unwrap_or_default().to_owned();
            assert!(header("content-type").starts_with("text/event-stream"), "{:?}", answer.headers);
            assert_eq!(header("x-accel-buffering"), "no", "{:?}", answer.headers);
            assert_eq!(header("cache-control"), "no-cache", "{:?}", answer.headers);
        }
        let whole = app.chat("openai/text").send().await;
        assert_eq!(whole.header("x-accel-buffering"), None);
    })
    .await;
}

#[tokio::test]
async fn front_door_and_dashboard() {
    app::each(async |app| {
        let front = app.get("/").anonymous().send().await.expect_status(302);
        assert_eq!(front.header("location"), Some("/admin/dashboard"));
        let alive = app.call(Method::HEAD, "/").anonymous().send().await.expect_status(200);
        assert!(alive.body.is_empty());
        for path in ["/admin/dashboard", "/admin/dashboard/", "/admin/dashboard/usage"] {
            let page = app.get(path).anonymous().send().await.expect_status(200);
            assert!(page.header("content-type").unwrap().starts_with("text/html"));
            assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none';"));
            let head = app.call(Method::HEAD, path).anonymous().send().await.expect_status(200);
            assert!(head.body.is_empty());
            assert_eq!(head.header("content-type"), page.header("content-type"));
            assert_eq!(app.post(path, serde_json::json!({})).refusal().await.0, 405, "{path}");
        }
        app.get("/health").anonymous().send().await.snapshot("health");
        app.get("/ready").anonymous().send().await.snapshot("ready");
    })
    .await;
}

#[tokio::test]
async fn parts_can_be_switched_off_or_moved() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.base_path = "/gateway/".into();
        settings.config.admin_enabled = false;
        settings.config.dashboard_enabled = false;
        settings.config.metrics_endpoint = None;
        settings
    };
    app::each_with(settings, async |app| {
        app.get("/gateway/health").send().await.expect_status(200);
        app.get("/gateway/v1/models").send().await.expect_status(200);
        for path in [
            "/health",
            "/gateway/metrics",
            "/gateway/admin/dashboard",
            "/gateway/admin/api/v1/auth-keys",
            "/gateway/nothing",
        ] {
            assert_eq!(app.get(path).refusal().await.0, 404, "{path}");
        }
        assert_eq!(app.get("/gateway/v1/chat/completions").refusal().await.0, 405);
    })
    .await;
}

#[tokio::test]
async fn other_origins() {
    app::each(async |app| {
        let answer = app.get("/health").header("origin", "https://app.example").send().await;
        assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
        let preflight = app.call(Method::OPTIONS, "/v1/models").header("origin", "https://app.example");
        let preflight = preflight.header("access-control-request-method", "GET");
        assert_eq!(preflight.refusal().await.0, 405);
    })
    .await;
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.cors_origins = vec!["https://app.example".into()];
        settings
    };
    app::each_with(settings, async |app| {
        let preflight = |origin: &str| {
            let call = app.call(Method::OPTIONS, "/v1/chat/completions").anonymous().header("origin", origin);
            call.header("access-control-request-method", "POST")
                .header("access-control-request-headers", "authorization")
        };
        preflight("https://app.example").send().await.snapshot("preflight");
        assert_eq!(preflight("https://evil.example").send().await.status, 405);
        let allowed = app.get("/v1/models").header("origin", "https://app.example").send().await;
        assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(allowed.header("vary"), Some("Origin"));
        // A refusal must be readable by the page that caused it.
        let refused = app.get("/v1/models").anonymous().header("origin", "https://app.example").send().await;
        assert_eq!(
            (refused.status, refused.header("access-control-allow-origin")),
            (401, Some("https://app.example"))
        );
        let other = app.get("/v1/models").header("origin", "https://evil.example").send().await;
        assert_eq!(other.header("access-control-allow-origin"), None);
    })
    .await;
}

#[tokio::test]
async fn metrics_list_every_counter() {
    app::each(async |app| {
        app.chat("gpt-4o").send().await.expect_status(200);
        app.chat("error-500").send().await.expect_status(500);
        app.chat("text").anonymous().send().await.expect_status(401);
        let page = app.get("/metrics").send().await.expect_status(200);
        assert!(page.header("content-type").unwrap().starts_with("application/openmetrics-text"));
        let names: std::collections::BTreeSet<String> =
            page.text().lines().filter_map(|line| Some(line.strip_prefix("# TYPE ")?.to_owned())).collect();
        app::check_snapshot("metrics", &names.into_iter().collect::<Vec<_>>().join("\n"));
        let text = page.text();
        for line in [
            r#"gatehouse_requests_total{provider="openai",model="gpt-4o",status="200"} 1"#,
            r#"gatehouse_requests_total{provider="",model="",status="401"} 1"#,
            "gatehouse_requests_in_flight 0",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains(app::MASTER) && !text.contains(app::UPSTREAM_KEY));
    })
    .await;
}

/// A task that does not end is a leak that no count of calls shows.
#[tokio::test]
async fn tasks_are_counted_until_they_end() {
    // More than the background tasks of a gateway, whose number changes while it starts.
    const CONNECTIONS: usize = 50;
    app::each(async |app| {
        let listening = app.listen().await;
        let tasks = async || {
            let page = app.get("/metrics").send().await.expect_status(200).text();
            let line =
                page.lines().find_map(|line| line.strip_prefix("gatehouse_tasks ")).expect("the gauge");
            line.parse::<usize>().unwrap()
        };
        let mut lines = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut line = Line::open(listening.address).await;
            line.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
            line.read_until("\r\n\r\n").await;
            lines.push(line);
        }
        assert!(tasks().await >= CONNECTIONS, "each open connection is a task");
        drop(lines);
        eventually(&app.clock, async || tasks().await < CONNECTIONS).await;
    })
    .await;
}

/// A model's name comes from the client; a counter must not.
#[tokio::test]
async fn strangers_cannot_grow_the_metrics_page() {
    app::each(async |app| {
        for number in 0..5 {
            app.chat(&format!("openai/made-up-{number}")).send().await.expect_status(200);
        }
        assert!(!app.get("/metrics").send().await.text().contains("made-up"));
    })
    .await;
}

#[tokio::test]
async fn http1_and_http2_share_one_port() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /nothing HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let received = line.read_until("\"not_found\"").await;
        assert!(received.starts_with("HTTP/1.1 200 ") && received.contains("HTTP/1.1 404 "), "{received}");
        let mut line = Line::open(listening.address).await;
        line.send("NONSENSE\r\n\r\n").await;
        assert!(line.receive_all().await.starts_with("HTTP/1.1 400 "));
        let stream = tokio::net::TcpStream::connect(listening.address).await.unwrap();
        let io = hyper_util::rt::TokioIo::new(stream);
        let executor = hyper_util::rt::TokioExecutor::new();
        let (mut client, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
        app.gateway.tasks.spawn(connection);
        let request = http::Request::get("http://gateway/health")
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .unwrap();
        let response = client.send_request(request).await.unwrap();
        assert_eq!((response.status(), response.version()), (http::StatusCode::OK, http::Version::HTTP_2));
    })
    .await;
}

/// A request body that panics when it is read, to simulate a panic in a handler.
struct Explosive;

impl http_body::Body for Explosive {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        panic!("the body exploded")
    }
}

#[tokio::test]
async fn a_panic_answers_500_and_other_calls_continue() {
    app::each(async |app| {
        for path in ["/v1/chat/completions", "/admin/api/v1/auth-keys"] {
            let request = http::Request::post(path)
                .header("authorization", format!("Bearer {}", app::MASTER))
                .header("x-request-id", "doomed")
                .body(Explosive)
                .unwrap();
            let answer = app.http_service.answer(request, None, None).await;
            assert_eq!(answer.status(), 500, "{path}");
            assert_eq!(answer.headers()["x-request-id"], "doomed");
            let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(
                (&body["error"]["code"], &body["error"]["param"]),
                (&json!("internal_error"), &json!(null))
            );
            app.get("/health").send().await.expect_status(200);
        }
    })
    .await;
}
