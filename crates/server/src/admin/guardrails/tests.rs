//! Tests that the form schemas of guardrails describe the settings that are accepted.

use std::collections::{BTreeMap, BTreeSet};

use domain::fault::Fault;
use domain::resources::Resource as _;
use domain::resources::guardrail::{Guardrail, GuardrailConfig, GuardrailType};
use pipeline::guardrails::CompiledGuardrail;
use serde_json::{Value, json};

use super::{config_schema, draft, settings, types};

fn parse(guardrail_type: GuardrailType, config: &Value) -> Result<GuardrailConfig, Fault> {
    draft::parse_config(guardrail_type, config.as_object().unwrap().clone())
}

/// The settings that have no default.
fn required(guardrail_type: GuardrailType) -> Value {
    match guardrail_type {
        GuardrailType::SystemPrompt => json!({"content": "Be brief."}),
        GuardrailType::RegexBlock => json!({"patterns": ["secret"]}),
        GuardrailType::LlmBasedAltering => json!({"model": "openai/gpt-4.1", "prompt": "Remove names."}),
        GuardrailType::Webhook => json!({"url": "https://reviewer.example.com/"}),
        GuardrailType::PiiRedact | GuardrailType::PromptInjection | GuardrailType::LengthLimit => json!({}),
    }
}

#[test]
fn schemas_have_the_fields_of_the_settings_and_their_defaults() {
    for guardrail_type in GuardrailType::ALL {
        let schema = config_schema::of(guardrail_type);
        let required = required(guardrail_type);
        let read = settings(&parse(guardrail_type, &required).unwrap(), &BTreeMap::new());
        let properties = schema["properties"].as_object().unwrap();
        let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&schema["properties"]), names(&read), "{guardrail_type:?}");
        let listed: Vec<&str> =
            schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(listed, required.as_object().unwrap().keys().collect::<Vec<_>>(), "{guardrail_type:?}");
        for (name, property) in properties {
            let default = (!listed.contains(&name.as_str())).then(|| &read[name]);
            assert_eq!(property.get("default"), default, "{guardrail_type:?} {name}");
            let text = |member: &str| property[member].as_str().is_some_and(|text| !text.is_empty());
            assert!(text("title") && text("description"), "{guardrail_type:?} {name}");
        }
        assert_eq!(schema["additionalProperties"], false);
    }
}

#[test]
fn settings_are_refused_by_their_path() {
    for guardrail_type in GuardrailType::ALL {
        let mut config = required(guardrail_type);
        config["no_such_setting"] = json!(1);
        let fault = parse(guardrail_type, &config).unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("config.no_such_setting"), "{fault}");
    }
    for (guardrail_type, config, param) in [
        (GuardrailType::RegexBlock, json!({}), "config.patterns"),
        (GuardrailType::RegexBlock, json!({"patterns": ["a", 1]}), "config.patterns[1]"),
        (GuardrailType::SystemPrompt, json!({"content": "x", "mode": "prepend"}), "config.mode"),
        (GuardrailType::PiiRedact, json!({"roles": ["robot"]}), "config.roles[0]"),
        (GuardrailType::LengthLimit, json!({"max_chars": -1}), "config.max_chars"),
    ] {
        let fault = parse(guardrail_type, &config).unwrap_err();
        assert_eq!(fault.param.as_deref(), Some(param), "{fault}");
    }
}

/// Each choice that a schema offers, in settings that are otherwise valid.
fn choices(guardrail_type: GuardrailType) -> Vec<Value> {
    let schema = config_schema::of(guardrail_type);
    let mut configs = vec![required(guardrail_type)];
    for (name, property) in schema["properties"].as_object().unwrap() {
        let listed = |values: &Value| values.as_array().cloned().unwrap_or_default();
        let of_items = listed(&property["items"]["enum"]).into_iter().map(|value| json!([value]));
        for value in listed(&property["enum"]).into_iter().chain(of_items) {
            let mut config = required(guardrail_type);
            config[name] = value;
            configs.push(config);
        }
    }
    configs
}

#[test]
fn every_choice_of_a_schema_compiles() {
    for guardrail_type in GuardrailType::ALL {
        for mut config in choices(guardrail_type) {
            if guardrail_type == GuardrailType::LengthLimit {
                config["max_chars"] = json!(100);
            }
            for direction in types::directions(guardrail_type) {
                let document = json!({
                    "name": "test", "type": guardrail_type, "config": config, "direction": direction,
                });
                let guardrail: Guardrail = serde_json::from_value(document).unwrap();
                guardrail.validate().unwrap();
                let compiled = CompiledGuardrail::compile(guardrail);
                assert!(compiled.is_ok(), "{guardrail_type:?} {config}");
            }
        }
    }
}
