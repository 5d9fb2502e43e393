//! Additions to the OpenAPI document in two steps: unique operation ids and constraints when it is generated; descriptions
//! with scopes, the errors that every route can answer with, and examples when it is published.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{errors, parameters, request_examples, request_schemas, sample};

/// Adds what types and checks of requests depend on.
pub fn constrain(document: &mut Value) {
    errors::add_schemas(document);
    let repeated = repeated_ids(document);
    for_each_operation(document, |operation, path, _| {
        name(operation, &repeated);
        constrain_request(operation, path);
    });
}

/// Adds what follows from the declared operations, and examples.
pub fn complete(document: &mut Value) {
    let components = document["components"]["schemas"].clone();
    for_each_operation(document, |operation, path, method| {
        describe(operation);
        errors::add(operation, path);
        add_request_example(operation, &format!("{} {path}", method.to_uppercase()));
        add_response_examples(operation, &components);
    });
}

/// Calls a function with each operation, its path and its method in lower case.
fn for_each_operation(document: &mut Value, mut act: impl FnMut(&mut Value, &str, &str)) {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            act(operation, path, method);
        }
    }
}

/// The operation ids that several operations have.
fn repeated_ids(document: &Value) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for item in document["paths"].as_object().into_iter().flat_map(Map::values) {
        for operation in item.as_object().into_iter().flat_map(Map::values) {
            *counts.entry(operation["operationId"].as_str().unwrap_or_default()).or_default() += 1;
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(id, _)| id.to_owned()).collect()
}

/// Adds the tag to an operation id that is not unique: `list` of `aliases` becomes `list_aliases`.
fn name(operation: &mut Value, repeated: &[String]) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    if repeated.iter().any(|other| other == id) {
        let tag = operation["tags"][0].as_str().unwrap_or_default().replace('-', "_");
        operation["operationId"] = format!("{id}_{tag}").into();
    }
}

/// Adds the required scope to the description; the summary is the description of operations without one.
fn describe(operation: &mut Value) {
    let own = operation["description"].as_str().or_else(|| operation["summary"].as_str());
    let own = own.unwrap_or_default().to_owned();
    let scope = operation["security"][0]["bearer"][0].as_str();
    let access = match scope {
        Some(scope) => format!("Requires the scope `{scope}`."),
        None => "Requires no credential.".to_owned(),
    };
    operation["description"] = format!("{own}\n\n{access}").into();
}

/// Adds the constraints of parameters, and the schema of a body that its handler declares as any JSON.
fn constrain_request(operation: &mut Value, path: &str) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        parameters::constrain(parameter, path);
    }
    if let Some(content) = operation.pointer_mut("/requestBody/content/application~1json")
        && let Some(schema) = request_schemas::find(path)
    {
        content["schema"] = schema;
    }
}

fn add_request_example(operation: &mut Value, place: &str) {
    let Some(content) = operation.pointer_mut("/requestBody/content/application~1json") else { return };
    if let Some(example) = request_examples::find(place) {
        content["example"] = example;
    }
}

/// Adds an example of each documented answer, made from its schema.
fn add_response_examples(operation: &mut Value, components: &Value) {
    for response in operation["responses"].as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
        let Some(content) = response.pointer_mut("/content/application~1json") else { continue };
        if content.get("example").is_none() && content.get("schema").is_some() {
            content["example"] = sample::of(&content["schema"], components);
        }
    }
}
