//! `/admin/api/v1/usage`.

use serde_json::{Value, json};

use crate::house::{self, House, Wishes};

const SUMMARY: &str = "/admin/api/v1/usage/summary";
const LOG: &str = "/admin/api/v1/usage/log";

async fn summary(house: &House, query: &str) -> Value {
    house.get(format!("{SUMMARY}?{query}")).send().await.expect_status(200).json()
}

async fn total(house: &House, query: &str) -> i64 {
    let log = house.get(format!("{LOG}?{query}")).send().await.expect_status(200).json();
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
    house::each(async |house| {
        let empty = summary(&house, "").await;
        assert_eq!((&empty["total_requests"], &empty["total_cost"]), (&json!(0), &Value::Null));
        for model in ["gpt-4o", "cached", "reasoning", "long", "error-500"] {
            house.chat(model).send().await;
            house.stream(model).send().await;
        }
        house.receipts(10).await;
        let bill = house.upstream.bill();
        let sum = |part: fn(&testkit::BillLine) -> u64| bill.iter().map(part).sum::<u64>();
        let found = summary(&house, "").await;
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
    house::each(async |house| {
        let (_, key) = house.key(json!({"name": "a", "user_path": "/team", "tenant_id": "acme"})).await;
        let call = house.chat("openai/gpt-4o").key(&key).header("x-gateway-session-id", "talk 1");
        let answer = call.header("x-request-id", "mine-1").send().await.expect_status(200);
        house.receipts(1).await;
        let log = house.get(LOG).send().await;
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
    house::each(async |house| {
        house.chat("text").header("x-gateway-user-path", "/a/b").send().await.expect_status(200);
        house
            .chat("text")
            .header("x-gateway-user-path", "/ab")
            .header("x-request-id", "needle-1")
            .send()
            .await;
        house.chat("long").send().await.expect_status(200);
        house.chat("nowhere/x").send().await.expect_status(200);
        house.receipts(4).await;
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
            assert_eq!(total(&house, query).await, expected, "{query}");
        }
        for query in ["user_path=/a", "user_path=/ab", "cache_mode=cached", "end_date=2020-01-01"] {
            assert_eq!(
                summary(&house, query).await["total_requests"],
                json!(total(&house, query).await),
                "{query}"
            );
        }
        let page = house.get(format!("{LOG}?limit=1&offset=1")).send().await.json();
        assert_eq!((&page["total"], &page["entries"][0]["model"]), (&json!(4), &json!("long")));
    })
    .await;
}

#[tokio::test]
async fn bad_values_are_named() {
    house::each(async |house| {
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
            for path in [SUMMARY, LOG] {
                let found = house.get(format!("{path}?{query}")).refusal().await;
                assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{path}?{query}");
            }
        }
        for (query, param) in [("limit=0", "limit"), ("limit=201", "limit"), ("offset=-1", "offset")] {
            let found = house.get(format!("{LOG}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        let zone = house.get(SUMMARY).header("x-gateway-timezone", "Mars/Olympus").refusal().await;
        assert_eq!(zone, (400, "invalid_parameter".into(), Some("X-Gateway-Timezone".into())));
        house.get(SUMMARY).header("x-gateway-timezone", "Asia/Kolkata").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn an_admin_bound_to_a_path_sees_its_subtree() {
    house::each(async |house| {
        let scopes = json!(["admin:usage:read"]);
        let (_, team) = house.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        for path in ["/team", "/team/app", "/teams", "/"] {
            house.chat("text").header("x-gateway-user-path", path).send().await.expect_status(200);
        }
        house.receipts(4).await;
        let seen = async |query: &str| house.get(format!("{LOG}?{query}")).key(&team).send().await;
        assert_eq!(seen("").await.json()["total"], 2);
        assert_eq!(seen("user_path=/team/app").await.json()["total"], 1);
        for path in ["/", "/teams", "/other"] {
            assert_eq!(seen(&format!("user_path={path}")).await.refusal().1, "user_path_denied", "{path}");
        }
        let totals = house.get(SUMMARY).key(&team).send().await.json();
        assert_eq!(totals["total_requests"], 2);
    })
    .await;
}

#[tokio::test]
async fn switched_off_it_says_so() {
    let wishes = || {
        let mut wishes = Wishes::default();
        wishes.config.usage_enabled = false;
        wishes.policy.accounting = false;
        wishes
    };
    house::each_with(wishes, async |house| {
        house.chat("text").send().await.expect_status(200);
        for path in [SUMMARY, LOG] {
            let answer = house.get(path).send().await;
            assert_eq!(answer.refusal().1, "feature_unavailable");
            assert!(answer.text().contains("USAGE_ENABLED"));
        }
        assert_eq!(house.gateway.journal.lag().records, 0);
    })
    .await;
}
