//! `/admin/api/v1/usage`.

use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const SUMMARY: &str = "/admin/api/v1/usage/summary";
const LOG: &str = "/admin/api/v1/usage/log";
const DAILY: &str = "/admin/api/v1/usage/daily";
const MODELS: &str = "/admin/api/v1/usage/models";
const PATHS: &str = "/admin/api/v1/usage/user-paths";
const TIMESERIES: &str = "/admin/api/v1/usage/timeseries";
const BREAKDOWN: &str = "/admin/api/v1/usage/breakdown";
const ME: &str = "/admin/api/v1/usage/me";
const ALL: [&str; 7] = [SUMMARY, LOG, DAILY, MODELS, PATHS, TIMESERIES, BREAKDOWN];

async fn read(app: &TestApp, path: &str) -> Value {
    app.get(path).send().await.expect_status(200).json()
}

async fn summary(app: &TestApp, query: &str) -> Value {
    app.get(format!("{SUMMARY}?{query}")).send().await.expect_status(200).json()
}

async fn total(app: &TestApp, query: &str) -> i64 {
    let log = app.get(format!("{LOG}?{query}")).send().await.expect_status(200).json();
    let total = log["total"].as_i64().unwrap();
    assert_eq!(
        log["entries"].as_array().unwrap().len() as i64,
        total.min(log["limit"].as_i64().unwrap()),
        "{query}"
    );
    total
}

#[tokio::test]
async fn totals_are_the_providers_bill() {
    app::each(async |app| {
        let empty = summary(&app, "").await;
        assert_eq!((&empty["total_requests"], &empty["total_cost"]), (&json!(0), &Value::Null));
        for model in ["gpt-4o", "cached", "reasoning", "long", "error-500"] {
            app.chat(model).send().await;
            app.stream(model).send().await;
        }
        app.receipts(10).await;
        let bill = app.upstream.bill();
        let sum = |part: fn(&testkit::BillLine) -> u64| bill.iter().map(part).sum::<u64>();
        let found = summary(&app, "").await;
        let prompt = sum(|line| line.prompt_tokens);
        let completion = sum(|line| line.completion_tokens);
        for (name, expected) in [
            ("total_requests", 10),
            ("total_input_tokens", prompt),
            ("total_output_tokens", completion),
            ("total_tokens", prompt + completion),
            ("total_cached_input_tokens", sum(|line| line.cached_tokens)),
            ("total_reasoning_tokens", sum(|line| line.reasoning_tokens)),
        ] {
            assert_eq!(found[name], json!(expected), "{name}");
        }
        // Only gpt-4o has a price; what has none is left out and not counted as free.
        let [input, output, total] =
            ["total_input_cost", "total_output_cost", "total_cost"].map(|name| found[name].as_f64().unwrap());
        assert!(input > 0.0 && output > 0.0 && (input + output - total).abs() < 1e-12);
    })
    .await;
}

#[tokio::test]
async fn a_line_of_the_log() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "a", "user_path": "/team", "tenant_id": "acme"})).await;
        let call = app.chat("openai/gpt-4o").key(&key).header("x-gateway-session-id", "talk 1");
        let answer = call.header("x-request-id", "mine-1").send().await.expect_status(200);
        app.receipts(1).await;
        let log = app.get(LOG).send().await;
        log.snapshot("usage log");
        let entry = &log.json()["entries"][0];
        assert_eq!(entry["request_id"], "mine-1");
        assert_eq!(entry["provider_id"], answer.json()["id"]);
        let cost = format!("{:.9}", entry["total_cost"].as_f64().unwrap());
        assert_eq!(answer.header("x-gateway-cost-usd"), Some(&*cost), "the header tells what is booked");
    })
    .await;
}

#[tokio::test]
async fn filters_choose() {
    app::each(async |app| {
        app.chat("text").header("x-gateway-user-path", "/a/b").send().await.expect_status(200);
        app.chat("text").header("x-gateway-user-path", "/ab").header("x-request-id", "needle-1").send().await;
        app.chat("long").send().await.expect_status(200);
        app.chat("nowhere/x").send().await.expect_status(200);
        app.receipts(4).await;
        for (query, expected) in [
            ("", 4),
            ("user_path=/a", 1),
            ("user_path=/a/b", 1),
            ("user_path=%2Fab", 1),
            ("user_path=/", 4),
            ("model=text", 2),
            ("model=nothing", 0),
            ("provider=openai", 4),
            ("provider=groq", 0),
            ("search=needle", 1),
            ("search=NEEDLE", 1),
            ("search=%25", 0),
            ("cache_mode=all", 4),
            ("cache_mode=cached", 0),
            ("days=1", 4),
            ("end_date=2020-01-01", 0),
            ("start_date=2020-01-01", 4),
        ] {
            assert_eq!(total(&app, query).await, expected, "{query}");
        }
        for query in ["user_path=/a", "user_path=/ab", "cache_mode=cached", "end_date=2020-01-01"] {
            assert_eq!(
                summary(&app, query).await["total_requests"],
                json!(total(&app, query).await),
                "{query}"
            );
        }
        let page = app.get(format!("{LOG}?limit=1&offset=1")).send().await.json();
        assert_eq!((&page["total"], &page["entries"][0]["model"]), (&json!(4), &json!("long")));
    })
    .await;
}

#[tokio::test]
async fn bad_values_are_named() {
    app::each(async |app| {
        for (query, param) in [
            ("days=0", "days"),
            ("days=366", "days"),
            ("days=ten", "days"),
            ("start_date=01.02.2026", "start_date"),
            ("end_date=2026-02-30", "end_date"),
            ("start_date=2026-02-02&end_date=2026-02-01", "start_date"),
            ("user_path=/a/../b", "user_path"),
            ("cache_mode=some", "cache_mode"),
        ] {
            for path in ALL {
                let found = app.get(format!("{path}?{query}")).refusal().await;
                assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{path}?{query}");
            }
        }
        for (query, param) in [("limit=0", "limit"), ("limit=201", "limit"), ("offset=-1", "offset")] {
            let found = app.get(format!("{LOG}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        for (path, query, param) in [
            (LOG, "cursor=x", "cursor"),
            (LOG, "cursor=1f.a&offset=1", "offset"),
            (DAILY, "interval=hourly", "interval"),
            (TIMESERIES, "interval=minutely", "interval"),
            (TIMESERIES, "metric=latency", "metric"),
            (TIMESERIES, "group_by=colour", "group_by"),
            (TIMESERIES, "group_by=status&metric=cost", "group_by"),
            (TIMESERIES, "top=0", "top"),
            (TIMESERIES, "interval=quarter_hour&days=60", "interval"),
        ] {
            let found = app.get(format!("{path}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{path}?{query}");
        }
        for path in ALL {
            let zone = app.get(path).header("x-gateway-timezone", "Mars/Olympus").refusal().await;
            assert_eq!(zone, (400, "invalid_parameter".into(), Some("X-Gateway-Timezone".into())));
            app.get(path).header("x-gateway-timezone", "Asia/Kolkata").send().await.expect_status(200);
            let interval = if [DAILY, TIMESERIES].contains(&path) { "&interval=yearly" } else { "" };
            app.get(format!("{path}?start_date=0001-01-01&end_date=9000-01-01{interval}"))
                .send()
                .await
                .expect_status(200);
        }
    })
    .await;
}

#[tokio::test]
async fn an_admin_bound_to_a_path_sees_its_subtree() {
    app::each(async |app| {
        let scopes = json!(["admin:usage:read"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        for path in ["/team", "/team/app", "/teams", "/"] {
            app.chat("text").header("x-gateway-user-path", path).send().await.expect_status(200);
        }
        app.receipts(4).await;
        let seen = async |query: &str| app.get(format!("{LOG}?{query}")).key(&team).send().await;
        assert_eq!(seen("").await.json()["total"], 2);
        assert_eq!(seen("user_path=/team/app").await.json()["total"], 1);
        for path in ["/", "/teams", "/other"] {
            assert_eq!(seen(&format!("user_path={path}")).await.refusal().1, "user_path_denied", "{path}");
        }
        let totals = app.get(SUMMARY).key(&team).send().await.json();
        assert_eq!(totals["total_requests"], 2);
        let paths = app.get(PATHS).key(&team).send().await.json();
        let paths: Vec<_> = paths.as_array().unwrap().iter().map(|line| line["user_path"].clone()).collect();
        assert_eq!(paths, ["/team", "/team/app"]);
        for path in [DAILY, MODELS] {
            assert_eq!(app.get(path).key(&team).send().await.json()[0]["requests"], 2, "{path}");
        }
        let series = app.get(TIMESERIES).key(&team).send().await.json();
        assert_eq!(series["series"][0]["total"], 2);
    })
    .await;
}

#[tokio::test]
async fn a_disabled_feature_is_reported() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.usage_enabled = false;
        settings.policy.accounting = false;
        settings
    };
    app::each_with(settings, async |app| {
        app.chat("text").send().await.expect_status(200);
        for path in ALL {
            let answer = app.get(path).send().await;
            assert_eq!(answer.refusal().1, "feature_unavailable");
            assert!(answer.text().contains("USAGE_ENABLED"));
        }
        assert_eq!(app.gateway.journal.lag().records, 0);
    })
    .await;
}

/// Answers in parts, each of which must add up to the summary of the same query.
#[tokio::test]
async fn all_reports_count_the_same_calls() {
    app::each(async |app| {
        for model in ["gpt-4o", "gpt-4o", "cached", "error-500", "text"] {
            let path = if model == "text" { "/b" } else { "/a/x" };
            app.chat(model).header("x-gateway-user-path", path).send().await;
        }
        app.receipts(5).await;
        for query in ["", "user_path=/a", "model=gpt-4o", "provider=openai", "days=100", "cache_mode=all"] {
            let whole = summary(&app, query).await;
            for path in [DAILY, MODELS, PATHS] {
                let lines = read(&app, &format!("{path}?{query}")).await;
                let lines = lines.as_array().unwrap();
                for name in ["requests", "input_tokens", "output_tokens", "total_tokens"] {
                    let sum: i64 = lines.iter().map(|line| line[name].as_i64().unwrap()).sum();
                    assert_eq!(
                        json!(sum),
                        whole[if name == "total_tokens" { name.into() } else { format!("total_{name}") }],
                        "{path}?{query} {name}"
                    );
                }
                for name in ["input_cost", "output_cost", "total_cost"] {
                    let sum: f64 = lines.iter().filter_map(|line| line[name].as_f64()).sum();
                    let total = if name == "total_cost" { name.into() } else { format!("total_{name}") };
                    assert!(
                        (sum - whole[total].as_f64().unwrap_or(0.0)).abs() < 1e-9,
                        "{path}?{query} {name}"
                    );
                }
            }
            for group in ["none", "model", "provider", "provider_name", "user_path", "auth_key_id", "status"]
            {
                for interval in ["quarter_hour&days=1", "hourly", "daily", "weekly", "monthly", "yearly"] {
                    if query.starts_with("days") && interval.contains("days") {
                        continue;
                    }
                    let asked = format!("{TIMESERIES}?{query}&group_by={group}&top=1&interval={interval}");
                    let found = read(&app, &asked).await;
                    let series = found["series"].as_array().unwrap();
                    let total: i64 = series.iter().map(|line| line["total"].as_i64().unwrap()).sum();
                    assert_eq!(json!(total), whole["total_requests"], "{asked}");
                    let points = series.iter().flat_map(|line| line["values"].as_array().unwrap());
                    assert_eq!(points.map(|value| value.as_i64().unwrap()).sum::<i64>(), total, "{asked}");
                    for line in series {
                        let periods = found["periods"].as_array().unwrap().len();
                        assert_eq!(line["values"].as_array().unwrap().len(), periods, "{asked}");
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn lines_of_the_reports() {
    app::each(async |app| {
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        app.chat("openai/error-500").send().await;
        app.receipts(3).await;
        let models = read(&app, MODELS).await;
        let names: Vec<_> = models.as_array().unwrap()[0].as_object().unwrap().keys().cloned().collect();
        let figures = [
            "requests",
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "input_cost",
            "output_cost",
            "total_cost",
            "prompt_cache_savings",
        ];
        assert_eq!(names, [&["model", "provider", "provider_name"][..], &figures].concat());
        let of = |model: &str| {
            models.as_array().unwrap().iter().find(|line| line["model"] == model).unwrap().clone()
        };
        assert!(of("gpt-4o")["total_cost"].as_f64().unwrap() > 0.0);
        assert_eq!((&of("text")["total_cost"], &of("text")["provider"]), (&Value::Null, &json!("openai")));
        let daily = read(&app, DAILY).await;
        let names: Vec<_> = daily[0].as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, [&["date"][..], &figures].concat());
        for (interval, length) in [("daily", 10), ("weekly", 8), ("monthly", 7), ("yearly", 4)] {
            let found = read(&app, &format!("{DAILY}?interval={interval}")).await;
            assert_eq!(found[0]["date"].as_str().unwrap().len(), length, "{found}");
            assert_eq!(found.as_array().unwrap().len(), 1);
        }
        let value = async |metric: &str| {
            read(&app, &format!("{TIMESERIES}?metric={metric}&days=1")).await["series"][0]["total"].clone()
        };
        assert_eq!(value("errors").await, 1);
        assert!((value("error_rate").await.as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
        let [p50, p95, first] = [value("p50").await, value("p95").await, value("ttfb_p50").await];
        assert!(p50.as_f64().unwrap() > 0.0 && p50.as_f64() <= p95.as_f64(), "{p50} {p95}");
        assert!(first.as_f64().unwrap() > 0.0, "{first}");
        assert!(value("cost").await.as_f64().unwrap() > 0.0);
        let empty = read(&app, &format!("{TIMESERIES}?model=none&metric=p95&days=2")).await;
        assert_eq!(empty["series"][0]["values"], json!([null, null]));
        assert_eq!(read(&app, &format!("{TIMESERIES}?model=none&group_by=model")).await["series"], json!([]));
        let top = read(&app, &format!("{TIMESERIES}?group_by=model&top=1&days=1")).await;
        assert_eq!((&top["series"][1]["other"], &top["series"][1]["total"]), (&json!(true), &json!(2)));
    })
    .await;
}

#[tokio::test]
async fn a_cursor_leads_through_the_log() {
    app::each(async |app| {
        for _ in 0..5 {
            app.chat("text").send().await.expect_status(200);
        }
        app.receipts(5).await;
        let whole = read(&app, LOG).await;
        assert!(whole.get("next").is_none() && whole.get("search_truncated").is_none());
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = read(&app, &format!("{LOG}?limit=2&cursor={cursor}")).await;
            assert_eq!(page["total"], 5);
            seen.extend(page["entries"].as_array().unwrap().clone());
            let Some(next) = page.get("next") else { break };
            cursor = next.as_str().unwrap().to_owned();
        }
        assert_eq!(json!(seen), whole["entries"]);
    })
    .await;
}

#[tokio::test]
async fn a_breakdown_groups_by_up_to_three_dimensions() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a", "user_path": "/team"})).await;
        for _ in 0..2 {
            app.chat("openai/gpt-4o").key(&key).send().await.expect_status(200);
        }
        app.chat("openai/text").header("x-gateway-user-path", "/=other").send().await.expect_status(200);
        app.receipts(3).await;
        let found = read(&app, &format!("{BREAKDOWN}?group_by=user_path,model,auth_key")).await;
        assert_eq!(
            (&found["total"], &found["limit"], &found["offset"]),
            (&json!(2), &json!(1000), &json!(0))
        );
        let entry = &found["entries"][0];
        assert_eq!(entry["user_path"], "/team");
        assert_eq!(
            (&entry["model"], &entry["auth_key_id"], &entry["requests"]),
            (&json!("gpt-4o"), &json!(id), &json!(2))
        );
        assert!(entry["total_cost"].as_f64().unwrap() > 0.0 && entry.get("day").is_none(), "{entry}");
        assert_eq!(entry["auth_key_name"], "a");
        assert_eq!(found["entries"][1]["auth_key_id"], "", "the master key has no id");
        assert!(found["entries"][1].get("auth_key_name").is_none(), "{found}");

        let found = read(&app, &format!("{BREAKDOWN}?group_by=provider,day&limit=1")).await;
        let day = read(&app, DAILY).await[0]["date"].clone();
        let entry = &found["entries"][0];
        assert_eq!(
            (&entry["day"], &entry["provider"], &entry["provider_name"]),
            (&day, &json!("openai"), &json!("openai"))
        );
        assert_eq!((&entry["requests"], &found["total"]), (&json!(3), &json!(1)));
        assert_eq!(
            read(&app, &format!("{BREAKDOWN}?offset=1")).await["entries"].as_array().unwrap().len(),
            1
        );

        let file =
            app.get(format!("{BREAKDOWN}?group_by=user_path,day&format=csv")).send().await.expect_status(200);
        assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
        let (text, day) = (file.text(), day.as_str().unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(
            lines[0],
            "day,user_path,requests,input_tokens,output_tokens,total_tokens,input_cost,output_cost,total_cost,prompt_cache_savings"
        );
        assert!(lines[1].starts_with(&format!("{day},/team,2,")), "{text}");
        assert!(lines[2].starts_with(&format!("{day},/=other,1,")) && lines[2].ends_with(",,,"), "{text}");
        assert_eq!(summary(&app, "").await["total_requests"], 3);

        for (query, param) in [
            ("group_by=model,model", "group_by"),
            ("group_by=model,user_path,provider,day", "group_by"),
            ("group_by=", "group_by"),
            ("group_by=tenant", "group_by"),
            ("format=xml", "format"),
            ("limit=10001", "limit"),
            ("timezone=Mars/Phobos", "timezone"),
        ] {
            let refused = app.get(format!("{BREAKDOWN}?{query}")).refusal().await;
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some(param)), "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_breakdown_stays_within_the_callers_path() {
    app::each(async |app| {
        let scopes = json!(["inference", "admin:usage:read"]);
        let (_, key) = app.key(json!({"name": "t", "user_path": "/team", "scopes": scopes})).await;
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        app.receipts(2).await;
        let path = format!("{BREAKDOWN}?group_by=user_path");
        let found = app.get(&path).key(&key).send().await.expect_status(200).json();
        assert_eq!((&found["total"], &found["entries"][0]["user_path"]), (&json!(1), &json!("/team")));
        assert_eq!(read(&app, &path).await["total"], 2);
    })
    .await;
}

#[tokio::test]
async fn a_key_sees_its_own_usage_and_limits() {
    app::each(async |app| {
        let limits = json!({"requests_per_minute": 5, "tokens_per_day": 100_000});
        let (id, key) = app.key(json!({"name": "mine", "user_path": "/team/a", "rate_limits": limits})).await;
        let (_, other) = app.key(json!({"name": "other", "user_path": "/team/a"})).await;
        app.chat("openai/gpt-4o").key(&key).send().await.expect_status(200);
        app.chat("openai/gpt-4o").key(&other).send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        app.receipts(3).await;
        let found = app.get(format!("{ME}?days=2")).key(&key).send().await.expect_status(200).json();
        assert_eq!((&found["auth_key_id"], &found["name"]), (&json!(id), &json!("mine")));
        assert_eq!(
            (&found["user_path"], &found["requests"], &found["errors"]),
            (&json!("/team/a"), &json!(1), &json!(0))
        );
        assert_eq!(found["by_model"][0]["model"], "gpt-4o");
        assert_eq!(found["daily"].as_array().unwrap().len(), 1);
        let scopes: Vec<&Value> =
            found["limits"].as_array().unwrap().iter().map(|limit| &limit["scope"]).collect();
        assert_eq!(scopes, ["requests_per_minute", "tokens_per_day"]);
        assert_eq!((&found["limits"][0]["limit"], &found["limits"][0]["remaining"]), (&json!(5), &json!(4)));
        assert_eq!(found["budgets"], json!([]));
        let master = read(&app, ME).await;
        assert_eq!((&master["auth_key_id"], &master["requests"]), (&Value::Null, &json!(1)));
        assert_eq!(master["by_model"][0]["model"], "text");
        // What other keys did cannot be asked for here.
        let own = app.get(format!("{ME}?auth_key_id=&user_path=/")).key(&key).send().await;
        assert!(own.status == 400 || own.json()["requests"] == 1, "{}", own.text());
        let reader = app.key_with(&["admin:usage:read"]).await;
        assert_eq!(app.get(ME).key(&reader).send().await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn a_key_sees_the_budgets_on_its_path() {
    let settings = || TestSettings {
        budgets: "/team=daily:10;/team/a=hourly:1;/other=daily:3",
        edition: domain::capability::Edition::Enterprise,
        ..TestSettings::default()
    };
    app::each_with(settings, async |app| {
        let (_, key) = app.key(json!({"name": "mine", "user_path": "/team/a"})).await;
        app.chat("openai/gpt-4o").key(&key).send().await.expect_status(200);
        app.receipts(1).await;
        let found = app.get(ME).key(&key).send().await.expect_status(200).json();
        let mut budgets = found["budgets"].as_array().unwrap().clone();
        budgets.sort_by_key(|budget| budget["user_path"].to_string());
        let paths: Vec<&Value> = budgets.iter().map(|budget| &budget["user_path"]).collect();
        assert_eq!(paths, ["/team", "/team/a"]);
        assert_eq!(
            (&budgets[0]["amount"], &budgets[0]["spent"]),
            (&Value::Null, &Value::Null),
            "above its path"
        );
        assert_eq!((&budgets[1]["amount"], &budgets[1]["period_label"]), (&json!(1.0), &json!("hourly")));
        assert!(budgets[1]["spent"].as_f64().unwrap() > 0.0);
    })
    .await;
}

#[tokio::test]
async fn the_time_zone_may_be_a_parameter() {
    app::each(async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        app.receipts(1).await;
        // Kiritimati and Pago Pago are never on the same day.
        let mut days = Vec::new();
        for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
            let header =
                app.get(DAILY).header("x-gateway-timezone", zone).send().await.expect_status(200).json();
            let call = app.get(format!("{DAILY}?timezone={zone}")).header("x-gateway-timezone", "UTC");
            let parameter = call.send().await.expect_status(200).json();
            assert_eq!(parameter, header, "the parameter wins over the header");
            let series = read(&app, &format!("{TIMESERIES}?timezone={zone}&days=1")).await;
            assert_eq!(series["time_zone"], zone);
            days.push(parameter[0]["date"].clone());
        }
        assert_ne!(days[0], days[1]);
        for path in ALL {
            let refused = app.get(format!("{path}?timezone=Mars/Phobos")).refusal().await;
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some("timezone")), "{path}");
        }
    })
    .await;
}
