//! Tests of all tools: the list, complete descriptions, and the rendered configurations as snapshots.

use std::collections::BTreeMap;

use domain::secret::Secret;

use super::*;
use crate::connection::Connection;

const KEY: &str = "gh-secret-key-0001";

#[test]
fn the_served_tools_are_those_of_the_contract() {
    let ids: Vec<&str> = SERVED.iter().map(|tool| tool.id).collect();
    let expected = [
        "claude-code",
        "codex",
        "opencode",
        "openclaw",
        "cursor",
        "cline",
        "kilo",
        "roo",
        "continue",
        "amp",
        "qwen",
        "deepseek-tui",
        "jcode",
        "generic",
    ];
    assert_eq!(ids, expected);
    let appliable: Vec<&str> = SERVED.iter().filter(|tool| tool.can_apply).map(|tool| tool.id).collect();
    assert_eq!(appliable, ["claude-code", "codex", "opencode", "qwen"]);
    assert!(find("gemini-cli").is_some_and(|tool| tool.can_apply));
    assert!(find("no-such-tool").is_none());
}

fn full(tool: &Tool) -> Connection {
    let overrides: BTreeMap<String, String> =
        tool.override_names().iter().map(|name| ((*name).to_owned(), format!("my-{name}"))).collect();
    let connection = Connection::new("https://ai.example.com/", Secret::new(KEY)).unwrap();
    let connection = connection.with_model(Some("team/big".into())).unwrap();
    let connection = connection.with_overrides(overrides, &tool.override_names()).unwrap();
    connection.with_models(vec!["team/big".into(), "small".into()]).unwrap()
}

#[test]
fn rendered_configurations() {
    let mut text = String::new();
    for tool in all() {
        let connection = full(tool).masked();
        let configuration = tool.configure(&connection);
        text.push_str(&format!("=== {}\n", tool.id));
        for (path, language, content) in crate::preview_files(tool, &connection) {
            text.push_str(&format!("--- {path} ({language})\n{}\n", content.trim_end()));
        }
        configuration.env.iter().for_each(|(name, value)| text.push_str(&format!("{name}={value}\n")));
        configuration.commands.iter().for_each(|command| text.push_str(&format!("$ {command}\n")));
        assert!(!text.contains(KEY), "{}: the key is not masked", tool.id);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_tool_carries_address_and_key() {
    for tool in all() {
        let connection = full(tool);
        let configuration = tool.configure(&connection);
        let files: String = crate::preview_files(tool, &connection).into_iter().map(|file| file.2).collect();
        let everything = format!("{files}{:?}{:?}", configuration.env, configuration.commands);
        assert!(everything.contains("https://ai.example.com"), "{}", tool.id);
        assert!(everything.contains(KEY), "{}", tool.id);
        let model = tool.model_fields.is_empty() || tool.id == "generic" || everything.contains("team/big");
        assert!(model, "{}", tool.id);
        let places: Vec<_> = configuration.files.iter().map(|file| file.place).collect();
        let written = places.iter().filter(|_| !tool.places.is_empty());
        assert!(written.eq(tool.places.iter()), "{}: {places:?}", tool.id);
        // Without models, too.
        let bare = Connection::new("http://h", Secret::new("k-1")).unwrap();
        tool.configure(&bare);
    }
}
