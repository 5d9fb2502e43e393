//! Where calls go: names, pools, rules of access; and how they get there in spite of faults.

mod attempts;
mod hedging;
mod lost;
mod names;
mod rejected;
mod unavailable;

use serde_json::{Value, json};

use crate::house::{self, Answer, House, Wishes};

/// Beside those that the upstream lists.
const MODELS: [&str; 18] = [
    "text",
    "long-3",
    "bad-json",
    "error-400",
    "error-403",
    "error-404",
    "error-429",
    "error-429-9",
    "error-429-17",
    "error-500@alone",
    "error-503-30",
    "error-529",
    "flaky-1-error-429-ms-100",
    "flaky-2@a",
    "flaky-5",
    "html",
    "insufficient-quota",
    "unauthorized",
];

/// Two instances at the upstream, `one` and `two`, both with every model there is.
async fn each(wishes: impl Fn() -> Wishes, resilience: Value, test: impl AsyncFn(House)) {
    let wishes = || Wishes { loopback_listener: true, vendors: &[], ..wishes() };
    house::each_with(wishes, async |house| {
        for name in ["one", "two"] {
            let body = json!({
                "name": name, "type": "openai_compatible", "base_url": house.upstream.base_url(),
                "api_key": "sk-of-the-tests", "resilience": resilience,
                "models": MODELS,
            });
            house.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        }
        test(house).await;
    })
    .await;
}

async fn put(house: &House, path: &str, body: Value) {
    let answer = house.call(http::Method::PUT, format!("/admin/api/v1/{path}")).json(body).send().await;
    assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.text());
}

async fn combo(house: &House, name: &str, selectors: &[&str]) {
    put(house, &format!("combos/{name}"), json!({"selectors": selectors})).await;
}

/// Who served, and after how many attempts.
fn served(answer: &Answer) -> (u16, &str, &str) {
    (
        answer.status,
        answer.header("x-gateway-model").unwrap_or_default(),
        answer.header("x-gateway-attempts").unwrap_or_default(),
    )
}
