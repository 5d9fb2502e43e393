//! Converts YAML to JSON: plain scalars have the type that they look like, and variables are expanded to text.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::expand::expand;
use super::fault::SettingsFault;
use super::yaml::{Content, Node};

/// Converts a node. Faults name the path of the value, which starts with `path`.
pub fn to_json(
    path: &str,
    node: Node,
    environment: &BTreeMap<String, String>,
) -> Result<Value, SettingsFault> {
    let Node { content, quoted, place } = node;
    Ok(match content {
        Content::Null => Value::Null,
        Content::Scalar(text) => {
            let expanded = expand(&text, environment)
                .map_err(|message| SettingsFault::new(path, message).at(Some(place)))?;
            // The value of a variable is text, also if it looks like a number.
            if quoted || expanded != text { Value::from(expanded) } else { plain(expanded) }
        }
        Content::List(items) => {
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, item)| to_json(&format!("{path}[{index}]"), item, environment));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Content::Map(entries) => {
            let mut members = Map::new();
            for entry in entries {
                let value = to_json(&format!("{path}.{}", entry.key), entry.value, environment)?;
                members.insert(entry.key, value);
            }
            Value::Object(members)
        }
    })
}

/// A scalar without quotes, by YAML's core schema.
fn plain(text: String) -> Value {
    match text.as_str() {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::from(number);
    }
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
    match text.parse::<f64>().ok().filter(|_| numeric).and_then(Number::from_f64) {
        Some(number) => Value::Number(number),
        None => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::yaml;
    use super::*;

    fn convert(text: &str) -> Result<Value, SettingsFault> {
        let environment = BTreeMap::from([("PIN".to_owned(), "1234".to_owned())]);
        to_json("file", yaml::parse(text).unwrap(), &environment)
    }

    #[test]
    fn scalars_have_the_type_they_look_like() {
        let text = "a: 1\nb: 1.5\nc: true\nd: 'true'\ne: ~\nf: v1.2\ng: ${PIN}\nh: \"12\"\ni: [x, 2]\nj: 2027-01-01T00:00:00Z\nk: -3e2\nl: 1-2\nm: $${PIN}\n";
        let expected = json!({
            "a": 1, "b": 1.5, "c": true, "d": "true", "e": null, "f": "v1.2", "g": "1234", "h": "12", "i": ["x", 2],
            "j": "2027-01-01T00:00:00Z", "k": -300.0, "l": "1-2", "m": "${PIN}",
        });
        assert_eq!(convert(text).unwrap(), expected);
    }

    #[test]
    fn a_variable_that_is_not_set_is_named_with_its_place() {
        let fault = convert("providers:\n  lab:\n    api_key: ${LAB_API_KEY}\n").unwrap_err();
        assert_eq!((&*fault.key, fault.place.unwrap().line), ("file.providers.lab.api_key", 3));
        assert!(fault.message.contains("needs the variable LAB_API_KEY, which is not set"), "{fault}");
    }
}
