//! `/admin/api/v1/pools`.

use http::Method;
use serde_json::{Value, json};

use super::{complaint, each_furnished, history, refuses};
use crate::app;

const PATH: &str = "/admin/api/v1/pools";

#[tokio::test]
async fn a_pool_lives() {
    each_furnished(async |app| {
        let body = json!({
            "name": "team", "description": "for everybody", "members": ["openai", "second"],
            "strategy": "weighted", "weights": {"second": 2.5}, "health_aware": false,
        });
        let created = app.post(PATH, body).send().await.expect_status(201);
        let etag = created.header("etag").unwrap().to_owned();
        let quiet = |mut pool: Value| {
            for member in pool["members_status"].as_array_mut().unwrap() {
                member["health"]["model_count"].take();
            }
            app::pretty(pool)
        };
        app::check_snapshot("pool", &quiet(created.json()));

        let read = app.get(format!("{PATH}/team")).send().await.expect_status(200);
        assert_eq!((read.header("etag"), quiet(read.json())), (Some(&*etag), quiet(created.json())));
        let list = app.get(PATH).send().await.expect_status(200);
        assert_eq!(
            (list.header("x-total-count"), quiet(list.json()[0].take())),
            (Some("1"), quiet(read.json()))
        );

        let replaced =
            app.put(format!("{PATH}/team"), json!({"members": ["second"]})).send().await.expect_status(200);
        let (pool, before) = (replaced.json(), created.json());
        let mut weights = before["weights"].clone();
        weights.as_object_mut().unwrap().retain(|member, _| member == "second");
        assert_eq!(
            (&pool["strategy"], &pool["weights"], &pool["health_aware"], &pool["description"]),
            (&before["strategy"], &weights, &before["health_aware"], &before["description"]),
            "what a PUT leaves out stays"
        );
        assert_eq!(pool["created_at"], created.json()["created_at"]);
        app.put(format!("{PATH}/other"), json!({"name": "other", "members": ["openai"]}))
            .send()
            .await
            .expect_status(201);
        app.call(Method::DELETE, format!("{PATH}/team")).send().await.expect_status(204);
        let told = history(&app, "pool").await;
        let told: Vec<_> = told.iter().map(|(action, name)| (action.as_str(), name.as_str())).collect();
        assert_eq!(told, [("delete", "team"), ("create", "other"), ("update", "team"), ("create", "team")]);
        for method in [Method::GET, Method::DELETE] {
            let gone = app.call(method, format!("{PATH}/team")).refusal().await;
            assert_eq!((gone.0, &*gone.1), (404, "not_found"));
        }
    })
    .await;
}

#[tokio::test]
async fn members_are_shown_as_they_are() {
    each_furnished(async |app| {
        app.post(PATH, json!({"name": "team", "members": ["openai", "second"]}))
            .send()
            .await
            .expect_status(201);
        let status = async || app.get(format!("{PATH}/team")).send().await.json()["members_status"].take();
        let shown = status().await;
        assert_eq!((&shown[1]["known"], &shown[1]["enabled"]), (&json!(true), &json!(true)));
        assert_eq!(shown[1]["health"]["state"], "ok");
        let off = json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "enabled": false});
        app.put("/admin/api/v1/providers/second", off).send().await.expect_status(200);
        let shown = status().await;
        assert_eq!((&shown[1]["known"], &shown[1]["enabled"]), (&json!(true), &json!(false)));
        assert_eq!(shown[1]["health"]["state"], "disabled");
    })
    .await;
}

#[tokio::test]
async fn a_pool_shows_the_share_of_calls_of_its_members() {
    each_furnished(async |app| {
        let pool = json!({"name": "team", "members": ["openai", "second"], "strategy": "primary_fallback"});
        app.post(PATH, pool).send().await.expect_status(201);
        app.post(PATH, json!({"name": "single", "members": ["second"]})).send().await.expect_status(201);
        for model in ["team/text", "team/text", "team/text", "openai/text", "single/text"] {
            app.chat(model).send().await.expect_status(200);
        }
        let shares = async |name: &str| {
            let pool = app.get(format!("{PATH}/{name}")).send().await.expect_status(200).json();
            let members = pool["members_status"].as_array().unwrap();
            let shares: Vec<_> = members
                .iter()
                .map(|member| (member["calls_last_hour"].clone(), member["share"].clone()))
                .collect();
            (pool["calls_last_hour"].as_u64().unwrap(), shares)
        };
        assert_eq!(shares("team").await, (3, vec![(json!(3), json!(1.0)), (json!(0), json!(0.0))]));
        assert_eq!(shares("single").await, (1, vec![(json!(1), json!(1.0))]), "a pool of one member, too");
        let edit = json!({"members": ["second", "openai"]});
        app.put(format!("{PATH}/team"), edit).send().await.expect_status(200);
        app.chat("team/text").send().await.expect_status(200);
        let expected = vec![(json!(1), json!(0.25)), (json!(3), json!(0.75))];
        assert_eq!(shares("team").await, (4, expected), "counts survive a change of the pool");
        app.clock.pass(std::time::Duration::from_secs(2 * 3600));
        assert_eq!(shares("team").await, (0, vec![(json!(0), Value::Null), (json!(0), Value::Null)]));
    })
    .await;
}

/// A member can go without asking when it was configured outside of storage.
#[tokio::test]
async fn a_member_that_is_gone_is_shown_as_unknown() {
    use domain::resources::pool::Pool;
    use domain::strategy::Strategy;
    use store::Write;
    app::each(async |app| {
        let pool = Pool {
            name: "team".into(),
            description: String::new(),
            members: vec!["gone".into()],
            strategy: Strategy::RoundRobin,
            weights: Default::default(),
            health_aware: true,
        };
        app.refresher.store().collection().put(&pool, Write::Create, "master", None).await.unwrap();
        let shown = app.get(format!("{PATH}/team")).send().await.json()["members_status"][0].take();
        assert_eq!(shown, json!({"name": "gone", "known": false, "enabled": false, "health": null, "calls_last_hour": 0, "share": null}));
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_furnished(async |app| {
        let with = |change: Value| {
            let mut body = json!({"name": "team", "members": ["openai"]});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            body
        };
        let cases = [
            ("POST", PATH, json!({"name": "team"}), 400, "invalid_parameter", "members"),
            ("POST", PATH, json!({"members": ["openai"]}), 400, "invalid_parameter", "name"),
            ("POST", PATH, with(json!({"name": "a/b"})), 400, "invalid_parameter", "name"),
            ("POST", PATH, with(json!({"members": []})), 400, "invalid_parameter", "members"),
            (
                "POST",
                PATH,
                with(json!({"members": ["openai", "openai"]})),
                400,
                "invalid_parameter",
                "members",
            ),
            (
                "POST",
                PATH,
                with(json!({"members": ["openai", "secnod"]})),
                400,
                "invalid_parameter",
                "members[1]",
            ),
            (
                "POST",
                PATH,
                with(json!({"members": ["openai_compatible"]})),
                400,
                "invalid_parameter",
                "members[0]",
            ),
            ("POST", PATH, with(json!({"strategy": "roundrobin"})), 400, "invalid_parameter", "strategy"),
            (
                "POST",
                PATH,
                with(json!({"weights": {"second": 1}})),
                400,
                "invalid_parameter",
                "weights.second",
            ),
            (
                "POST",
                PATH,
                with(json!({"weights": {"openai": -1}})),
                400,
                "invalid_parameter",
                "weights.openai",
            ),
            ("POST", PATH, with(json!({"weights": {"openai": 0}})), 400, "invalid_parameter", "weights"),
            ("POST", PATH, with(json!({"memebers": []})), 400, "unknown_parameter", "memebers"),
            (
                "PUT",
                "/admin/api/v1/pools/team",
                with(json!({"name": "crew"})),
                400,
                "invalid_parameter",
                "name",
            ),
        ];
        refuses(&app, &cases).await;
        let said = complaint(&app, "POST", PATH, with(json!({"members": ["secnod"]}))).await;
        assert!(said.contains("'second'"), "{said}");
        let said = complaint(&app, "POST", PATH, with(json!({"strategy": "roundrobin"}))).await;
        assert!(said.contains("'round_robin'"), "{said}");
        let said = complaint(&app, "POST", PATH, with(json!({"memebers": []}))).await;
        assert!(said.contains("'members'"), "{said}");
        assert_eq!(app.get(PATH).send().await.json(), json!([]), "nothing was written");
    })
    .await;
}

#[tokio::test]
async fn a_name_has_one_holder() {
    each_furnished(async |app| {
        app.put("/admin/api/v1/aliases/fast", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        let combo = json!({"name": "best", "selectors": ["openai/text", "second/text"]});
        app.post("/admin/api/v1/combos", combo).send().await.expect_status(201);
        for (name, holder) in [("openai", "a provider"), ("fast", "an alias"), ("best", "a combo")] {
            let body = json!({"name": name, "members": ["second"]});
            let put = (format!("{PATH}/{name}"), body.clone());
            for (method, path) in [("POST", PATH), ("PUT", &*put.0)] {
                refuses(&app, &[(method, path, body.clone(), 409, "conflict", "name")]).await;
                let said = complaint(&app, method, path, body.clone()).await;
                assert!(said.contains(holder), "{said}");
            }
        }
        let body = json!({"name": "team", "members": ["second"]});
        app.post(PATH, body.clone()).send().await.expect_status(201);
        refuses(&app, &[("POST", PATH, body, 409, "conflict", "name")]).await;
        let provider = json!({"name": "team", "type": "openai", "enabled": false});
        let refused = ("POST", "/admin/api/v1/providers", provider, 409, "conflict", "name");
        refuses(&app, &[refused]).await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_update_is_refused() {
    each_furnished(async |app| {
        let body = json!({"members": ["openai"]});
        let put = |etag: &str| app.put(format!("{PATH}/team"), body.clone()).header("if-match", etag);
        assert_eq!(put("\"1\"").refusal().await.0, 412, "there is nothing to match yet");
        let first = app.put(format!("{PATH}/team"), body.clone()).send().await.expect_status(201);
        let etag = first.header("etag").unwrap().to_owned();
        let newer = put(&etag).send().await.expect_status(200).header("etag").unwrap().to_owned();
        assert_eq!(put(&etag).refusal().await, (412, "precondition_failed".into(), Some("If-Match".into())));
        let delete = |etag: &str| app.call(Method::DELETE, format!("{PATH}/team")).header("if-match", etag);
        assert_eq!(delete(&etag).refusal().await.0, 412);
        delete(&newer).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn records_in_use_cannot_be_deleted() {
    each_furnished(async |app| {
        app.post(PATH, json!({"name": "team", "members": ["second"]})).send().await.expect_status(201);
        let delete = async |path: String| {
            let answer = app.call(Method::DELETE, path).send().await;
            (answer.status, answer.text())
        };
        let (status, said) = delete("/admin/api/v1/providers/second".into()).await;
        assert!(status == 409 && said.contains("pool/team"), "{status} {said}");

        let (id, key) = app.key(json!({"name": "bound", "provider_pool_id": "team"})).await;
        let shown = app.get(format!("/admin/api/v1/auth-keys/{id}")).send().await.json();
        assert_eq!(shown["provider_pool_id"], "team");
        let facts = app.gateway.snapshot().keys.find(&domain::resources::auth_key::digest(&key)).cloned();
        assert_eq!(facts.unwrap().provider_pool.as_deref(), Some("team"));
        app.put("/admin/api/v1/aliases/fast", json!({"target": "team/text"})).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/any", json!({"target": "team"})).send().await.expect_status(201);
        let combo = json!({"name": "best", "selectors": ["openai/text", "team/text"]});
        app.post("/admin/api/v1/combos", combo).send().await.expect_status(201);
        let (status, said) = delete(format!("{PATH}/team")).await;
        assert_eq!(status, 409);
        for referrer in [&*format!("auth_key/{id}"), "alias/fast", "alias/any", "combo/best"] {
            assert!(said.contains(referrer), "{referrer} in {said}");
        }
        for path in ["combos/best", "aliases/fast", "aliases/any"] {
            assert_eq!(delete(format!("/admin/api/v1/{path}")).await.0, 204);
        }
        assert_eq!(delete(format!("{PATH}/team")).await.0, 409, "the key still needs it");
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        assert_eq!(delete(format!("{PATH}/team")).await.0, 204, "a key that is over needs nothing");
        assert_eq!(delete("/admin/api/v1/providers/second".into()).await.0, 204);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_bound_to_a_pool_that_exists() {
    each_furnished(async |app| {
        app.post(PATH, json!({"name": "team", "members": ["second"]})).send().await.expect_status(201);
        let keys = "/admin/api/v1/auth-keys";
        let body = json!({"name": "a", "provider_pool_id": "taem"});
        refuses(&app, &[("POST", keys, body.clone(), 400, "invalid_parameter", "provider_pool_id")]).await;
        let said = complaint(&app, "POST", keys, body).await;
        assert!(said.contains("'team'"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_list_can_be_read_in_parts() {
    each_furnished(async |app| {
        for name in ["b", "c", "a"] {
            app.post(PATH, json!({"name": name, "members": ["openai"]})).send().await.expect_status(201);
        }
        let names = async |query: &str| {
            let list = app.get(format!("{PATH}{query}")).send().await.expect_status(200);
            assert_eq!(list.header("x-total-count"), Some("3"));
            let pools = list.json();
            let names =
                pools.as_array().unwrap().iter().map(|pool| pool["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("").await, "a b c");
        assert_eq!(names("?limit=1&offset=1").await, "b");
        for (query, param) in [("limit=0", "limit"), ("limit=10001", "limit"), ("offset=x", "offset")] {
            let found = app.get(format!("{PATH}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
    })
    .await;
}
