//! Tests of matching calls with workflows.

use super::*;

fn workflows(scopes: &[&str]) -> Workflows {
    let mut versions = BTreeMap::new();
    let mut activations = BTreeMap::new();
    for key in scopes {
        let scope = WorkflowScope::from_key(key).unwrap();
        let version = Workflow { id: (*key).to_owned(), scope, ..Workflow::managed_default() };
        versions.insert(version.id.clone(), version);
        let active = Some((*key).to_owned());
        let activation = activation(key, active);
        activations.insert(activation.scope.clone(), activation);
    }
    link(&versions, &activations)
}

fn activation(scope: &str, active: Option<String>) -> WorkflowActivation {
    WorkflowActivation { scope: scope.to_owned(), versions: 1, active, guardrails: Vec::new() }
}

/// Links workflows where there are no guardrails.
fn link(
    versions: &BTreeMap<String, Workflow>,
    activations: &BTreeMap<String, WorkflowActivation>,
) -> Workflows {
    Workflows::link(versions, activations, &Guardrails::default(), |_, _| {})
}

#[test]
fn the_deepest_path_comes_first_then_the_most_exact_target() {
    // In the order in which they are found for this call; each is removed once it was found.
    let mut scopes = vec![
        "provider=openai model=gpt-4o path=/team/app",
        "provider=openai path=/team/app",
        "path=/team/app",
        "provider=openai model=gpt-4o path=/team",
        "path=/team",
        "provider=openai path=/",
        "provider=openai model=gpt-4o",
        "provider=openai",
        "global",
    ];
    let path = UserPath::parse("/team/app/user").unwrap();
    while !scopes.is_empty() {
        let workflows = workflows(&scopes);
        let found = workflows.find("openai", "gpt-4o", &path).unwrap();
        assert_eq!(found.id, scopes[0]);
        assert!(found.policies.is_some());
        scopes.remove(0);
    }
    assert!(workflows(&[]).find("openai", "gpt-4o", &path).is_none());
}

#[test]
fn scopes_of_other_calls_do_not_match() {
    let workflows = workflows(&[
        "provider=other",
        "provider=openai model=other",
        "path=/team/application",
        "provider=other path=/team",
    ]);
    assert!(workflows.find("openai", "gpt-4o", &UserPath::parse("/team/app").unwrap()).is_none());
}

#[test]
fn all_workflows_that_any_model_may_have_are_found() {
    let workflows = workflows(&[
        "provider=openai model=a path=/team",
        "provider=openai model=b",
        "provider=other model=a",
        "provider=openai",
        "global",
    ]);
    let ids = |path: &str| {
        let found = workflows.of_any_model("openai", &UserPath::parse(path).unwrap());
        found.into_iter().map(|workflow| workflow.id.clone()).collect::<Vec<String>>()
    };
    assert_eq!(
        ids("/team/app"),
        ["provider=openai model=a path=/team", "provider=openai model=b", "provider=openai"]
    );
    assert_eq!(ids("/"), ["provider=openai model=b", "provider=openai"]);
}

#[test]
fn a_version_that_does_not_compile_stays_in_force_without_policies() {
    let activations = [activation("global", Some("w_gone".into())), activation("provider=openai", None)];
    let activations = activations.map(|activation| (activation.scope.clone(), activation));
    let workflows = link(&BTreeMap::new(), &BTreeMap::from(activations));
    let found = workflows.find("openai", "gpt-4o", &UserPath::root()).unwrap();
    assert_eq!(found.id, "w_gone");
    assert!(found.policies.is_none());
}

#[test]
fn a_version_with_a_missing_guardrail_does_not_compile_and_is_reported() {
    let mut version = Workflow { id: "w_1".into(), ..Workflow::managed_default() };
    version.workflow_payload = serde_json::from_str(r#"{"guardrails": ["gone"]}"#).unwrap();
    let versions = BTreeMap::from([(version.id.clone(), version)]);
    let activations = BTreeMap::from([("global".to_owned(), activation("global", Some("w_1".into())))]);
    let mut reported = Vec::new();
    let workflows = Workflows::link(&versions, &activations, &Guardrails::default(), |version, missing| {
        reported.push((version.to_owned(), missing.to_owned()));
    });
    assert_eq!(reported, [("w_1".to_owned(), "gone".to_owned())]);
    assert!(workflows.find("openai", "gpt-4o", &UserPath::root()).unwrap().policies.is_none());
}
