//! Tests of the choice of texts and of the answers that replace them.

use domain::canon::{Part, Role};
use domain::resources::guardrail::TextRole;
use serde_json::Value;

use super::*;

fn config() -> AlteringConfig {
    AlteringConfig {
        model: "rewriter".to_owned(),
        prompt: "Remove names.".to_owned(),
        roles: vec![TextRole::User, TextRole::Tool],
        skip_content_prefix: "[public]".to_owned(),
        max_tokens: 50,
    }
}

fn text(role: Role, text: &str) -> RemoteText {
    RemoteText { role, text: text.to_owned(), is_json: false, is_signed: false }
}

#[test]
fn texts_of_other_roles_or_with_the_prefix_are_left_alone() {
    for (role, content, expected) in [
        (Role::User, "Ann", true),
        (Role::Tool, "Ann", true),
        (Role::System, "Ann", false),
        (Role::Assistant, "Ann", false),
        (Role::User, "[public] Ann", false),
        (Role::User, " [public] Ann", true),
        (Role::User, " \n", false),
    ] {
        assert_eq!(is_altered(&config(), &text(role, content)), expected, "{role:?} {content}");
    }
    assert!(!is_altered(&config(), &RemoteText { is_signed: true, ..text(Role::User, "Ann") }));
    let all = AlteringConfig { roles: Vec::new(), skip_content_prefix: String::new(), ..config() };
    assert!(is_altered(&all, &text(Role::System, "[public]")), "all roles, and no prefix");
}

#[test]
fn more_texts_than_the_limit_are_a_failure() {
    assert_eq!(too_many(MOST_TEXTS), None);
    assert!(too_many(MOST_TEXTS + 1).unwrap().contains("201 texts"));
}

#[test]
fn the_request_has_the_prompt_and_the_text() {
    let body: Value =
        serde_json::from_slice(&request_body(&config(), &text(Role::User, "I am \"Ann\"."))).unwrap();
    let messages = json!([
        {"role": "system", "content": "Remove names."}, {"role": "user", "content": "I am \"Ann\"."},
    ]);
    assert_eq!(body, json!({"model": "rewriter", "messages": messages, "max_tokens": 50}));
    let of_json = RemoteText { is_json: true, ..text(Role::Tool, "{}") };
    let body: Value = serde_json::from_slice(&request_body(&config(), &of_json)).unwrap();
    let instructions = body["messages"][0]["content"].as_str().unwrap();
    assert!(instructions.starts_with("Remove names.") && instructions.contains("JSON"), "{instructions}");
}

#[test]
fn only_complete_answers_replace_a_text() {
    let reply = |stop, contents: Vec<Content>| Reply {
        parts: contents.into_iter().map(Part::from).collect(),
        stop,
        ..Reply::default()
    };
    let word = |text: &str| Content::Text(text.to_owned());
    let read = |reply: Reply| answered_text(&reply, 50);
    assert_eq!(read(reply(StopReason::EndTurn, vec![word("I am "), word("X.")])).unwrap(), "I am X.");
    assert!(read(reply(StopReason::MaxTokens, vec![word("I am")])).unwrap_err().contains("max_tokens (50)"));
    for incomplete in [
        reply(StopReason::EndTurn, Vec::new()),
        reply(StopReason::Refusal, vec![word("No.")]),
        reply(StopReason::EndTurn, vec![Content::Refusal("No.".to_owned())]),
        reply(StopReason::ContentFilter, vec![word("I")]),
        reply(StopReason::ToolCalls, vec![word("I")]),
    ] {
        assert!(read(incomplete.clone()).is_err(), "{incomplete:?}");
    }
}
