//! `/admin/api/v1/providers`.

use std::time::Duration;

use domain::clock::Clock as _;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};

use crate::house::{self, House, UPSTREAM_KEY, Wishes};

const PATH: &str = "/admin/api/v1/providers";

/// A gateway on loopback, so that the scripted upstream may be named through the API.
fn at_home() -> Wishes {
    Wishes { loopback_listener: true, ..Wishes::default() }
}

fn second(house: &House) -> Value {
    json!({"name": "second", "type": "openai_compatible", "base_url": house.upstream.base_url(), "api_key": "sk-second-5678"})
}

#[tokio::test]
async fn a_provider_from_the_environment_is_shown_without_its_key() {
    house::each(async |house| {
        let list = house.get(PATH).send().await.expect_status(200);
        assert!(!list.text().contains(UPSTREAM_KEY));
        let mut entry = list.json()[0].take();
        assert_eq!(entry["base_url"].take(), json!(house.upstream.base_url()));
        entry["health"]["model_count"].take();
        house::check_snapshot("provider from the environment", &house::pretty(entry));
        let refused = house.call(http::Method::DELETE, format!("{PATH}/openai")).refusal().await;
        assert_eq!((refused.0, &*refused.1), (409, "conflict"));
    })
    .await;
}

#[tokio::test]
async fn a_new_provider_serves_at_once() {
    house::each_with(at_home, async |house| {
        let created = house.post(PATH, second(&house)).send().await.expect_status(201);
        assert!(created.header("etag").is_some());
        let view = created.json();
        assert_eq!(
            (&view["source"], &view["api_key_set"], &view["api_key_last4"]),
            (&json!("admin"), &json!(true), &json!("5678"))
        );
        assert!(!created.text().contains("sk-second"));
        let answer = house.chat("second/text").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), Some("second/text"));
        let chat = house.upstream.requests().into_iter().find(|request| request.method == "POST").unwrap();
        assert_eq!(chat.header("authorization"), Some("Bearer sk-second-5678"));

        let taken = house.post(PATH, second(&house)).refusal().await;
        assert_eq!(taken, (409, "conflict".into(), Some("name".into())));
        let mut own = second(&house);
        own["name"] = json!("openai");
        assert_eq!(
            house.post(PATH, own).refusal().await.0,
            409,
            "the name of a configured instance is taken too"
        );

        house.call(http::Method::DELETE, format!("{PATH}/second")).send().await.expect_status(204);
        assert_eq!(house.get(format!("{PATH}/second")).refusal().await.1, "provider_not_found");
        assert_eq!(house.call(http::Method::DELETE, format!("{PATH}/second")).refusal().await.0, 404);
        house.refresher.discover_one("openai").await;
        assert_eq!(house.chat("second/text").refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_kept_cleared_or_lost_with_its_address() {
    house::each_with(at_home, async |house| {
        house.post(PATH, second(&house)).send().await.expect_status(201);
        let put = async |change: &dyn Fn(&mut Value)| {
            let mut body = second(&house);
            body.as_object_mut().unwrap().remove("api_key");
            change(&mut body);
            let view = house.put(format!("{PATH}/second"), body).send().await.expect_status(200).json();
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
    house::each_with(at_home, async |house| {
        let mut body = second(&house);
        body["headers"] = json!({"x-team": "a-secret-of-the-team-77"});
        house.post(PATH, body.clone()).send().await.expect_status(201);
        let shown = house.get(format!("{PATH}/second")).send().await.json();
        assert_eq!(shown["headers"], json!({"x-team": "***m-77"}));
        body["headers"] = shown["headers"].clone();
        house.put(format!("{PATH}/second"), body.clone()).send().await.expect_status(200);
        let instance = house.gateway.snapshot().routes.instances["second"].clone();
        assert_eq!(instance.provider.headers["x-team"], "a-secret-of-the-team-77");
        body["base_url"] = json!("https://elsewhere.example/v1");
        let (status, _, param) = house.put(format!("{PATH}/second"), body).refusal().await;
        assert_eq!((status, param.as_deref()), (400, Some("headers.x-team")));
        let changes = house.get("/admin/api/v1/changes").send().await.text();
        assert!(!changes.contains("of-the-team"), "{changes}");
    })
    .await;
}

#[tokio::test]
async fn a_configured_provider_is_overridden_and_comes_back() {
    house::each_with(at_home, async |house| {
        let override_body = json!({"models": "text, long ,", "resilience": null});
        let put = house.put(format!("{PATH}/openai"), override_body).send().await.expect_status(200).json();
        assert_eq!((&put["source"], &put["models"]), (&json!("admin"), &json!(["text", "long"])));
        house.chat("openai/long").send().await.expect_status(200);
        house.call(http::Method::DELETE, format!("{PATH}/openai")).send().await.expect_status(204);
        assert_eq!(house.get(format!("{PATH}/openai")).send().await.json()["source"], "env");
    })
    .await;
}

#[tokio::test]
async fn addresses_inside_the_house_are_refused() {
    house::each(async |house| {
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
            let found = house.post(PATH, body.clone()).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("base_url".into())), "{address}");
            assert_eq!(house.put(format!("{PATH}/x"), body).refusal().await.0, 400, "{address}");
        }
        assert_eq!(house.get(PATH).send().await.json().as_array().unwrap().len(), 1);
    })
    .await;
    house::each_with(
        || Wishes { allow_private: true, ..Wishes::default() },
        async |house| {
            let body =
                json!({"name": "x", "type": "openai", "base_url": "http://10.0.0.8/v1", "enabled": false});
            house.post(PATH, body).send().await.expect_status(201);
        },
    )
    .await;
}

#[tokio::test]
async fn a_lost_update_is_refused() {
    house::each_with(at_home, async |house| {
        let first = house.post(PATH, second(&house)).send().await.expect_status(201);
        let etag = first.header("etag").unwrap().to_owned();
        assert_eq!(house.get(format!("{PATH}/second")).send().await.header("etag"), Some(&*etag));
        let put = |etag: &str| house.put(format!("{PATH}/second"), second(&house)).header("if-match", etag);
        let newer = put(&etag).send().await.expect_status(200).header("etag").unwrap().to_owned();
        assert_ne!(newer, etag);
        assert_eq!(put(&etag).refusal().await, (412, "precondition_failed".into(), Some("If-Match".into())));
        let delete =
            |etag: &str| house.call(http::Method::DELETE, format!("{PATH}/second")).header("if-match", etag);
        assert_eq!(delete(&etag).refusal().await.0, 412);
        delete(&newer).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    house::each(async |house| {
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
            let found = house.post(PATH, body).refusal().await;
            assert_eq!((found.0, &*found.1, found.2.as_deref()), (400, code, Some(param)), "{shown}");
        }
        let found = house.put(format!("{PATH}/x"), json!({"name": "y", "type": "openai"})).refusal().await;
        assert_eq!(found, (400, "invalid_parameter".into(), Some("name".into())));
        let message = house.post(PATH, json!({"name": "x", "type": "opneai"})).send().await.text();
        assert!(message.contains("'openai'"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_provider_can_be_tried_and_asked() {
    house::each_with(at_home, async |house| {
        let tried =
            house.post(format!("{PATH}/openai/test"), json!({})).send().await.expect_status(200).json();
        assert_eq!((&tried["ok"], &tried["error"]), (&json!(true), &Value::Null));
        assert!(tried["model_count"].as_u64().unwrap() > 10);
        let count = async || {
            house.get(format!("{PATH}/openai")).send().await.json()["health"]["model_count"].as_u64().unwrap()
        };
        let before = count().await;
        let view =
            house.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200).json();
        assert_eq!(
            view["health"]["model_count"], tried["model_count"],
            "trying changes nothing, discovering does"
        );
        assert_ne!(before, count().await);
        assert!(view["health"]["last_discovery_at"].as_str().is_some());

        house.upstream.stop();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let tried =
            house.post(format!("{PATH}/openai/test"), json!({})).send().await.expect_status(200).json();
        assert_eq!(tried["ok"], json!(false));
        assert!(tried["error"].as_str().is_some_and(|reason| !reason.is_empty()));
        let view =
            house.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200).json();
        assert!(view["health"]["last_error"].as_str().is_some());
        assert_eq!(view["health"]["model_count"].as_u64().unwrap(), count().await, "what it last said stays");
        assert_eq!(house.post(format!("{PATH}/none/test"), json!({})).refusal().await.0, 404);
    })
    .await;
}

/// A created provider is asked for its models without anybody waiting for it.
#[tokio::test]
async fn a_new_provider_is_discovered_in_the_background() {
    house::each_with(at_home, async |house| {
        house.post(PATH, second(&house)).send().await.expect_status(201);
        let deadline = house.clock.tick() + Duration::from_secs(5);
        loop {
            let health = house.get(format!("{PATH}/second")).send().await.json()["health"].take();
            if health["last_discovery_at"].is_string() && health["model_count"].as_u64().unwrap() > 10 {
                return;
            }
            assert!(house.clock.tick() < deadline, "{health}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_disabled_or_unfinished_provider_serves_nothing() {
    house::each_with(at_home, async |house| {
        let mut body = second(&house);
        body["enabled"] = json!(false);
        let view = house.post(PATH, body).send().await.expect_status(201).json();
        assert_eq!(view["health"]["state"], "disabled");
        assert_eq!(house.chat("second/text").refusal().await.0, 404);
        let view = house
            .post(PATH, json!({"name": "cloud", "type": "oracle"}))
            .send()
            .await
            .expect_status(201)
            .json();
        assert_eq!(view["health"]["state"], "incomplete");
        let ready = house.get("/ready").send().await.json();
        assert_eq!((&ready["status"], &ready["providers"]), (&json!("degraded"), &json!("degraded")));
    })
    .await;
}

#[tokio::test]
async fn the_types_are_listed() {
    house::each(async |house| {
        let types = house.get(format!("{PATH}/types")).send().await.expect_status(200).json();
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
    house::each_with(at_home, async |house| {
        let mut body = second(&house);
        body["resilience"] = json!({"connect_timeout_ms": 250, "max_retries": 0, "breaker_failures": 100});
        let created = house.post(PATH, body.clone()).send().await.expect_status(201).json();
        assert_eq!(created["resilience"], body["resilience"]);
        let read = house.get(format!("{PATH}/second")).send().await.json();
        assert_eq!(read["resilience"], body["resilience"]);
        let limits = house.gateway.snapshot().routes.instances["second"].core.limits;
        assert_eq!((limits.retries, limits.total), (Some(0), None));

        let put = house.put(format!("{PATH}/second"), second(&house)).send().await.expect_status(200).json();
        assert_eq!(put["resilience"], body["resilience"], "what is left out stays");
        let put = house.put(format!("{PATH}/second"), json!({"resilience": null})).send().await;
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
            let found = house.put(format!("{PATH}/second"), body.clone()).refusal().await;
            let param = Some(format!("resilience.{field}"));
            assert_eq!(found, (400, "invalid_parameter".into(), param), "{field} {value}");
        }
        body["resilience"] = json!({"connect_timeout": 1});
        let found = house.put(format!("{PATH}/second"), body).refusal().await;
        assert_eq!((found.0, &*found.1), (400, "unknown_parameter"));
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
    house::each_with(at_home, async |house| {
        let body = json!({"name": "hole", "type": "openai_compatible", "base_url": format!("http://{address}/v1"),
            "models": ["m"], "resilience": {"connect_timeout_ms": 200, "max_retries": 0}});
        house.post(PATH, body).send().await.expect_status(201);
        let before = house.clock.tick();
        let refused = house.chat("hole/m").refusal().await;
        let waited = house.clock.tick() - before;
        assert!((502..=504).contains(&refused.0), "{refused:?}");
        assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(3), "{waited:?}");
        let before = house.clock.tick();
        let tried = house.post(format!("{PATH}/hole/test"), json!({})).send().await.json();
        assert_eq!(tried["ok"], json!(false));
        assert!(house.clock.tick() - before < Duration::from_secs(3), "asking for models is bounded too");
    })
    .await;
}

#[tokio::test]
async fn the_status_shows_how_each_instance_is_doing() {
    house::each_with(at_home, async |house| {
        house.post(PATH, json!({"name": "cloud", "type": "oracle"})).send().await.expect_status(201);
        let mut off = second(&house);
        off["enabled"] = json!(false);
        house.post(PATH, off).send().await.expect_status(201);
        let status = house.get(format!("{PATH}/status")).send().await.expect_status(200).json();
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
            let own = house.get(format!("{PATH}/{}", entry["name"].as_str().unwrap())).send().await.json();
            assert_eq!(own["health"], entry["health"], "the record tells the same");
        }

        house.post(format!("{PATH}/openai/discover"), json!({})).send().await.expect_status(200);
        let health = house.get(format!("{PATH}/openai")).send().await.json()["health"].take();
        assert_eq!((&health["state"], &health["breaker"]), (&json!("ok"), &json!("closed")), "{health}");
        for name in ["status", "types"] {
            let found = house.post(PATH, json!({"name": name, "type": "openai"})).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("name".into())), "{name}");
        }
    })
    .await;
}
