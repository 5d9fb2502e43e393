//! Tests of the vendor list's consistency and of model list parsing.

use std::collections::HashSet;

use super::*;

#[test]
fn names_are_unique_and_found() {
    let names: HashSet<&str> = list().iter().map(|vendor| vendor.name).collect();
    assert_eq!(names.len(), list().len());
    for vendor in list() {
        assert_eq!(find(vendor.name).unwrap().title, vendor.title);
        assert!(vendor.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", vendor.name);
    }
    assert!(find("nobody").is_none());
}

#[test]
fn every_vendor_can_be_reached_somehow() {
    for vendor in list() {
        let ways = [vendor.base_url.is_some(), vendor.base_url_required, vendor.answer.is_some()];
        assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{}", vendor.name);
        assert!(
            vendor.base_url.is_none_or(|url| url.starts_with("http") && !url.ends_with('/')),
            "{}",
            vendor.name
        );
        assert!(!vendor.key_required || vendor.credentials.takes_api_key(), "{}", vendor.name);
        // Vendors without model list and known models are configured by the operator, including the base URL.
        let told = vendor.base_url_required;
        assert!(vendor.discovery != Discovery::None || !vendor.models.is_empty() || told, "{}", vendor.name);
    }
}

#[test]
fn a_misspelt_name_is_guessed() {
    assert_eq!(nearest("opanai"), Some("openai"));
    assert_eq!(nearest("Olama"), Some("ollama"));
    assert_eq!(nearest("gorq"), Some("groq"));
    assert_eq!(nearest("kubernetes"), None);
}

#[test]
fn lists_are_asked_for_where_they_are() {
    let url = |name: &str, base: &str| find(name).unwrap().discovery.url(base);
    assert_eq!(url("openai", "https://a/v1/").as_deref(), Some("https://a/v1/models"));
    assert_eq!(
        url("ollama", "http://localhost:11434/v1").as_deref(),
        Some("http://localhost:11434/api/tags")
    );
    assert_eq!(url("demo", "http://x"), None);
}

#[test]
fn model_lists_are_read() {
    let openai = Discovery::OpenAiList { path: "/models" };
    let ids = |discovery, body: &str| -> Vec<String> {
        read_models(discovery, body.as_bytes()).unwrap().into_iter().map(|model| model.id).collect()
    };
    let body = r#"{"object":"list","data":[{"id":"gpt-4o","created":17,"owned_by":"system"},{"id":""},{}]}"#;
    let full = Discovered { id: "gpt-4o".into(), created: Some(17), owned_by: Some("system".into()) };
    assert_eq!(read_models(openai, body.as_bytes()).unwrap(), [full]);
    assert_eq!(ids(openai, r#"[{"id":"bare","created":0}]"#), ["bare"]);
    assert_eq!(ids(Discovery::OllamaTags, r#"{"models":[{"name":"llama3:8b","size":1}]}"#), ["llama3:8b"]);
    for body in ["<html>", "{}", r#"{"data":"none"}"#] {
        assert_eq!(
            read_models(openai, body.as_bytes()).unwrap_err().code.as_str(),
            "upstream_invalid_response"
        );
    }
}
