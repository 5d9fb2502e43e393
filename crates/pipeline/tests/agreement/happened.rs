//! Explains a call, and makes it.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;
use domain::principal::Principal;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use pipeline::explain::{ExplanationRequest, explain};
use pipeline::services::console::{Console, Entry};
use serde_json::Value;

use crate::calls::Call;
use crate::world::{KEY_ID, World};

/// The outcome of a call.
pub struct Happened {
    pub fault: Option<Fault>,
    pub headers: HeaderMap,
    /// Selectors of the targets that were tried, in order.
    pub tried: Vec<String>,
    /// The number of attempts in the call's receipt.
    pub attempts: u64,
}

/// The explanation as the admin API returns it. Asserts that it has no effect.
pub async fn explained(world: &World, call: &Call) -> Value {
    let gateway = &world.gateway;
    let snapshot = gateway.snapshot();
    let principal = match call.by_master {
        true => Principal::Master,
        false => Principal::Key(snapshot.keys.by_id(KEY_ID).unwrap().clone()),
    };
    let question = ExplanationRequest {
        arrival: call.arrival(),
        body: call.body.clone(),
        principal,
        asker: Principal::Master,
        is_replay: false,
    };
    let before = gateway.console.last_id();
    let in_flight = gateway.metrics.in_flight.get();
    let explanation = explain(gateway, &snapshot, question).await.unwrap();
    assert_eq!(gateway.console.last_id(), before, "an explanation was noted");
    assert_eq!(gateway.metrics.in_flight.get(), in_flight, "an explanation was counted");
    serde_json::to_value(&explanation).unwrap()
}

pub async fn made(world: &World, call: &Call) -> Happened {
    let console = &world.gateway.console;
    let before = console.last_id();
    let body = Full::new(call.body.clone());
    let (fault, headers) = match pipeline::run(&world.gateway, call.arrival(), body).await {
        Ok(reply) => {
            reply.body.collect().await.unwrap();
            (None, reply.headers)
        }
        Err(refused) => (Some(refused.fault), refused.headers),
    };
    let (mut tried, mut attempts) = (Vec::new(), None);
    for event in settled(console, before).await {
        let told: Value = serde_json::from_str(event.json()).unwrap();
        match event.name() {
            "fallback" => tried.push(told["from"].as_str().unwrap().to_owned()),
            "request" => {
                attempts = told["attempts"].as_u64();
                let (instance, model) = (told["provider_name"].as_str(), told["model"].as_str());
                let last = format!("{}/{}", instance.unwrap(), model.unwrap());
                // An answer from the cache names the target that it once came from.
                if last != "/" && attempts != Some(0) && tried.last() != Some(&last) {
                    tried.push(last);
                }
            }
            _ => {}
        }
    }
    // Its answer is added to the semantic cache in the background.
    while !world.gateway.tasks.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Happened { fault, headers, tried, attempts: attempts.unwrap() }
}

/// The console events of the call once it is settled: the cost of a lost response may have to be estimated first.
async fn settled(console: &Console, before: u64) -> Vec<Arc<Entry>> {
    loop {
        let events = console.read_all(before).events;
        if events.iter().any(|event| event.name() == "request") {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
