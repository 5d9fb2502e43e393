//! Requests to webhooks, and their responses.

use super::*;

fn texts() -> Vec<RemoteText> {
    let text = |role, text: &str| RemoteText { role, text: text.into(), is_json: false, is_signed: false };
    vec![text(Role::System, "Be brief."), text(Role::User, "My name is Ann.")]
}

#[test]
fn a_request_has_the_texts_with_their_roles() {
    let facts = WebhookFacts { subject: GuardedSubject::Request, request_id: "r1", user_path: "/a" };
    let body = request_body("names", facts, &texts()).unwrap();
    let expected = r#"{"guardrail":"names","subject":"request","request_id":"r1","user_path":"/a","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"My name is Ann."}]}"#;
    assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
}

#[test]
fn only_complete_responses_are_verdicts() {
    let read = |body: &str| verdict(body.as_bytes(), &texts());
    assert!(matches!(read(r#"{"action":"allow"}"#), Ok(RemoteVerdict::Allow)));
    assert!(matches!(read(r#"{"action":"block","reason":"names"}"#), Ok(RemoteVerdict::Block)));
    let replaced = r#"{"action":"replace","messages":[{"content":"Be brief."},{"content":"My name is X."}]}"#;
    let Ok(RemoteVerdict::Replace(changes)) = read(replaced) else { panic!("{replaced}") };
    assert_eq!(changes, [None, Some("My name is X.".to_owned())], "only what differs");
    for wrong in [
        "",
        "{}",
        r#"{"action":"pass"}"#,
        r#"{"action":"replace"}"#,
        r#"{"action":"replace","messages":[{"content":"one"}]}"#,
        r#"{"action":"replace","messages":[{"content":"one"},{"content":2}]}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
