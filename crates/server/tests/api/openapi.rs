//! Tests of `/admin/api/v1/openapi.json`: complete, valid, and equal to the generated document.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::app;

fn document() -> Value {
    serde_json::to_value(server::document()).unwrap()
}

#[tokio::test]
async fn the_document_is_served_as_it_is_made() {
    app::each(async |app| {
        let answer = app.get("/admin/api/v1/openapi.json").send().await.expect_status(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json(), document());
    })
    .await;
}

#[test]
fn every_operation_documents_its_answers() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut outline = String::new();
    let mut ids = BTreeSet::new();
    let paths: std::collections::BTreeMap<_, _> = document["paths"].as_object().unwrap().iter().collect();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{} {path}", method.to_uppercase());
            let responses =
                operation["responses"].as_object().unwrap_or_else(|| panic!("{place}: no responses"));
            assert!(responses.keys().any(|status| status.starts_with(['1', '2'])), "{place}: no success");
            let described =
                |response: &Value| response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(responses.values().all(described), "{place}: a response without a description");
            assert!(
                operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{place}: no summary"
            );
            if operation.get("security").is_some() {
                assert!(responses.contains_key("401"), "{place}: needs a key and does not say 401");
            }
            let id = operation["operationId"].as_str().unwrap();
            assert!(
                ids.insert((operation["tags"][0].as_str().unwrap().to_owned(), id.to_owned())),
                "{place}: {id} twice"
            );
            let statuses: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
            let statuses: Vec<&str> = statuses.into_iter().collect();
            outline.push_str(&format!("{place}: {}\n", statuses.join(" ")));
        }
    }
    app::check_snapshot("openapi outline", &outline);
}

/// A reference to nothing breaks every client generator.
#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads outside"));
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[test]
fn every_parameter_in_a_path_is_described() {
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        let named: BTreeSet<&str> =
            path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
            let inside = parameters.iter().filter(|parameter| parameter["in"] == "path");
            let described: BTreeSet<&str> =
                inside.filter_map(|parameter| parameter["name"].as_str()).collect();
            assert_eq!(described, named, "{method} {path}");
        }
    }
}

fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| collect(field, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}
