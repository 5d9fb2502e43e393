//! Tests of paths, queries, access lists and error bodies, without network.

use domain::access::AccessLists;
use domain::call::{Format, Surface};
use http::Method;
use proptest::prelude::*;

use super::admit::lists_models;
use super::endpoint::{self, Endpoint};
use super::error_response;
use crate::services::audit::Scrubber;

fn path(raw: &str, base: &str) -> Result<String, String> {
    match Endpoint::parse(raw, base, None, true) {
        Ok(endpoint) => Ok(endpoint.path_and_query),
        Err(fault) => {
            assert_eq!((fault.status, fault.param.as_deref()), (400, Some("endpoint")), "{fault}");
            Err(fault.message)
        }
    }
}

#[test]
fn a_leading_version_is_dropped_once() {
    for (raw, base, expected) in [
        ("v1/models", "/v1", "/models"),
        ("v1%2Fmodels", "/v1", "/models"),
        ("v1%2fchat%2Fcompletions", "/v1", "/chat/completions"),
        ("models", "/v1", "/models"),
        ("v1/v1/models", "/v1", "/v1/models"),
        ("v1beta/models/gemini-2.5-pro:generateContent", "/v1beta", "/models/gemini-2.5-pro:generateContent"),
        ("v1/models", "/v1beta", "/models"),
        ("v1/models", "", "/models"),
        ("v1", "/v1", "/v1"),
        ("v1alpha/x", "/v1beta", "/v1alpha/x"),
        ("files/", "/v1", "/files/"),
        ("files/a%20b%3Fc%23d%C3%A9", "/v1", "/files/a%20b%3Fc%23d%C3%A9"),
        ("a..b/...", "/v1", "/a..b/..."),
    ] {
        assert_eq!(path(raw, base).as_deref(), Ok(expected), "{raw} below {base}");
    }
    let kept = Endpoint::parse("v1/models", "/v1", None, false).unwrap();
    assert_eq!(kept.path_and_query, "/v1/models");
}

#[test]
fn path_traversal_is_refused() {
    for raw in [
        "..",
        "../admin",
        "v1/../../admin",
        "a/./b",
        "%2e%2e/admin",
        "%2E%2E%2Fadmin",
        "a%2f..%2f..%2fb",
        "..%5cadmin",
        "a\\b",
        "..;x/admin",
        "%252e%252e%252fadmin",
        "a%255cb",
        "//evil.example/x",
        "%2Fevil",
        "https://evil.example/x",
        "https%3A%2F%2Fevil.example%2Fx",
        "a//b",
        "a/;x/b",
        "a%00b",
        "a%0d%0aHost:%20evil",
        "a%7Fb",
        "a%zz",
        "a%2",
        "a%ff",
        "",
    ] {
        assert!(path(raw, "/v1").is_err(), "{raw}");
        assert!(path(raw, "").is_err(), "{raw}");
    }
}

proptest! {
    #[test]
    fn a_path_that_is_accepted_stays_below_its_base(
        pieces in proptest::collection::vec(prop_oneof![
            Just("..".to_owned()), Just(".".to_owned()), Just("/".to_owned()), Just("%2e".to_owned()),
            Just("%2F".to_owned()), Just("%5c".to_owned()), Just("%25".to_owned()), Just("v1".to_owned()),
            Just(";".to_owned()), Just(":".to_owned()), "[a-z%?#@ ]{1,3}",
        ], 0..12),
    ) {
        let raw = pieces.concat();
        if let Ok(endpoint) = Endpoint::parse(&raw, "/base/v1", None, true) {
            let path = endpoint.path_and_query;
            prop_assert!(path.starts_with('/') && !path.starts_with("//"), "{}", path);
            prop_assert!(!path.contains(['?', '#', ' ', '\\']), "{}", path);
            prop_assert!(path.split('/').all(|segment| segment != "." && segment != ".."), "{}", path);
            prop_assert!(http::uri::PathAndQuery::try_from(path.as_str()).is_ok(), "{}", path);
        }
    }
}

#[test]
fn models_and_inference_are_seen_in_the_path() {
    for (raw, model, inference) in [
        ("v1/chat/completions", None, true),
        ("responses", None, true),
        ("messages/count_tokens", None, false),
        ("models/gemini-2.5-pro:streamGenerateContent", Some("gemini-2.5-pro"), true),
        ("models/gemini-2.5-pro:countTokens", Some("gemini-2.5-pro"), false),
        ("models/llama3:8b", Some("llama3:8b"), false),
        ("openai/deployments/my-gpt/chat/completions", Some("my-gpt"), true),
        ("models", None, false),
        ("files/models", None, false),
        ("tunedModels/my-g:generateContent", Some("my-g"), true),
        ("projects/p/locations/l/endpoints/42:streamGenerateContent", Some("42"), true),
        ("projects/p/locations/l/endpoints/openapi/chat/completions", None, true),
        ("Models/Gemini:GENERATECONTENT", Some("Gemini"), true),
        ("Chat/Completions;v=1", None, true),
    ] {
        let endpoint = Endpoint::parse(raw, "/v1", None, true).unwrap();
        assert_eq!(
            (endpoint.model.as_deref(), endpoint.purpose(&Method::POST).infers),
            (model, inference),
            "{raw}"
        );
    }
}

#[test]
fn shapes_are_known_by_the_endpoint() {
    let chat = Some(Surface::Converse(Format::Chat));
    let gemini = Some(Surface::Converse(Format::Gemini));
    for (raw, expected) in [
        ("v1/chat/completions", chat),
        ("openai/deployments/gpt-4o/chat/completions", chat),
        ("v1/chat/completions/", chat),
        ("v1/completions", Some(Surface::Completions)),
        ("v1/responses", Some(Surface::Converse(Format::Responses))),
        ("v1/responses/resp_1", None),
        ("v1/messages", Some(Surface::Converse(Format::Messages))),
        ("v1/messages/count_tokens", None),
        ("v1/threads/thread_1/messages", None),
        ("v1beta/models/g:generateContent", gemini),
        ("v1beta/models/g:streamGenerateContent", gemini),
        ("v1beta/models/g:batchEmbedContents", Some(Surface::EmbedContent { batch: true })),
        ("v1/embeddings", Some(Surface::Embeddings)),
        ("v1/files", None),
        ("v1/CHAT/Completions", chat),
        ("v1/chat;a=b/completions;c", chat),
        ("v1beta/tunedModels/g:generateContent", gemini),
        ("projects/p/endpoints/1:streamgeneratecontent", gemini),
    ] {
        assert_eq!(Endpoint::parse(raw, "/v1", None, true).unwrap().surface, expected, "{raw}");
    }
}

#[test]
fn endpoints_of_stored_answers_are_known() {
    for (raw, expected) in [
        ("v1/responses/resp_1", true),
        ("responses/resp_1/input_items", true),
        ("openai/v1/responses/resp_1", true),
        ("chat/completions/chatcmpl-1", true),
        ("chat/completions", true),
        ("conversations/conv_1/items", true),
        ("conversations/conv_1", false),
        ("responses/input_tokens", false),
        ("responses", false),
        ("models", false),
        ("files/file-1", false),
    ] {
        let endpoint = Endpoint::parse(raw, "/v1", None, true).unwrap();
        assert_eq!(endpoint.reads_answers_back(&Method::GET), expected, "{raw}");
        assert!(!endpoint.reads_answers_back(&Method::DELETE), "{raw}");
    }
    let created = Endpoint::parse("chat/completions", "/v1", None, true).unwrap();
    assert!(!created.reads_answers_back(&Method::POST));
}

#[test]
fn the_query_passes_without_the_credential() {
    for (query, version, expected) in [
        (None, None, None),
        (Some("alt=sse&key=secret"), None, Some("alt=sse")),
        (Some("k%65y=secret"), None, None),
        (Some("token=secret&a=%20b&&c"), None, Some("a=%20b&c")),
        (Some("keys=1"), None, Some("keys=1")),
        (Some("limit=5"), Some("2024-10-21"), Some("limit=5&api-version=2024-10-21")),
        (Some("api-version=2025-01-01"), Some("2024-10-21"), Some("api-version=2025-01-01")),
    ] {
        assert_eq!(endpoint::query(query, "secret", version).as_deref(), expected, "{query:?}");
    }
}

#[test]
fn a_list_lists_models_unless_it_lets_all_pass() {
    let lists = |allowed: Option<&[&str]>, denied: &[&str]| AccessLists {
        allowed_providers: None,
        allowed_models: allowed.map(|list| list.iter().map(|entry| (*entry).to_owned()).collect()),
        denied_models: denied.iter().map(|entry| (*entry).to_owned()).collect(),
    };
    assert!(!lists_models(&lists(None, &[])));
    assert!(!lists_models(&lists(Some(&["*"]), &[])));
    assert!(lists_models(&lists(Some(&[]), &[])));
    assert!(lists_models(&lists(Some(&["gpt-*"]), &[])));
    assert!(lists_models(&lists(Some(&["*"]), &["gpt-4o"])));
}

#[test]
fn error_answers_of_other_shapes_are_wrapped() {
    let scrubber = Scrubber::new(["sk-secret"]);
    let read =
        |status: u16, body: &str| error_response::read(status, body.to_owned().into(), "openai", &scrubber);
    for object in [r#"{"error":{"message":"no"}}"#, r#"{"type":"error","error":{"type":"x"}}"#] {
        assert_eq!(read(400, object).unwrap(), object);
    }
    for (body, message) in [
        (r#"{"error":"not allowed"}"#, "not allowed"),
        (r#"{"detail":"Unauthorized"}"#, "Unauthorized"),
        (r#"[{"error":{"code":400,"message":"API key not valid"}}]"#, "API key not valid"),
        (r#"{"message":"bad key sk-secret"}"#, "bad key *********"),
        ("<html>401</html>", "The provider 'openai' answered 401 without saying why."),
        ("", "The provider 'openai' answered 401 without saying why."),
    ] {
        let fault = read(401, body).unwrap_err();
        assert_eq!(
            (fault.status, fault.code.as_str(), &*fault.message),
            (401, "upstream_auth_failed", message)
        );
    }
    assert_eq!(
        read(400, r#"{"error":{"message":"sk-secret"}}"#).unwrap(),
        r#"{"error":{"message":"*********"}}"#
    );
}
