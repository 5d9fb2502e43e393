//! Merging into TOML files.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

/// Sets the members of `members` in the document; tables are merged member by member, other values are replaced.
pub fn merge(existing: &str, members: &Value) -> Result<String, String> {
    let mut document: DocumentMut = existing
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("is not TOML: {}", error.message()))?;
    set(document.as_table_mut(), members);
    Ok(document.to_string())
}

fn set(table: &mut dyn TableLike, members: &Value) {
    for (name, value) in members.as_object().into_iter().flatten() {
        if value.is_object() {
            let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
            if item.as_table_like().is_none() {
                *item = Item::Table(Table::new());
            }
            if let Some(nested) = item.as_table_like_mut() {
                set(nested, value);
                hide_empty_header(item);
            }
        } else if let Some(value) = scalar(value) {
            match table.get_mut(name).and_then(Item::as_value_mut) {
                // Replaced in place, so that a comment behind the old value stays.
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = value;
                    *old.decor_mut() = decor;
                }
                None => drop(table.insert(name, Item::Value(value))),
            }
        }
    }
}

/// A table that only contains tables needs no header of its own.
fn hide_empty_header(item: &mut Item) {
    if let Some(table) = item.as_table_mut() {
        let has_only_tables = !table.is_empty() && table.iter().all(|(_, item)| item.is_table());
        table.set_implicit(has_only_tables);
    }
}

fn scalar(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(value) => Some((*value).into()),
        Value::Number(number) => number.as_i64().map(Into::into).or_else(|| number.as_f64().map(Into::into)),
        Value::String(text) => Some(text.as_str().into()),
        Value::Array(items) => Some(items.iter().filter_map(scalar).collect::<Array>().into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_tables_and_comments_stay() {
        let existing = "# mine\nmodel = \"old\" # chosen\n\n[mcp_servers.x]\ncommand = \"run\"\n";
        let members = json!({"model": "new", "model_provider": "gatehouse", "model_providers": {"gatehouse": {"name": "G"}}});
        let merged = merge(existing, &members).unwrap();
        let expected = "# mine\nmodel = \"new\" # chosen\nmodel_provider = \"gatehouse\"\n\n[mcp_servers.x]\n\
                        command = \"run\"\n\n[model_providers.gatehouse]\nname = \"G\"\n";
        assert_eq!(merged, expected);
        assert_eq!(merge(&merged, &members).unwrap(), merged, "a second merge changes nothing");
    }

    #[test]
    fn inline_tables_are_extended_and_other_text_is_refused() {
        let merged = merge("a = { b = 1 }\n", &json!({"a": {"c": true}})).unwrap();
        assert_eq!(merged, "a = { b = 1 , c = true }\n");
        assert!(merge("a = [", &json!({})).unwrap_err().starts_with("is not TOML"));
    }
}
