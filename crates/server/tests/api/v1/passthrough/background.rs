//! Tests of work that outlives its call: background responses are followed, unmetered work is refused on budgeted
//! paths.

use std::time::Duration;

use domain::clock::Clock as _;
use domain::money::{Cost, Nanos};
use domain::receipt::Opening;
use http::Method;
use pipeline::policy::PassthroughRules;
use pipeline::policy::Policy;
use pipeline::responses::background;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings, input};

const PATH: &str = "/p/openai/v1/responses";

fn background() -> Value {
    let mut body = input("gpt-4.1~text", "Take your time.");
    body["background"] = json!(true);
    body
}

async fn started(app: &TestApp) -> String {
    let made = app.post(PATH, background()).send().await.expect_status(200).json();
    assert_eq!(made["status"], "queued");
    made["id"].as_str().unwrap().to_owned()
}

fn tokens(row: &Value) -> (u64, u64) {
    (row["input_tokens"].as_u64().unwrap(), row["output_tokens"].as_u64().unwrap())
}

#[tokio::test]
async fn a_background_response_is_booked_with_the_providers_figures() {
    app::each(async |app| {
        let id = started(&app).await;
        let rows = app.receipts(1).await;
        let line = &app.upstream.bill()[0];
        assert_eq!(tokens(&rows[0]), (line.prompt_tokens, line.completion_tokens), "{:#}", rows[0]);
        assert_eq!((&rows[0]["estimated"], &rows[0]["provider_id"]), (&json!(false), &json!(id)));
    })
    .await;
}

#[tokio::test]
async fn a_background_response_that_is_deleted_is_charged_at_its_reservation() {
    app::each(async |app| {
        let id = started(&app).await;
        app.call(Method::DELETE, format!("{PATH}/{id}")).send().await.expect_status(200);
        let rows = app.receipts(2).await;
        let row = rows.iter().max_by_key(|row| row["output_tokens"].as_u64()).unwrap();
        assert!(tokens(row).1 >= 1000 && row["estimated"] == true, "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_stops_leaves_a_background_response_to_the_next() {
    app::each(async |app| {
        for path in [PATH, "/v1/responses"] {
            let mut body = background();
            if path == "/v1/responses" {
                body["model"] = json!("openai/gpt-4.1~text");
            }
            app.post(path, body).send().await.expect_status(200);
        }
        app.gateway.tasks.close();
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(app.receipts(0).await.is_empty(), "nothing is booked until the end is known");
    })
    .await;
}

#[tokio::test]
async fn a_background_response_of_a_dead_process_is_followed() {
    app::each(async |app| {
        let id = started(&app).await;
        let opening = |receipt: &str, provider: &str| -> Opening {
            let opening: Opening = serde_json::from_value(json!({
                "id": receipt, "request_id": "r", "at": app.clock.now(), "endpoint": "/v1/responses",
                "requested_model": "gpt-4.1", "model": "gpt-4.1~text", "provider": "openai",
                "provider_name": provider, "user_path": "/team/x", "follow": id,
            }))
            .unwrap();
            let cost = Cost { input: Nanos(1), output: Nanos(850_000_000) };
            Opening { reserved_cost: Some(cost), ..opening }
        };
        app.crash(&opening("0199-followed", "openai"));
        app.crash(&opening("0199-lost", "gone"));
        for _ in 0..20 {
            app.drain().await.unwrap();
            background::take_over(&app.gateway);
        }
        let rows = app.receipts(3).await;
        let of = |request: &str, provider: &str| {
            rows.iter().find(|row| row["request_id"] == request && row["provider_name"] == provider).unwrap()
        };
        let line = &app.upstream.bill()[0];
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
    let settings = || TestSettings { vendors: &["openai", "groq"], ..TestSettings::enterprise() };
    app::each_with(settings, async |app| {
        let url = "/admin/api/v1/budgets/%2Fteam/daily";
        app.put(url, json!({"amount": 100})).send().await.expect_status(200);
        let refused = (403, "unmetered_operation".to_owned(), None);
        for path in [
            "batches",
            "batches/",
            "messages/batches",
            "fine_tuning/jobs",
            "threads/t1/runs",
            "models/gemini-2.5-pro:batchGenerateContent",
        ] {
            let call = || app.post(format!("/p/openai/v1/{path}"), json!({}));
            let found = call().header("x-gateway-user-path", "/team").refusal().await;
            assert_eq!(found, refused, "{path}");
            assert_eq!(call().send().await.status, 404, "where no budget applies, the provider answers");
        }
        let call = app.post("/p/groq/v1/responses", background()).header("x-gateway-user-path", "/team");
        let (status, code, param) = call.refusal().await;
        assert_eq!((status, &*code, param.as_deref()), (403, "unmetered_operation", Some("background")));
        let listed = app.get("/p/openai/v1/batches").header("x-gateway-user-path", "/team");
        assert_eq!(listed.send().await.status, 404);
    })
    .await;
    let rules = || PassthroughRules { unmetered: true, ..PassthroughRules::default() };
    let settings = || TestSettings {
        policy: Policy { passthrough: rules(), ..Policy::default() },
        ..TestSettings::enterprise()
    };
    app::each_with(settings, async |app| {
        let url = "/admin/api/v1/budgets/%2F/daily";
        app.put(url, json!({"amount": 100})).send().await.expect_status(200);
        assert_eq!(app.post("/p/openai/v1/batches", json!({})).send().await.status, 404);
    })
    .await;
}
