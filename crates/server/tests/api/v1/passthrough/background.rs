//! Work that outlives its call: background responses are followed, what cannot be metered is refused on budgeted paths.

use std::time::Duration;

use domain::clock::Clock as _;
use domain::money::{Cost, Nanos};
use domain::receipt::Opening;
use http::Method;
use pipeline::gateway::Policy;
use pipeline::passthrough::Rules;
use pipeline::responses::background;
use serde_json::{Value, json};

use crate::house::{self, House, Wishes, input};

const PATH: &str = "/p/openai/v1/responses";

fn background() -> Value {
    let mut body = input("gpt-4.1~text", "Take your time.");
    body["background"] = json!(true);
    body
}

async fn started(house: &House) -> String {
    let made = house.post(PATH, background()).send().await.expect_status(200).json();
    assert_eq!(made["status"], "queued");
    made["id"].as_str().unwrap().to_owned()
}

fn tokens(row: &Value) -> (u64, u64) {
    (row["input_tokens"].as_u64().unwrap(), row["output_tokens"].as_u64().unwrap())
}

#[tokio::test]
async fn a_background_response_is_booked_with_the_providers_figures() {
    house::each(async |house| {
        let id = started(&house).await;
        let rows = house.receipts(1).await;
        let line = &house.upstream.bill()[0];
        assert_eq!(tokens(&rows[0]), (line.prompt_tokens, line.completion_tokens), "{:#}", rows[0]);
        assert_eq!((&rows[0]["estimated"], &rows[0]["provider_id"]), (&json!(false), &json!(id)));
    })
    .await;
}

#[tokio::test]
async fn a_background_response_that_is_deleted_is_charged_at_its_reservation() {
    house::each(async |house| {
        let id = started(&house).await;
        house.call(Method::DELETE, format!("{PATH}/{id}")).send().await.expect_status(200);
        let rows = house.receipts(2).await;
        let row = rows.iter().max_by_key(|row| row["output_tokens"].as_u64()).unwrap();
        assert!(tokens(row).1 >= 1000 && row["estimated"] == true, "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_stops_leaves_a_background_response_to_the_next() {
    house::each(async |house| {
        for path in [PATH, "/v1/responses"] {
            let mut body = background();
            if path == "/v1/responses" {
                body["model"] = json!("openai/gpt-4.1~text");
            }
            house.post(path, body).send().await.expect_status(200);
        }
        house.gateway.tasks.close();
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(house.receipts(0).await.is_empty(), "nothing is booked until the end is known");
    })
    .await;
}

#[tokio::test]
async fn a_background_response_of_a_dead_process_is_followed() {
    house::each(async |house| {
        let id = started(&house).await;
        let opening = |receipt: &str, provider: &str| -> Opening {
            let opening: Opening = serde_json::from_value(json!({
                "id": receipt, "request_id": "r", "at": house.clock.now(), "endpoint": "/v1/responses",
                "requested_model": "gpt-4.1", "model": "gpt-4.1~text", "provider": "openai",
                "provider_name": provider, "user_path": "/team/x", "follow": id,
            }))
            .unwrap();
            let cost = Cost { input: Nanos(1), output: Nanos(850_000_000) };
            Opening { reserved_cost: Some(cost), ..opening }
        };
        house.crash(&opening("0199-followed", "openai"));
        house.crash(&opening("0199-lost", "gone"));
        for _ in 0..20 {
            house.drain().await.unwrap();
            background::take_over(&house.gateway);
        }
        let rows = house.receipts(3).await;
        let of = |request: &str, provider: &str| {
            rows.iter().find(|row| row["request_id"] == request && row["provider_name"] == provider).unwrap()
        };
        let line = &house.upstream.bill()[0];
        let followed = of("r", "openai");
        assert_eq!(tokens(followed), (line.prompt_tokens, line.completion_tokens), "{followed:#}");
        assert_eq!((&followed["status_code"], &followed["user_path"]), (&json!(200), &json!("/team/x")));
        assert_eq!(followed["provider_id"], json!(id));
        assert_eq!(of("r", "gone")["total_cost"], 0.850000001);
    })
    .await;
}

#[tokio::test]
async fn work_that_cannot_be_metered_is_refused_where_a_budget_applies() {
    let wishes = || Wishes { vendors: &["openai", "groq"], ..Wishes::enterprise() };
    house::each_with(wishes, async |house| {
        let url = "/admin/api/v1/budgets/%2Fteam/daily";
        house.put(url, json!({"amount": 100})).send().await.expect_status(200);
        let refused = (403, "unmetered_operation".to_owned(), None);
        for path in [
            "batches",
            "batches/",
            "messages/batches",
            "fine_tuning/jobs",
            "threads/t1/runs",
            "models/gemini-2.5-pro:batchGenerateContent",
        ] {
            let call = || house.post(format!("/p/openai/v1/{path}"), json!({}));
            let found = call().header("x-gateway-user-path", "/team").refusal().await;
            assert_eq!(found, refused, "{path}");
            assert_eq!(call().send().await.status, 404, "where no budget applies, the provider answers");
        }
        let call = house.post("/p/groq/v1/responses", background()).header("x-gateway-user-path", "/team");
        let (status, code, param) = call.refusal().await;
        assert_eq!((status, &*code, param.as_deref()), (403, "unmetered_operation", Some("background")));
        let listed = house.get("/p/openai/v1/batches").header("x-gateway-user-path", "/team");
        assert_eq!(listed.send().await.status, 404);
    })
    .await;
    let rules = || Rules { unmetered: true, ..Rules::default() };
    let wishes =
        || Wishes { policy: Policy { passthrough: rules(), ..Policy::default() }, ..Wishes::enterprise() };
    house::each_with(wishes, async |house| {
        let url = "/admin/api/v1/budgets/%2F/daily";
        house.put(url, json!({"amount": 100})).send().await.expect_status(200);
        assert_eq!(house.post("/p/openai/v1/batches", json!({})).send().await.status, 404);
    })
    .await;
}
