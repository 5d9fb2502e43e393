//! Tests of `/admin/api/v1/openapi.json`: complete, valid, and equal to the generated document.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::app;

fn document() -> Value {
    server::published_document()
}

#[tokio::test]
async fn the_document_is_served_as_it_is_made() {
    app::each(async |app| {
        let answer = app.get("/admin/api/v1/openapi.json").send().await.expect_status(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(answer.json() == document(), "crates/server/openapi.json is stale, or is changed on its way");
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
            assert!(
                responses.keys().any(|status| status.starts_with(['1', '2', '3'])),
                "{place}: no success"
            );
            let described =
                |response: &Value| response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(responses.values().all(described), "{place}: a response without a description");
            assert!(
                operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{place}: no summary"
            );
            check_complete(&place, operation);
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{place}: {id} twice");
            let statuses: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
            let statuses: Vec<&str> = statuses.into_iter().collect();
            outline.push_str(&format!("{place}: {}\n", statuses.join(" ")));
        }
    }
    app::check_snapshot("openapi outline", &outline);
}

/// Every operation has a description with its scope, errors with a schema and an example, and an example of its body.
#[track_caller]
fn check_complete(place: &str, operation: &Value) {
    let description = operation["description"].as_str().unwrap_or_default();
    let responses = operation["responses"].as_object().unwrap();
    match operation["security"][0]["bearer"][0].as_str() {
        Some(scope) => {
            assert!(description.contains(&format!("`{scope}`")), "{place}: its description lacks the scope");
            for status in ["401", "403"] {
                assert!(responses.contains_key(status), "{place}: needs a key and does not say {status}");
            }
        }
        None => assert!(description.ends_with("Requires no credential."), "{place}: no description"),
    }
    let is_error = |status: &str| status.starts_with(['4', '5']) && status != "426";
    for (status, response) in responses.iter().filter(|(status, _)| is_error(status) && place != "GET /ready")
    {
        let content = &response["content"]["application/json"];
        assert!(content["schema"].is_object(), "{place}: {status} has no schema");
        assert!(content["example"].is_object(), "{place}: {status} has no example");
    }
    if operation.get("requestBody").is_some() {
        let content = &operation["requestBody"]["content"]["application/json"];
        assert!(content["example"].is_object(), "{place}: its body has no example");
    }
}

/// The examples of bodies are accepted by their routes.
#[tokio::test]
async fn examples_of_bodies_are_valid() {
    let settings = || app::TestSettings {
        policy: pipeline::policy::Policy {
            cache: pipeline::policy::CachePolicy { enabled: true, ..Default::default() },
            ..Default::default()
        },
        ..app::TestSettings::enterprise()
    };
    app::each_with(settings, async |app| {
        let document = document();
        for (path, item) in
            document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/admin/"))
        {
            for (method, operation) in item.as_object().unwrap() {
                let example = &operation["requestBody"]["content"]["application/json"]["example"];
                if example.is_null() {
                    continue;
                }
                let path = [("{user_path}", "%2Fteam%2Fa"), ("{period}", "daily"), ("{tool}", "codex")]
                    .iter()
                    .fold(path.clone(), |path, (name, value)| path.replace(name, value));
                let path = path
                    .replace("{selector}", "openai/gpt-4o")
                    .replace("{name}", "example")
                    .replace("{id}", "example");
                let answer = app
                    .call(method.to_uppercase().parse().unwrap(), path.clone())
                    .json(example.clone())
                    .send()
                    .await;
                // The caller is the master key, which is not rotated here.
                let is_known = answer.text().contains("budget_not_found") || path.ends_with("/me/rotate");
                assert!(answer.status != 400 || is_known, "{method} {path}: {}", answer.text());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn swagger_is_served_with_a_key_if_it_is_on() {
    app::each(async |app| {
        assert_eq!(app.get("/swagger/index.html").refusal().await.0, 404);
    })
    .await;
    let settings = || {
        let mut settings = app::TestSettings::default();
        settings.config.swagger_enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        assert_eq!(app.get("/swagger/index.html").anonymous().refusal().await.0, 401);
        let area = app.key_with(&["admin:usage:read"]).await;
        assert_eq!(app.get("/swagger/index.html").key(&area).send().await.status, 403);
        match server::has_dashboard() {
            true => check_swagger(&app).await,
            false => {
                let (status, code, ..) = app.get("/swagger/index.html").refusal().await;
                assert_eq!((status, &*code), (503, "feature_unavailable"));
            }
        }
    })
    .await;
}

/// The page and its files, of a build with the dashboard.
async fn check_swagger(app: &app::TestApp) {
    let page = app.get("/swagger/index.html").send().await.expect_status(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let text = page.text();
    for (name, media_type) in [
        ("swagger-ui.css", "text/css; charset=utf-8"),
        ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("swagger-initializer.js", "text/javascript; charset=utf-8"),
    ] {
        assert!(text.contains(&format!("=\"{name}\"")), "{text}");
        let path = format!("/swagger/{name}");
        let file = app.get(&path).send().await.expect_status(200);
        assert_eq!((file.header("content-type"), file.header("content-encoding")), (Some(media_type), None));
        assert!(file.text().contains("swagger"), "{name}");
        assert_eq!(app.get(&path).anonymous().refusal().await.0, 401);
    }
    let packed = app.get("/swagger/swagger-ui-bundle.js").header("accept-encoding", "gzip, br").send().await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let script = app.get("/swagger/swagger-initializer.js").send().await.text();
    assert!(script.contains("\"../admin/api/v1/openapi.json\""), "{script}");
    assert_eq!(app.get("/swagger/no-such-file.js").refusal().await.0, 404);
}

/// docs/api.md lists every operation; `UPDATE_DOCS=1` writes it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a switch of this test, not a setting")]
fn the_page_of_operations_is_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let written = api_page(&document());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page, &written).unwrap();
    }
    let found = std::fs::read_to_string(page).unwrap_or_default();
    assert!(found == written, "docs/api.md is stale: UPDATE_DOCS=1 cargo test -p server --test api openapi");
}

/// The document in the binary, from which the client of the dashboard is generated as well; `UPDATE_DOCS=1` writes it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a switch of this test, not a setting")]
fn the_document_in_the_binary_is_what_handlers_declare() {
    let copy = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let written = serde_json::to_string_pretty(&server::generated_document()).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(copy, &written).unwrap();
    }
    let found = std::fs::read_to_string(copy).unwrap_or_default();
    assert!(
        found == written,
        "crates/server/openapi.json is stale: UPDATE_DOCS=1 cargo test -p server --test api openapi, then npm run api in dashboard/"
    );
}

fn api_page(document: &Value) -> String {
    let mut page = "# API operations\n\nGenerated from the OpenAPI document, which a gateway serves at \
        `GET /admin/api/v1/openapi.json`. Errors are those of [Errors](errors.md).\n"
        .to_owned();
    let mut areas: std::collections::BTreeMap<&str, Vec<String>> = Default::default();
    let paths: std::collections::BTreeMap<_, _> = document["paths"].as_object().unwrap().iter().collect();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let tag = operation["tags"][0].as_str().unwrap();
            let scope = operation["security"][0]["bearer"][0]
                .as_str()
                .map_or("–".to_owned(), |scope| format!("`{scope}`"));
            let statuses: BTreeSet<&str> =
                operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
            let statuses: Vec<&str> = statuses.into_iter().collect();
            areas.entry(tag).or_default().push(format!(
                "| `{} {path}` | `{}` | {} | {scope} | {} |\n",
                method.to_uppercase(),
                operation["operationId"].as_str().unwrap(),
                operation["summary"].as_str().unwrap().trim_end_matches('.').replace('\n', " "),
                statuses.join(" ")
            ));
        }
    }
    for (tag, rows) in areas {
        page.push_str(&format!(
            "\n## {tag}\n\n| Operation | Id | | Scope | Statuses |\n|---|---|---|---|---|\n"
        ));
        page.extend(rows);
    }
    page
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
