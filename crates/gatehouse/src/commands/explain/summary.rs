//! The summary of an explanation: one labelled line or list for each part that the call would reach.

use std::fmt::Write as _;

use serde_json::Value;

use crate::commands::keys::printable;

const LABEL_WIDTH: usize = 12;

/// Formats an explanation, as the admin API returns it.
pub fn text(explanation: &Value) -> String {
    let parts = [
        ("Caller", caller(&explanation["principal"])),
        ("Request", request(&explanation["request"])),
        ("Resolution", resolution(&explanation["resolution"])),
        ("Workflow", workflow(explanation)),
        ("Guardrails", guardrails(&explanation["guardrails"])),
        ("Cache", cache(&explanation["cache"])),
        ("Limits", each(&explanation["limits"], limit)),
        ("Budgets", budgets(explanation)),
        ("Candidates", each(&explanation["candidates"], candidate)),
        ("Cost", cost(&explanation["estimated_cost"])),
        ("Decision", decision(explanation)),
    ];
    let mut text = String::new();
    for (label, lines) in parts {
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let _ = writeln!(text, "{label:<LABEL_WIDTH$}{}", printable(line));
        }
    }
    text
}

/// The lines of a list.
fn each(list: &Value, line: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(line).collect()
}

fn word<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member].as_str().unwrap_or_default()
}

/// The texts of a list, separated by commas.
fn joined(list: &Value) -> String {
    let texts: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    texts.join(", ")
}

fn dollars(amount: &Value) -> Option<String> {
    let text = format!("{:.9}", amount.as_f64()?);
    // Two decimals at least, and none that are zero beyond them.
    let (whole, decimals) = text.split_once('.')?;
    Some(format!("${whole}.{:0<2}", decimals.trim_end_matches('0')))
}

fn caller(principal: &Value) -> Vec<String> {
    let name = match principal["auth_key_id"].as_str() {
        Some(id) => format!("key {id} ({})", word(principal, "name")),
        None => "master key".to_owned(),
    };
    let mut line = format!("{name}, user path {}", word(principal, "user_path"));
    line += &format!(", scopes {}", joined(&principal["scopes"]));
    if let Some(pool) = principal["provider_pool"].as_str() {
        line += &format!(", bound to the pool {pool}");
    }
    if let Some(reason) = principal["reason"].as_str() {
        line += &format!(", refused: {reason}");
    }
    vec![line]
}

fn request(request: &Value) -> Vec<String> {
    if request.is_null() {
        return Vec::new();
    }
    let mut line =
        format!("POST {}, model {}", word(request, "path"), request["model"].as_str().unwrap_or("none"));
    line += if request["stream"] == true { ", streamed" } else { ", not streamed" };
    line += &format!(", about {} input tokens", request["input_tokens_estimate"]);
    vec![line, format!("id {}, the seed of random choices", word(request, "request_id"))]
}

fn resolution(resolution: &Value) -> Vec<String> {
    let mut lines =
        each(&resolution["steps"], |step| format!("{}: {}", word(step, "step"), word(step, "detail")));
    lines.extend(error(&resolution["error"]));
    lines
}

/// The workflow, once the call has targets. Without one, the managed default applies.
fn workflow(explanation: &Value) -> Vec<String> {
    let workflow = &explanation["workflow"];
    let resolution = &explanation["resolution"];
    match workflow["id"].as_str() {
        Some(id) => {
            let features = workflow["effective_features"].as_object();
            let off = features.into_iter().flatten().filter(|(_, is_on)| **is_on == false);
            let off: Vec<&str> = off.map(|(name, _)| name.as_str()).collect();
            let off = if off.is_empty() { String::new() } else { format!(", off: {}", off.join(", ")) };
            vec![format!("{id}{off}")]
        }
        None if resolution.is_null() || !resolution["error"].is_null() => Vec::new(),
        None => vec!["managed default".to_owned()],
    }
}

fn guardrails(guardrails: &Value) -> Vec<String> {
    let mut lines = each(&guardrails["request"], |verdict| {
        let mut line = format!("{}: {}", word(verdict, "name"), word(verdict, "verdict"));
        if verdict["mode"] == "monitor" {
            line += " (monitored, without effect)";
        }
        let kinds = verdict["kinds"].as_object().into_iter().flatten();
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
        if !kinds.is_empty() {
            line += &format!(", found {}", kinds.join(", "));
        }
        line
    });
    for (member, title) in [("answer", "on the answer"), ("record", "on the audit log")] {
        let names = joined(&guardrails[member]);
        if !names.is_empty() {
            lines.push(format!("{title}: {names}"));
        }
    }
    lines
}

fn cache(cache: &Value) -> Vec<String> {
    let Some(status) = cache["status"].as_str() else { return Vec::new() };
    match cache["miss_reason"].as_str() {
        Some(reason) => vec![format!("{status} ({reason})")],
        None => vec![status.to_owned()],
    }
}

fn limit(limit: &Value) -> String {
    let refuses = if limit["refuses"] == true { ", refuses the call" } else { "" };
    format!(
        "{}: {} of {} left, more in {} s{refuses}",
        word(limit, "scope"),
        limit["remaining"],
        limit["limit"],
        limit["reset_seconds"]
    )
}

fn budgets(explanation: &Value) -> Vec<String> {
    let mut lines = each(&explanation["budgets"], |budget| {
        let amount = match (dollars(&budget["remaining"]), dollars(&budget["amount"])) {
            (Some(remaining), Some(amount)) => format!("{remaining} of {amount} left"),
            _ => "amount not visible to this key".to_owned(),
        };
        let fits = if budget["fits"] == true { "the call fits" } else { "the call does not fit" };
        format!("{} {}: {amount}, {fits}", word(budget, "user_path"), word(budget, "period_label"))
    });
    let clamped = &explanation["max_tokens_clamped"];
    if !clamped.is_null() {
        lines.push(format!("output bound lowered from {} to {}", clamped["asked"], clamped["used"]));
    }
    if let Some(selector) = explanation["downgraded_to"].as_str() {
        lines.push(format!("downgraded to {selector}"));
    }
    lines
}

fn candidate(candidate: &Value) -> String {
    let mut line = format!(
        "{}. {}: {}, {}",
        candidate["position"],
        word(candidate, "selector"),
        word(candidate, "availability"),
        word(candidate, "reason")
    );
    if let Some(milliseconds) = candidate["retry_in_ms"].as_u64() {
        line += &format!(", available in {milliseconds} ms");
    }
    if let Some(dialect) = candidate["dialect"].as_str() {
        line += &format!(", {dialect}");
    }
    line +=
        &dollars(&candidate["estimated_cost"]).map_or(", no price".to_owned(), |cost| format!(", {cost}"));
    let dropped = joined(&candidate["dropped"]);
    if !dropped.is_empty() {
        line += &format!(", without {dropped}");
    }
    match error(&candidate["error"]) {
        Some(error) => format!("{line}, {error}"),
        None => line,
    }
}

fn cost(cost: &Value) -> Vec<String> {
    if cost.is_null() {
        return Vec::new();
    }
    let worst = dollars(&cost["worst"]).map_or("no price".to_owned(), |worst| format!("at most {worst}"));
    vec![format!(
        "{worst}, for {} input and up to {} output tokens",
        cost["input_tokens"], cost["max_output_tokens"]
    )]
}

/// The targets of the call, or the error that it would get.
fn decision(explanation: &Value) -> Vec<String> {
    let decision = &explanation["decision"];
    if let Some(error) = error(&decision["error"]) {
        return vec![error];
    }
    if explanation["cache"]["status"].as_str().is_some_and(|status| status.starts_with("hit-")) {
        return vec!["answered from the cache".to_owned()];
    }
    let targets = decision["would_try"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let targets: Vec<&str> = targets.collect();
    match targets.split_first() {
        None => Vec::new(),
        Some((first, [])) => vec![format!("sent to {first}")],
        Some((first, rest)) => vec![format!("sent to {first}, then to {}", rest.join(", then to "))],
    }
}

/// An error as one line: status, code and message.
fn error(error: &Value) -> Option<String> {
    let (status, code) = (error["status"].as_u64()?, word(error, "code"));
    Some(format!("refused with {status} {code}: {}", word(error, "message")))
}
