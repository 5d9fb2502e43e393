//! Constraints of query and path parameters in the OpenAPI document: bounds, defaults, choices and forms.

use serde_json::{Value, json};

/// Adds the constraints of a parameter to its schema.
pub fn constrain(parameter: &mut Value, path: &str) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let description = parameter["description"].as_str().unwrap_or_default().to_owned();
    let is_integer = parameter["schema"]["type"] == "integer";
    let constraints = match is_integer {
        true => bounds(&name, &description),
        false => form(&name, path).or_else(|| choices(&name, &description)),
    };
    let Some(schema) = parameter["schema"].as_object_mut() else { return };
    schema.extend(constraints.as_ref().and_then(Value::as_object).cloned().unwrap_or_default());
}

/// The bounds of a number as its description has them: `1 to 200, default 50`.
fn bounds(name: &str, description: &str) -> Option<Value> {
    if name == "status_code" {
        return Some(json!({"minimum": 100, "maximum": 599}));
    }
    let number = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<i64>().ok();
    let words: Vec<&str> = description.split_whitespace().collect();
    let range = words.windows(3).find_map(|three| match three {
        [low, "to", high] => Some((number(low)?, number(high)?)),
        _ => None,
    });
    let default = words.windows(2).find_map(|two| match two {
        [word, value] if word.eq_ignore_ascii_case("default") => number(value),
        _ => None,
    });
    let mut constraints = json!({"minimum": range.map_or(0, |(low, _)| low)});
    if let Some((_, high)) = range {
        constraints["maximum"] = high.into();
    }
    if let Some(default) = default {
        constraints["default"] = default.into();
    }
    Some(constraints)
}

/// The form of a text that is not one of a few words.
fn form(name: &str, path: &str) -> Option<Value> {
    Some(match name {
        "start_date" | "end_date" => json!({"format": "date"}),
        "user_path" | "scope_user_path" => {
            // Segments separated by `/`, without `:` and control characters, and none of `.` and `..`.
            const SEGMENTS: &str =
                r"^/(?:[^/:.\u0000-\u001f\u007f-\u009f][^/:\u0000-\u001f\u007f-\u009f]*/?)*$";
            json!({"pattern": SEGMENTS, "maxLength": 500, "examples": ["/team/a"]})
        }
        "period" => json!({"pattern": "^(hourly|daily|weekly|monthly|[1-9][0-9]{2,7})$"}),
        "log_id" => json!({"minLength": 1}),
        "group_by" if path.ends_with("/breakdown") => json!({
            "pattern": "^(user_path|model|provider|auth_key|day)$",
            "default": "model",
        }),
        _ => return None,
    })
}

/// Parameters whose description lists all of their values.
const WITH_CHOICES: [&str; 12] = [
    "cache_mode",
    "category",
    "event",
    "format",
    "group_by",
    "interval",
    "metric",
    "order",
    "scope_type",
    "sort",
    "source",
    "status",
];

/// The values of a parameter as its description lists them: `daily (default), weekly, monthly or yearly`.
fn choices(name: &str, description: &str) -> Option<Value> {
    if !WITH_CHOICES.contains(&name) {
        return None;
    }
    let list = without_remarks(description);
    let list = list.split([';', '.']).next().unwrap_or_default();
    let list = list.strip_prefix("Only ").unwrap_or(list).replace(" or ", ", ");
    let mut values = Vec::new();
    let mut default = None;
    for item in list.split(", ") {
        let Some(word) = item.split_whitespace().next() else { continue };
        let is_value = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if !is_value {
            return None;
        }
        if item.ends_with(DEFAULT) {
            default = Some(word.to_owned());
        }
        values.push(word.to_owned());
    }
    let mut constraints = json!({"enum": values});
    if let Some(default) = default {
        constraints["default"] = default.into();
    }
    Some(constraints)
}

/// Stands for the remark that a value is the default.
const DEFAULT: char = '*';

/// A description without what is in parentheses.
fn without_remarks(description: &str) -> String {
    let mut text = String::new();
    let mut rest = description;
    while let Some((before, remark)) = rest.split_once('(') {
        let (remark, after) = remark.split_once(')').unwrap_or((remark, ""));
        text.push_str(before);
        if remark.starts_with("default") {
            text.push(DEFAULT);
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, kind: &str, description: &str, expected: Value) {
        let mut parameter = json!({"name": name, "description": description, "schema": {"type": kind}});
        constrain(&mut parameter, "/admin/api/v1/usage/daily");
        let mut wanted = json!({"type": kind});
        wanted.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        assert_eq!(parameter["schema"], wanted, "{description}");
    }

    #[test]
    fn constraints_follow_the_description() {
        check(
            "limit",
            "integer",
            "1 to 200, default 50",
            json!({"minimum": 1, "maximum": 200, "default": 50}),
        );
        check("limit", "integer", "1 to 100; all items without it", json!({"minimum": 1, "maximum": 100}));
        check("offset", "integer", "Default 0", json!({"minimum": 0, "default": 0}));
        check("before", "integer", "Only revisions below this one", json!({"minimum": 0}));
        let modes = json!({"enum": ["uncached", "cached", "all"], "default": "uncached"});
        check("cache_mode", "string", "uncached (default), cached or all", modes);
        let formats = json!({"enum": ["csv", "jsonl"], "default": "csv"});
        check("format", "string", "csv (default, without headers and bodies) or jsonl", formats);
        check("model", "string", "Only this model", json!({}));
        check("end_date", "string", "YYYY-MM-DD, inclusive", json!({"format": "date"}));
    }
}
