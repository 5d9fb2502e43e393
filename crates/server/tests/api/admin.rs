//! `/admin/api/v1`: what steers the gateway.

mod aliases;
mod audit;
mod auth_keys;
mod budgets;
mod changes;
mod combos;
mod console;
mod explain;
mod model_overrides;
mod model_pricing;
mod models;
mod pools;
mod providers;
mod round_trip;
mod strictness;
mod usage;

use serde_json::{Value, json};

use crate::house::{self, House, Wishes};

/// Runs a test with two providers that both have said what they serve: `openai` and `second`.
async fn each_furnished(test: impl AsyncFn(House)) {
    each_furnished_with(Wishes::default, test).await;
}

async fn each_furnished_with(wishes: impl Fn() -> Wishes, test: impl AsyncFn(House)) {
    let wishes = || Wishes { loopback_listener: true, ..wishes() };
    house::each_with(wishes, async |house| {
        let body = json!({
            "name": "second", "type": "openai_compatible", "base_url": house.upstream.base_url(),
            "api_key": "sk-second-5678", "models": ["long", "text"],
        });
        house.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        house.refresher.discover().await;
        test(house).await;
    })
    .await;
}

/// Every body is refused with the status, code and param it is listed with, by POST or PUT as the path is given.
async fn refuses(house: &House, cases: &[(&str, &str, Value, u16, &str, &str)]) {
    for (method, path, body, status, code, param) in cases {
        let found = house.call(method.parse().unwrap(), *path).json(body.clone()).refusal().await;
        let expected = (*status, (*code).to_owned(), Some((*param).to_owned()));
        assert_eq!(found, expected, "{method} {path} {body}");
    }
}

/// What an error says.
async fn complaint(house: &House, method: &str, path: &str, body: Value) -> String {
    let answer = house.call(method.parse().unwrap(), path).json(body).send().await;
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// The actions on a kind of document, newest first, with their names.
async fn history(house: &House, kind: &str) -> Vec<(String, String)> {
    let list = house.get(format!("/admin/api/v1/changes?kind={kind}")).send().await.expect_status(200).json();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let entries = list["entries"].as_array().unwrap().iter();
    entries.map(|entry| (text(entry, "action"), text(entry, "name"))).collect()
}
