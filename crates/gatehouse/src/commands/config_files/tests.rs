//! Tests of the files: reading and writing directories, and the text of a plan.

use std::collections::BTreeMap;

use super::*;

fn variables() -> BTreeMap<String, String> {
    BTreeMap::from([("LAB_API_KEY".to_owned(), "sk-1".to_owned())])
}

fn files(contents: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in contents {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

fn faults(contents: &[(&str, &str)]) -> Vec<String> {
    let directory = files(contents);
    let found = directory::read(directory.path(), &variables()).unwrap_err();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn sections_of_several_files_are_merged_and_variables_expanded() {
    let directory = files(&[
        ("providers.yaml", "providers:\n  lab: {type: vllm, api_key: '${LAB_API_KEY}', priority: 2}\n"),
        ("aliases/fast.yml", "aliases:\n  fast: {target: lab/m}\n"),
        ("aliases/slow.yml", "aliases:\n  slow: {target: lab/n}\n"),
        ("empty.yaml", "# nothing yet\n"),
        ("notes.txt", "not YAML: ["),
        (".hidden.yaml", "aliases: {x: {target: y}}\n"),
    ]);
    let read = directory::read(directory.path(), &variables()).unwrap();
    let expected = json!({
        "aliases": {"fast": {"target": "lab/m"}, "slow": {"target": "lab/n"}},
        "providers": {"lab": {"type": "vllm", "api_key": "sk-1", "priority": 2}},
    });
    assert_eq!(Value::Object(read), expected);
}

#[test]
fn faults_name_file_line_and_variable() {
    let found = faults(&[
        ("a.yaml", "providers:\n  lab:\n    api_key: ${NOT_SET}\n"),
        ("b.yaml", "aliases: {fast: {target: x}}\n"),
        ("c.yaml", "aliases: {fast: {target: y}}\n"),
        ("d.yaml", "aliases: 5\n"),
    ]);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[0].contains("a.yaml:3:") && found[0].contains("the variable NOT_SET, which is not set"),
        "{found:#?}"
    );
    assert!(found[1].contains("aliases.fast is also in") && found[1].contains("b.yaml"), "{found:#?}");
    assert!(found[2].contains("aliases must hold documents by name"), "{found:#?}");
    assert!(faults(&[("readme.md", "")])[0].contains("has no files that end in .yaml"));
}

#[test]
fn written_files_are_read_back_the_same() {
    let directory = files(&[("pools.yaml", "pools: {old: {members: [a]}}\n")]);
    let sections = json!({
        "guardrails": {"prompt": {"type": "system_prompt", "config": {"content": "Line one\n  Line: two\n\n'three' # \"x\"\n", "mode": "inject"}}},
        "budgets": {"/team|daily": {"amount": 2.5, "per_run": false}},
        "auth_keys": {"ci": {"name": "yes", "digest": "00".repeat(32), "expires_at": "2027-01-01T00:00:00.000Z", "scopes": []}},
        "aliases": {"a:b": {"target": "x/1.0", "description": "- not a list, 007, null, ~, ${LAB_API_KEY}".replace("${", "$${")}},
    });
    let sections: Map<String, Value> = serde_json::from_value(sections).unwrap();
    let written = directory::write(directory.path(), &sections).unwrap();
    assert_eq!(written.len(), 4);
    assert!(!directory.path().join("pools.yaml").exists(), "a section without documents has no file");
    let read = directory::read(directory.path(), &variables()).unwrap();
    let mut expected = Value::Object(sections);
    expected["aliases"]["a:b"]["description"] = json!("- not a list, 007, null, ~, ${LAB_API_KEY}");
    assert_eq!(Value::Object(read), expected);
}

#[test]
fn a_plan_is_shown_as_a_diff() {
    let plan = json!({
        "revision": 7, "unchanged": 3,
        "changes": [
            {"kind": "alias", "name": "fast", "action": "create", "fields": [{"field": "target", "before": null, "after": "lab/m"}]},
            {"kind": "provider", "name": "lab", "action": "update", "fields": [
                {"field": "api_key", "before": "***", "after": "***"}, {"field": "priority", "before": 1, "after": null}]},
            {"kind": "pool", "name": "old", "action": "delete", "fields": [{"field": "members", "before": ["a"], "after": null}]},
        ],
        "errors": [{"kind": "combo", "name": "c", "field": "selectors[0]", "code": "invalid_parameter", "message": "'x' leads nowhere."}],
        "replay": {"differing": 1, "replayed": 2, "calls": [
            {"request_id": "r1", "requested_model": "fast", "user_path": "/team", "changed": ["route", "cost"]}]},
    });
    let expected = "\
+ alias fast
    target: \"lab/m\"
~ provider lab
    api_key: \"***\" -> \"***\"
    priority: 1 -> removed
- pool old
! combo c, selectors[0]: 'x' leads nowhere.
1 of 2 replayed calls would be handled in another way.
  r1 fast /team: route, cost
1 to create, 1 to update, 1 to delete, 3 unchanged (revision 7).
";
    assert_eq!(summary::text(&plan), expected);
    assert!(without_errors(&plan).unwrap_err().starts_with("1 document"));
}

#[test]
fn changes_need_a_confirmation() {
    assert!(confirm(&mut "yes\n".as_bytes()).is_ok());
    for other in ["", "y\n", "no\n"] {
        assert!(confirm(&mut other.as_bytes()).is_err(), "{other:?}");
    }
}

#[test]
fn the_schema_has_every_setting() {
    let schema = schema_value();
    let settings = schema["properties"]["settings"]["properties"].as_object().unwrap();
    assert!(TABLE.iter().all(|setting| settings.contains_key(setting.path)));
}
