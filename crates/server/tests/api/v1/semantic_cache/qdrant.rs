//! Tests of the semantic cache with Qdrant as its store, against a double that checks the requests and keeps the points.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use domain::secret::Secret;
use parking_lot::Mutex;
use pipeline::policy::SemanticMode;
use pipeline::services::semantic_cache::QdrantConfig;
use serde_json::{Value, json};

use super::{HIT, MISS, QUESTION, SIMILAR, ask, cache_headers, settings};
use crate::app::{self, SemanticStore, TestApp, TestSettings};

const KEY: &str = "the key of Qdrant";

/// Collections with their points, by id.
#[derive(Default)]
struct Double {
    collections: BTreeMap<String, BTreeMap<String, Value>>,
    indexed: Vec<String>,
    /// Answers 503 while it is set.
    fails: bool,
    /// Method, path and status of each request.
    requests: Vec<String>,
}

type Shared = Arc<Mutex<Double>>;

impl Double {
    fn answer(&mut self, method: &Method, uri: &Uri, body: &Value) -> (StatusCode, Value) {
        if self.fails {
            return (StatusCode::SERVICE_UNAVAILABLE, json!({"status": {"error": "down"}}));
        }
        let path: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
        let ok = |result: Value| (StatusCode::OK, json!({"result": result, "status": "ok"}));
        if let ("GET", ["collections"]) = (method.as_str(), &path[..]) {
            let names: Vec<Value> = self.collections.keys().map(|name| json!({"name": name})).collect();
            return ok(json!({"collections": names}));
        }
        let ["collections", name, rest @ ..] = &path[..] else {
            return (StatusCode::BAD_REQUEST, Value::Null);
        };
        if let ("PUT", []) = (method.as_str(), rest) {
            assert_eq!(body["vectors"]["distance"], "Cosine", "{body}");
            assert!(name.ends_with(&format!("_{}", body["vectors"]["size"])), "{name}: {body}");
            self.collections.insert((*name).to_owned(), BTreeMap::new());
            return ok(json!(true));
        }
        let indexed = &mut self.indexed;
        let Some(points) = self.collections.get_mut(*name) else { return (StatusCode::NOT_FOUND, json!({})) };
        match (method.as_str(), rest) {
            ("GET", []) => ok(json!({"status": "green"})),
            ("PUT", ["index"]) => {
                indexed.push(body["field_name"].as_str().unwrap().to_owned());
                ok(json!({}))
            }
            ("PUT", ["points"]) => {
                for point in body["points"].as_array().unwrap() {
                    points.insert(point["id"].as_str().unwrap().to_owned(), point.clone());
                }
                ok(json!({}))
            }
            ("POST", ["points", "query"]) => {
                let conditions = body["filter"]["must"].as_array().unwrap();
                assert!(conditions.iter().any(|condition| condition["key"] == "partition"), "{body}");
                let mut found: Vec<Value> = points
                    .values()
                    .filter(|point| matches(point, &body["filter"]))
                    .map(|point| json!({"score": cosine(&point["vector"], &body["query"]), "payload": point["payload"]}))
                    .collect();
                found.sort_by(|a, b| b["score"].as_f64().unwrap().total_cmp(&a["score"].as_f64().unwrap()));
                ok(json!({"points": found}))
            }
            ("POST", ["points"]) => {
                let ids = body["ids"].as_array().unwrap().iter();
                ok(ids.filter_map(|id| points.get(id.as_str().unwrap()).cloned()).collect())
            }
            ("POST", ["points", "count"]) => {
                ok(json!({"count": points.values().filter(|point| matches(point, &body["filter"])).count()}))
            }
            ("POST", ["points", "payload"]) => {
                for point in points.values_mut().filter(|point| matches(point, &body["filter"])) {
                    for (key, value) in body["payload"].as_object().unwrap() {
                        point["payload"][key] = value.clone();
                    }
                }
                ok(json!({}))
            }
            ("POST", ["points", "delete"]) => {
                points.retain(|_, point| !matches(point, &body["filter"]));
                ok(json!({}))
            }
            _ => (StatusCode::BAD_REQUEST, Value::Null),
        }
    }
}

/// Whether a point fulfils all conditions of a filter.
fn matches(point: &Value, filter: &Value) -> bool {
    filter["must"].as_array().into_iter().flatten().all(|condition| {
        if let Some(ids) = condition.get("has_id") {
            return ids.as_array().unwrap().contains(&point["id"]);
        }
        let value = &point["payload"][condition["key"].as_str().unwrap()];
        if let Some(wanted) = condition.pointer("/match/value") {
            return value == wanted || value.as_array().is_some_and(|values| values.contains(wanted));
        }
        let (range, number) = (&condition["range"], value.as_i64().unwrap());
        range["gt"].as_i64().is_none_or(|bound| number > bound)
            && range["lte"].as_i64().is_none_or(|bound| number <= bound)
    })
}

fn cosine(one: &Value, other: &Value) -> f64 {
    let numbers = |vector: &Value| -> Vec<f64> {
        vector.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let (one, other) = (numbers(one), numbers(other));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

async fn handle(
    State(double): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, String) {
    if headers.get("api-key").is_none_or(|key| key != KEY) {
        return (StatusCode::FORBIDDEN, String::new());
    }
    let body = serde_json::from_str(&body).unwrap_or(Value::Null);
    let mut double = double.lock();
    let (status, answer) = double.answer(&method, &uri, &body);
    double.requests.push(format!("{method} {uri}: {status}"));
    (status, answer.to_string())
}

/// Runs a test on each database, with a double of its own.
async fn each(test: impl AsyncFn(TestApp, Shared)) {
    let bind = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    let bound = Mutex::new(None);
    let with_double = || {
        let listener = bind();
        let url = format!("http://{}", listener.local_addr().unwrap());
        *bound.lock() = Some(listener);
        let (api_key, collection) = (Some(Secret::new(KEY.to_owned())), "tests".to_owned());
        TestSettings {
            semantic_store: SemanticStore::Qdrant(QdrantConfig { url, api_key, collection }),
            ..settings(SemanticMode::Serve, 0.0)
        }
    };
    app::each_with(with_double, async |app| {
        let (listener, double) = (bound.lock().take().unwrap(), Shared::default());
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let router = Router::new().fallback(handle).with_state(double.clone());
        app.gateway.tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        test(app, double).await;
    })
    .await;
}

fn points(double: &Shared) -> usize {
    double.lock().collections.values().map(BTreeMap::len).sum()
}

/// Waits until there are this many points: they are added in the background.
async fn stored(double: &Shared, count: usize) {
    for _ in 0..2000 {
        if points(double) == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} points instead of {count}; requests: {:#?}", points(double), double.lock().requests);
}

#[tokio::test]
async fn similar_calls_are_answered_from_qdrant() {
    each(async |app, double| {
        let on_path =
            |path: &'static str, text: &str| ask(&app, text).header("x-gateway-user-path", path).send();
        let first = on_path("/a/b", QUESTION).await.expect_status(200);
        assert_eq!(cache_headers(&first), MISS);
        stored(&double, 1).await;
        assert_eq!(
            double.lock().indexed,
            ["partition", "embedder", "tenant_id", "paths", "model", "expires_at"]
        );
        let similar = on_path("/a/b", SIMILAR).await.expect_status(200);
        assert_eq!((cache_headers(&similar), &similar.body), (HIT, &first.body));
        // The lexical check and the isolation of callers are those of the gateway.
        let changed = on_path("/a/b", "Please convert 6 km to miles.").await.expect_status(200);
        assert_eq!(changed.header("x-cache-miss-reason"), Some("prompt_changed"));
        let elsewhere = on_path("/c", SIMILAR).await.expect_status(200);
        assert_eq!(elsewhere.header("x-cache-miss-reason"), Some("not_found"));
        stored(&double, 3).await;
        let purge = async |body: Value| {
            app.post("/admin/api/v1/cache/purge", body).send().await.expect_status(200).json()["purged"]
                .clone()
        };
        purge(json!({"user_path": "/a"})).await;
        // The entry of `/c` is removed, too, if its insertion had not ended before the purge.
        assert!(points(&double) <= 1, "{}", points(&double));
        app.clock.pass(Duration::from_secs(3601));
        app.gateway.semantic_cache.as_ref().unwrap().maintain_remote(app.gateway.clock.now()).await;
        stored(&double, 0).await;
    })
    .await;
}

#[tokio::test]
async fn calls_are_sent_while_qdrant_fails() {
    each(async |app, double| {
        double.lock().fails = true;
        let failed = ask(&app, QUESTION).send().await.expect_status(200);
        assert_eq!(
            (cache_headers(&failed), failed.header("x-cache-miss-reason")),
            (MISS, Some("store_failed"))
        );
        for number in 0..5 {
            ask(&app, &format!("Who wrote book number {number}?")).send().await.expect_status(200);
        }
        // It is not asked for a while after repeated failures.
        let before = double.lock().requests.len();
        let paused = ask(&app, "Who wrote Hamlet?").send().await.expect_status(200);
        assert_eq!(paused.header("x-cache-miss-reason"), Some("store_failed"));
        assert_eq!(double.lock().requests.len(), before);
        double.lock().fails = false;
        app.clock.pass(Duration::from_secs(11));
        let again = ask(&app, SIMILAR).send().await.expect_status(200);
        let reason = again.header("x-cache-miss-reason");
        assert!(matches!(reason, Some("not_found" | "below_threshold")), "{reason:?}");
        // The answer to the call before may have been stored late, too.
        for _ in 0..2000 {
            if points(&double) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nothing was stored");
    })
    .await;
}
