//! Members whose names differ from known ones in their capitals, and objects whose members the client names.

use super::*;

#[test]
fn objects_with_members_of_the_clients_choice_are_inspected_as_a_whole() {
    let tool =
        r#"{"messages":[{"role":"tool","content":[{"Text":"a","Type":"b"},{"type":"text","text":"c"}]}]}"#;
    let documents = r#"{"query":"a","documents":[{"Text":"b"},{"title":"c"}]}"#;
    check_request(CHAT, tool, &[r#"Tool Json {"Text":"a","Type":"b"}"#, r#"Tool Text "c""#]);
    let expected = [r#"User Text "a""#, r#"User Json {"Text":"b"}"#, r#"User Json {"title":"c"}"#];
    check_request(Surface::Rerank, documents, &expected);
    for (surface, body) in [(CHAT, tool), (Surface::Rerank, documents)] {
        let object = json::scan(body.as_bytes()).unwrap();
        assert_eq!(request_texts(surface, body.as_bytes(), &object).case_variant, None, "{body}");
    }
}

#[test]
fn members_that_differ_in_capitals_are_reported() {
    let variant = |surface: Surface, body: &str| {
        let object = json::scan(body.as_bytes()).unwrap();
        request_texts(surface, body.as_bytes(), &object).case_variant
    };
    for (surface, body, expected) in [
        (CHAT, r#"{"messages":[],"Messages":[{"role":"user","content":"a"}]}"#, Some("Messages")),
        (CHAT, r#"{"Messages":[{"role":"user","content":"a"}]}"#, Some("Messages")),
        (CHAT, r#"{"messages":[],"\u004dessages":[]}"#, Some("Messages")),
        (CHAT, r#"{"messages":[],"meſſages":[]}"#, Some("meſſages")),
        (CHAT, r#"{"messages":[{"role":"user","content":"a","CONTENT":"b"}]}"#, Some("CONTENT")),
        (
            CHAT,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","Text":"b"}]}]}"#,
            Some("Text"),
        ),
        (GEMINI, r#"{"contents":[{"parts":[{"text":"a"}],"Parts":[{"text":"b"}]}]}"#, Some("Parts")),
        (CHAT, r#"{"messages":[{"role":"user","content":"Messages"}],"User":"x"}"#, None),
        // Members of schemas and arguments belong to the client.
        (CHAT, r#"{"messages":[],"tools":[{"function":{"parameters":{"Content":{},"content":{}}}}]}"#, None),
        (GEMINI, r#"{"contents":[{"parts":[{"functionCall":{"args":{"Text":"a","text":"b"}}}]}]}"#, None),
    ] {
        assert_eq!(variant(surface, body).as_deref(), expected, "{body}");
    }
}
