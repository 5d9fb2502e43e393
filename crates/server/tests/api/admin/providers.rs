//! `/admin/api/v1/providers`.

use std::time::Duration;

use domain::clock::Clock as _;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};

use crate::app::{self, TestApp, TestSettings, UPSTREAM_KEY};

const PATH: &str = "/admin/api/v1/providers";

/// Settings with a listener on loopback, so that the scripted upstream may be configured through the API.
fn at_home() -> TestSettings {
    TestSettings { loopback_listener: true, ..TestSettings::default() }
}

fn second(app: &TestApp) -> Value {
    json!({"name": "second", "type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-second-5678"})
}

#[tokio::test]
async fn a_provider_from_the_environment_is_shown_without_its_key() {
    app::each(async |app| {
        let list = app.get(PATH).send().await.expect_status(200);
        assert!(!list.text().contains(UPSTREAM_KEY));
        let mut entry = list.json()[0].take();
        assert_eq!(entry["base_url"].take(), json!(app.upstream.base_url()));
        entry["health"]["model_count"].take();
        app::check_snapshot("provider from the environment", &app::pretty(entry));
        let refused = app.call(http::Method::DELETE, format!("{PATH}/openai")).refusal().await;
        assert_eq!((refused.0, &*refused.1), (409, "conflict"));
    })
    .await;
}

#[tokio::test]
async fn a_new_provider_serves_at_once() {
    app::each_with(at_home, async |app| {
        let created = app.post(PATH, second(&app)).send().await.expect_status(201);
        assert!(created.header("etag").is_some());
        let view = created.json();
        assert_eq!(
            (&view["source"], &view["api_key_set"], &view["api_key_last4"]),
            (&json!("admin"), &json!(true), &json!("5678"))
        );
        assert!(!created.text().contains("sk-second"));
        let answer = app.chat("second/text").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), Some("second/text"));
        let chat = app.upstream.requests().into_iter().find(|request| request.method == "POST").unwrap();
        assert_eq!(chat.header("authorization"), Some("Bearer sk-second-5678"));

        let taken = app.post(PATH, second(&app)).refusal().await;
        assert_eq!(taken, (409, "conflict".into(), Some("name".into())));
        let mut own = second(&app);
        own["name"] = json!("openai");
        assert_eq!(
            app.post(PATH, own).refusal().await.0,
            409,
            "the name of a configured instance is taken too"
        );

        app.call(http::Method::DELETE, format!("{PATH}/second")).send().await.expect_status(204);
        assert_eq!(app.get(format!("{PATH}/second")).refusal().await.1, "provider_not_found");
        assert_eq!(app.call(http::Method::DELETE, format!("{PATH}/second")).refusal().await.0, 404);
        app.refresher.discover_one(None, "openai").await;
        assert_eq!(app.chat("second/text").refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_kept_cleared_or_lost_with_its_address() {
    app::each_with(at_home, async |app| {
        app.post(PATH, second(&app)).send().await.expect_status(201);
        let put = async |change: &dyn Fn(&mut Value)| {
            let mut body = second(&app);
            body.as_object_mut().unwrap().remove("api_key");
            change(&mut body);
            let view = app.put(format!("{PATH}/second"), body).send().await.expect_status(200).json();
            view["api_key_last4"].as_str().map(str::to_owned)
        };
        assert_eq!(
            put(&|body| body["priority"] = json!(5)).await.as_deref(),
            Some("5678"),
            "absent keeps it"
        );
        assert_eq!(
            put(&|body| body["base_url"] = json!("https://elsewhere.example/v1")).await,
            None,
            "it goes nowhere else"
        );
        let rekeyed = put(&|body| body["api_key"] = json!("sk-third-4321")).await;
        assert_eq!(rekeyed.as_deref(), Some("4321"));
        assert_eq!(put(&|body| body["type"] = json!("groq")).await, None, "nor to another kind of provider");
        put(&|body| body["api_key"] = json!("sk-third-4321")).await;
        assert_eq!(put(&|body| body["api_key"] = Value::Null).await, None, "null clears it");
    })
    .await;
}

#[tokio::test]
async fn the_value_of_a_header_is_sealed_masked_and_kept() {
    app::each_with(at_home, async |app| {
        let mut body = second(&app);
        body["headers"] = json!({"x-team": "a-secret-of-the-team-77"});
        app.post(PATH, body.clone()).send().await.expect_status(201);
        let shown = app.get(format!("{PATH}/second")).send().await.json();
        assert_eq!(shown["headers"], json!({"x-team": "***m-77"}));
        body["headers"] = shown["headers"].clone();
        app.put(format!("{PATH}/second"), body.clone()).send().await.expect_status(200);
        let instance = app.gateway.snapshot().routes.instances["second"].clone();
        assert_eq!(instance.provider.headers["x-team"], "a-secret-of-the-team-77");
        body["base_url"] = json!("https://elsewhere.example/v1");
        let (status, _, param) = app.put(format!("{PATH}/second"), body).refusal().await;
        assert_eq!((status, param.as_deref()), (400, Some("headers.x-team")));
        let changes = app.get("/admin/api/v1/changes").send().await.text();
        assert!(!changes.contains("of-the-team"), "{changes}");
    })
    .await;
}

#[tokio::test]
async fn a_configured_provider_is_overridden_and_comes_back() {
    app::each_with(at_home, async |app| {
        let override_body = json!({"models": "text, long ,", "resilience": null});
        let put = app.put(format!("{PATH}/openai"), override_body).send().await.expect_status(200).json();
        assert_eq!((&put["source"], &put["models"]), (&json!("admin"), &json!(["text", "long"])));
        app.chat("openai/long").send().await.expect_status(200);
        app.call(http::Method::DELETE, format!("{PATH}/openai")).send().await.expect_status(204);
        assert_eq!(app.get(format!("{PATH}/openai")).send().await.json()["source"], "env");
    })
    .await;
}

#[tokio::test]
async fn addresses_inside_the_house_are_refused() {
    app::each(async |app| {
        let addresses = [
            "http://127.0.0.1:9/v1",
            "http://[::1]/v1",
            "http://10.0.0.8/v1",
            "http://169.254.169.254/latest",
            "http://192.168.1.1",
            "http://[::ffff:10.0.0.1]/",
            "http://8.8.8.8/v1",
            "ftp://example.com",
            "nonsense",
            "https://user:pass@example.com/v1",
        ];
        for address in addresses {
            let body = json!({"name": "x", "type": "openai", "base_url": address});
            let found = app.post(PATH, body.clone()).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("base_url".into())), "{address}");
            assert_eq!(app.put(format!("{PATH}/x"), body).refusal().await.0, 400, "{address}");
        }
        assert_eq!(app.get(PATH).send().await.json().as_array().unwrap().len(), 1);
    })
    .await;
    app::each_with(
        || TestSettings { allow_private: true, ..TestSettings::default() },
        async |app| {
            let body =
                json!({"name": "x", "type": "openai", "base_url": "http://10.0.0.8/v1", "enabled": false});
            app.post(PATH, body).send().await.expect_status(201);
        },
    )
    .await;
}

#[tokio::test]
async fn a_lost_update_is_refused() {
    app::each_with(at_home, async |app| {
        let first = app.post(PATH, second(&app)).send().await.expect_status(201);
        let etag = first.header("etag").unwrap().to_owned();
        assert_eq!(app.get(format!("{PATH}/second")).send().await.header("etag"), Some(&*etag));
        let put = |etag: &str| app.put(format!("{PATH}/second"), second(&app)).header("if-match", etag);
        let newer = put(&etag).send().await.expect_status(200).header("etag").unwrap().to_owned();
        assert_ne!(newer, etag);
        assert_eq!(put(&etag).refusal().await, (412, "precondition_failed".into(), Some("If-Match".into())));
        let delete =
            |etag: &str| app.call(http::Method::DELETE, format!("{PATH}/second")).header("if-match", etag);
        assert_eq!(delete(&etag).refusal().await.0, 412);
        delete(&newer).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    app::each(async |app| {
        let cases = [
            (json!({"name": "x"}), "invalid_parameter", "type"),
            (json!({"name": "x", "type": "opneai"}), "invalid_parameter", "type"),
            (json!({"type": "openai"}), "invalid_parameter", "name"),
            (json!({"name": "a/b", "type": "openai"}), "invalid_parameter", "name"),
            (json!({"name": "x", "type": "openai", "models": [" "]}), "invalid_parameter", "models[0]"),
            (json!({"name": "x", "type": "openai", "api_key": "sk-1\n"}), "invalid_parameter", "api_key"),
            (
                json!({"name": "x", "type": "openai", "headers": {"a b": "c"}}),
                "invalid_parameter",
                "headers.a b",
            ),
            (json!({"name": "x", "type": "openai", "apikey": "k"}), "unknown_parameter", "apikey"),
            (
                json!({"name": "x", "type": "openai", "headers": {"Authorization": "k"}}),
                "invalid_parameter",
                "headers.Authorization",
            ),
        ];
        for (body, code, param) in cases {
            let shown = body.to_string();
            let found = app.post(PATH, body).refusal().await;
            assert_eq!((found.0, &*found.1, found.2.as_deref()), (400, code, Some(param)), "{shown}");
        }
        let found = app.put(format!("{PATH}/x"), json!({"name": "y", "type": "openai"})).refusal().await;
        assert_eq!(found, (400, "invalid_parameter".into(), Some("name".into())));
        let message = app.post(PATH, json!({"name": "x", "type": "opneai"})).send().await.text();
        assert!(message.contains("'openai'"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_provider_can_be_tried_and_asked() {
    app::each_with(at_home, async |app| {
        let tried = app.post(format!("{PATH}/openai/test"), json!({})).send().await.expect_status(200).json();
        assert_eq!((&tried["ok"], &tried["error"]), (&json!(true), &Value::Null));
        assert!(tried["model_count"].as_u64().unwrap() > 10);
        let count = async || {
            app.get(format!("{PATH}/openai")).send().await.json()["health"]["model_count"].as_u64().unwrap()
        };
        let before = count().await;
        let view =
            app.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200).json();
        assert_eq!(
            view["health"]["model_count"], tried["model_count"],
            "trying changes nothing, discovering does"
        );
        assert_ne!(before, count().await);
        assert!(view["health"]["last_discovery_at"].as_str().is_some());

        app.upstream.stop();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let tried = app.post(format!("{PATH}/openai/test"), json!({})).send().await.expect_status(200).json();
        assert_eq!(tried["ok"], json!(false));
        assert!(tried["error"].as_str().is_some_and(|reason| !reason.is_empty()));
        let view =
            app.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200).json();
        assert!(view["health"]["last_error"].as_str().is_some());
        assert_eq!(view["health"]["model_count"].as_u64().unwrap(), count().await, "what it last said stays");
        assert_eq!(app.post(format!("{PATH}/none/test"), json!({})).refusal().await.0, 404);
    })
    .await;
}

/// A created provider is asked for its models without anybody waiting for it.
#[tokio::test]
async fn a_new_provider_is_discovered_in_the_background() {
    app::each_with(at_home, async |app| {
        app.post(PATH, second(&app)).send().await.expect_status(201);
        let deadline = app.clock.tick() + Duration::from_secs(5);
        loop {
            let health = app.get(format!("{PATH}/second")).send().await.json()["health"].take();
            if health["last_discovery_at"].is_string() && health["model_count"].as_u64().unwrap() > 10 {
                return;
            }
            assert!(app.clock.tick() < deadline, "{health}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_disabled_or_unfinished_provider_serves_nothing() {
    app::each_with(at_home, async |app| {
        let mut body = second(&app);
        body["enabled"] = json!(false);
        let view = app.post(PATH, body).send().await.expect_status(201).json();
        assert_eq!(view["health"]["state"], "disabled");
        assert_eq!(app.chat("second/text").refusal().await.0, 404);
        let view =
            app.post(PATH, json!({"name": "cloud", "type": "oracle"})).send().await.expect_status(201).json();
        assert_eq!(view["health"]["state"], "incomplete");
        let ready = app.get("/ready").send().await.json();
        assert_eq!((&ready["status"], &ready["providers"]), (&json!("degraded"), &json!("degraded")));
    })
    .await;
}

#[tokio::test]
async fn the_types_are_listed() {
    app::each(async |app| {
        let types = app.get(format!("{PATH}/types")).send().await.expect_status(200).json();
        let names: Vec<&str> =
            types.as_array().unwrap().iter().map(|kind| kind["type"].as_str().unwrap()).collect();
        for name in
            ["openai", "groq", "deepseek", "openrouter", "ollama", "vllm", "openai_compatible", "demo"]
        {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let openai = types.as_array().unwrap().iter().find(|kind| kind["type"] == "openai").unwrap();
        assert_eq!(openai["base_url"], "https://api.openai.com/v1");
    })
    .await;
}

#[tokio::test]
async fn a_provider_may_have_limits_of_its_own() {
    app::each_with(at_home, async |app| {
        let mut body = second(&app);
        body["resilience"] = json!({"connect_timeout_ms": 250, "max_retries": 0, "breaker_failures": 100});
        let created = app.post(PATH, body.clone()).send().await.expect_status(201).json();
        assert_eq!(created["resilience"], body["resilience"]);
        let read = app.get(format!("{PATH}/second")).send().await.json();
        assert_eq!(read["resilience"], body["resilience"]);
        let limits = app.gateway.snapshot().routes.instances["second"].core.limits;
        assert_eq!((limits.retries, limits.total), (Some(0), None));

        let put = app.put(format!("{PATH}/second"), second(&app)).send().await.expect_status(200).json();
        assert_eq!(put["resilience"], body["resilience"], "what is left out stays");
        let put = app.put(format!("{PATH}/second"), json!({"resilience": null})).send().await;
        assert_eq!(put.json()["resilience"], json!({}), "null: as the settings say");
        for (field, value) in [
            ("connect_timeout_ms", json!(0)),
            ("first_byte_timeout_ms", json!(3_600_001)),
            ("idle_timeout_ms", json!(0)),
            ("total_timeout_ms", json!(3_600_001)),
            ("breaker_open_ms", json!(0)),
            ("max_retries", json!(11)),
            ("max_retries", json!(-1)),
            ("breaker_failures", json!(0)),
            ("breaker_failures", json!(101)),
        ] {
            body["resilience"] = json!({field: value});
            let found = app.put(format!("{PATH}/second"), body.clone()).refusal().await;
            let param = Some(format!("resilience.{field}"));
            assert_eq!(found, (400, "invalid_parameter".into(), param), "{field} {value}");
        }
        body["resilience"] = json!({"connect_timeout": 1});
        let found = app.put(format!("{PATH}/second"), body).refusal().await;
        assert_eq!((found.0, &*found.1), (400, "unknown_parameter"));
    })
    .await;
}

#[tokio::test]
async fn a_provider_can_be_tried_before_it_is_stored() {
    app::each_with(at_home, async |app| {
        let path = format!("{PATH}/test");
        let base_url = app.upstream.base_url();
        let body = json!({"type": "openai", "base_url": base_url, "api_key": UPSTREAM_KEY});
        let tried = app.post(&*path, body.clone()).send().await.expect_status(200).json();
        assert_eq!((&tried["ok"], &tried["error"]), (&json!(true), &Value::Null), "{tried}");
        assert!(tried["model_count"].as_u64().unwrap() > 10);
        assert!(tried["models"].as_array().unwrap().contains(&json!("echo")), "{tried}");
        let names: Vec<Value> = app.get(PATH).send().await.json().as_array().unwrap().clone();
        assert!(names.iter().all(|provider| provider["name"] != "unsaved"), "nothing is stored");

        let mut wrong = body.clone();
        wrong["api_key"] = json!("sk-a-wrong-secret");
        wrong["base_url"] = json!("http://127.0.0.1:1/v1");
        let failed = app.post(&*path, wrong).send().await.expect_status(200);
        assert_eq!((&failed.json()["ok"], &failed.json()["models"]), (&json!(false), &json!([])));
        assert!(!failed.text().contains("sk-a-wrong-secret"), "{}", failed.text());

        for (change, param) in [
            (json!({"type": "opneai"}), "type"),
            (json!({"base_url": "http://169.254.169.254/v1"}), "base_url"),
            (json!({"headers": {"authorization": "x"}}), "headers.authorization"),
            (json!({"name": "test"}), "name"),
        ] {
            let mut changed = body.clone();
            changed.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let found = app.post(&*path, changed).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{change}");
        }
        let key = app.key_with(&["admin:providers:read"]).await;
        app.post(&*path, body).key(&key).send().await.expect_status(403);
    })
    .await;
}

#[tokio::test]
async fn the_status_has_a_series_of_calls() {
    app::each_with(at_home, async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        app.chat("openai/error-429").send().await;
        app.chat("openai/error-500").send().await;
        let status = app.get(format!("{PATH}/status")).send().await.expect_status(200).json();
        let openai = status.as_array().unwrap().iter().find(|status| status["name"] == "openai").unwrap();
        let series = &openai["series"];
        assert_eq!(series["bucket_seconds"], 60);
        let sum = |name: &str| -> u64 {
            let values = series[name].as_array().unwrap();
            assert_eq!(values.len(), 60);
            values.iter().filter_map(Value::as_u64).sum()
        };
        assert_eq!((sum("calls"), openai["calls_last_hour"].as_u64()), (3, Some(3)), "{openai}");
        assert_eq!((sum("errors"), openai["errors_last_hour"].as_u64()), (2, Some(2)), "{openai}");
        let times = series["first_byte_ms"].as_array().unwrap();
        assert!(times[..58].iter().all(Value::is_null) && times.iter().any(Value::is_number), "{series}");
        assert!(openai["health"]["last_success_at"].is_string(), "{openai}");
        app.clock.pass(Duration::from_secs(3700));
        let status = app.get(format!("{PATH}/status")).send().await.json();
        let openai = status.as_array().unwrap().iter().find(|status| status["name"] == "openai").unwrap();
        assert_eq!(openai["calls_last_hour"], 0, "{openai}");
    })
    .await;
}

/// A listener that never accepts, its backlog full: the kernel drops further handshakes.
#[tokio::test]
async fn a_provider_is_given_up_after_its_own_connect_timeout() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    for _ in 0..8 {
        fillers.push(tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await);
    }
    assert!(fillers.iter().any(Result::is_err), "the backlog should be full");
    app::each_with(at_home, async |app| {
        let body = json!({"name": "hole", "type": "openai_compatible", "base_url": format!("http://{address}/v1"),
            "models": ["m"], "resilience": {"connect_timeout_ms": 200, "max_retries": 0}});
        app.post(PATH, body).send().await.expect_status(201);
        let before = app.clock.tick();
        let refused = app.chat("hole/m").refusal().await;
        let waited = app.clock.tick() - before;
        assert!((502..=504).contains(&refused.0), "{refused:?}");
        assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(3), "{waited:?}");
        let before = app.clock.tick();
        let tried = app.post(format!("{PATH}/hole/test"), json!({})).send().await.json();
        assert_eq!(tried["ok"], json!(false));
        assert!(app.clock.tick() - before < Duration::from_secs(3), "asking for models is bounded too");
    })
    .await;
}

#[tokio::test]
async fn the_status_shows_how_each_instance_is_doing() {
    app::each_with(at_home, async |app| {
        app.post(PATH, json!({"name": "cloud", "type": "oracle"})).send().await.expect_status(201);
        let mut off = second(&app);
        off["enabled"] = json!(false);
        app.post(PATH, off).send().await.expect_status(201);
        let status = app.get(format!("{PATH}/status")).send().await.expect_status(200).json();
        let found: Vec<_> = status
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                (text(&entry["name"]), text(&entry["source"]), text(&entry["health"]["state"]))
            })
            .collect();
        let expected =
            [("cloud", "admin", "incomplete"), ("openai", "env", "unknown"), ("second", "admin", "disabled")];
        let expected = expected.map(|(name, source, state)| (name.into(), source.into(), state.into()));
        assert_eq!(found, expected);
        for entry in status.as_array().unwrap() {
            assert!(entry["models"].is_array());
            let own = app.get(format!("{PATH}/{}", entry["name"].as_str().unwrap())).send().await.json();
            assert_eq!(own["health"], entry["health"], "the record tells the same");
        }

        app.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200);
        let health = app.get(format!("{PATH}/openai")).send().await.json()["health"].take();
        assert_eq!((&health["state"], &health["breaker"]), (&json!("ok"), &json!("closed")), "{health}");
        for name in ["status", "types"] {
            let found = app.post(PATH, json!({"name": name, "type": "openai"})).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("name".into())), "{name}");
        }
    })
    .await;
}
