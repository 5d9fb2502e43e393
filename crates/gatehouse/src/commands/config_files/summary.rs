//! The text that shows a plan.

use std::fmt::Write as _;

use serde_json::Value;

/// One block per document, with the members that differ, then the errors, the replay and the totals.
pub fn text(plan: &Value) -> String {
    let mut text = String::new();
    for change in list(&plan["changes"]) {
        add_change(change, &mut text);
    }
    for error in list(&plan["errors"]) {
        let field = error["field"].as_str().map(|field| format!(", {field}")).unwrap_or_default();
        let (kind, name, message) = (word(&error["kind"]), named(error), word(&error["message"]));
        let _ = writeln!(text, "! {kind} {name}{field}: {message}");
    }
    add_replay(&plan["replay"], &mut text);
    let count = |action: &str| list(&plan["changes"]).filter(|change| change["action"] == action).count();
    let (created, updated, deleted) = (count("create"), count("update"), count("delete"));
    let (unchanged, revision) = (&plan["unchanged"], &plan["revision"]);
    let _ = writeln!(
        text,
        "{created} to create, {updated} to update, {deleted} to delete, {unchanged} unchanged (revision {revision})."
    );
    text
}

fn add_change(change: &Value, text: &mut String) {
    let action = word(&change["action"]);
    let sign = match action {
        "create" => '+',
        "delete" => '-',
        _ => '~',
    };
    let _ = writeln!(text, "{sign} {} {}", word(&change["kind"]), named(change));
    if action == "delete" {
        return;
    }
    for field in list(&change["fields"]) {
        let (name, before, after) = (word(&field["field"]), &field["before"], &field["after"]);
        let _ = match (before.is_null(), after.is_null()) {
            (true, _) => writeln!(text, "    {name}: {after}"),
            (false, true) => writeln!(text, "    {name}: {before} -> removed"),
            (false, false) => writeln!(text, "    {name}: {before} -> {after}"),
        };
    }
}

fn add_replay(replay: &Value, text: &mut String) {
    if replay.is_null() {
        return;
    }
    let (differing, replayed) = (&replay["differing"], &replay["replayed"]);
    let _ = writeln!(text, "{differing} of {replayed} replayed calls would be handled in another way.");
    for call in list(&replay["calls"]) {
        let changed: Vec<&str> = list(&call["changed"]).map(word).collect();
        let (id, model, path) =
            (word(&call["request_id"]), word(&call["requested_model"]), word(&call["user_path"]));
        let _ = writeln!(text, "  {id} {model} {path}: {}", changed.join(", "));
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The name of a document, with the tenant that it belongs to.
fn named(entry: &Value) -> String {
    match entry["tenant_id"].as_str() {
        Some(tenant) => format!("{} of the tenant {tenant}", word(&entry["name"])),
        None => word(&entry["name"]).to_owned(),
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
