//! Merging into JSON files, which may contain comments and trailing commas.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

/// Sets the members of `members` in the document; objects are merged member by member, other values are replaced.
pub fn merge(existing: &str, members: &Value) -> Result<String, String> {
    let existing = if existing.trim().is_empty() { "{}\n" } else { existing };
    let root = CstRootNode::parse(existing, &ParseOptions::default())
        .map_err(|error| format!("is not JSON: {}", error.kind()))?;
    let Some(object) = root.object_value() else {
        return Err("is not a JSON object".to_owned());
    };
    set(&object, members);
    Ok(root.to_string())
}

fn set(object: &CstObject, members: &Value) {
    for (name, value) in members.as_object().into_iter().flatten() {
        match (object.get(name), value) {
            (_, Value::Object(_)) => set(&object.object_value_or_set(name), value),
            (Some(member), _) => member.set_value(input(value)),
            (None, _) => drop(object.append(name, input(value))),
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_members_and_comments_stay() {
        let existing =
            "{\n  // my theme\n  \"theme\": \"dark\",\n  \"env\": {\"OTHER\": \"1\", \"URL\": \"old\"},\n}\n";
        let merged = merge(existing, &json!({"env": {"URL": "new", "KEY": "k"}, "list": [1]})).unwrap();
        assert!(merged.contains("// my theme\n  \"theme\": \"dark\""), "{merged}");
        let root = CstRootNode::parse(&merged, &ParseOptions::default()).unwrap();
        let expected = json!({"theme": "dark", "env": {"OTHER": "1", "URL": "new", "KEY": "k"}, "list": [1]});
        assert_eq!(root.to_serde_value().unwrap(), expected, "{merged}");
    }

    #[test]
    fn an_empty_file_becomes_an_object_and_other_content_is_refused() {
        let merged = merge("", &json!({"a": {"b": true}})).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&merged).unwrap(), json!({"a": {"b": true}}), "{merged}");
        assert_eq!(merge("[1]", &json!({"a": 1})).unwrap_err(), "is not a JSON object");
        assert!(merge("{\"a\": ", &json!({"a": 1})).unwrap_err().starts_with("is not JSON"));
    }

    #[test]
    fn a_value_in_the_way_of_an_object_is_replaced() {
        let merged = merge("{\"a\": 1}", &json!({"a": {"b": 2}})).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&merged).unwrap(), json!({"a": {"b": 2}}), "{merged}");
    }
}
