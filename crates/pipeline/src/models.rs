//! The public model list: what this caller may use, by the names a request's `model` takes.

use domain::access::Verdict;
use domain::caller::Caller;
use domain::fault::Fault;
use serde_json::{Value, json};

use crate::resolve;
use crate::snapshot::Snapshot;
use crate::snapshot::routes::Lane;

pub fn list(snapshot: &Snapshot, caller: &Caller) -> Value {
    let data: Vec<Value> = snapshot
        .routes
        .lanes()
        .filter(|lane| may_use(caller, lane))
        .map(|lane| entry(&lane.target.selector(), lane))
        .collect();
    json!({"object": "list", "data": data})
}

/// The same list in the shape Anthropic's clients read.
pub fn list_for_anthropic(snapshot: &Snapshot, caller: &Caller) -> Value {
    let lanes = snapshot.routes.lanes().filter(|lane| may_use(caller, lane));
    let data: Vec<Value> = lanes
        .map(|lane| {
            let created = jiff::Timestamp::from_second(lane.created.unwrap_or(0)).unwrap_or_default();
            let id = lane.target.selector();
            json!({"type": "model", "id": id, "display_name": id, "created_at": created.to_string()})
        })
        .collect();
    let id = |entry: Option<&Value>| entry.map(|entry| entry["id"].clone());
    json!({"first_id": id(data.first()), "last_id": id(data.last()), "has_more": false, "data": data})
}

/// Takes anything a request's `model` takes.
pub fn retrieve(snapshot: &Snapshot, caller: &Caller, id: &str) -> Result<Value, Fault> {
    let lanes = resolve::candidates(&snapshot.routes, id, None)?;
    let lane = lanes.iter().find(|lane| may_use(caller, lane));
    // What a caller may not use does not exist for it.
    let lane = lane.ok_or_else(|| domain::fault::model_not_found(id, &[]))?;
    Ok(entry(id, lane))
}

fn may_use(caller: &Caller, lane: &Lane) -> bool {
    caller.key().is_none_or(|key| lane.judge(&key.lists) == Verdict::Allowed)
}

fn entry(id: &str, lane: &Lane) -> Value {
    let owner = lane.owned_by.as_deref().unwrap_or(&lane.target.provider_type);
    json!({"id": id, "object": "model", "created": lane.created.unwrap_or(0), "owned_by": owner})
}
