//! The public model list: the models this caller may use, by the names that a request's `model` accepts.

use std::sync::Arc;

use domain::fault::Fault;
use domain::model::Mode;
use serde_json::{Value, json};

use crate::routing::resolve;
use crate::routing::resolve::access::Access;
use crate::routing::routes::Deployment;

/// A listed name and a target it resolves to.
struct Entry {
    id: String,
    deployment: Arc<Deployment>,
    /// The name is an alias, combo or pool of the operator, not a provider's model name.
    coined: bool,
}

/// Lists models in OpenAI's format. With `names_only`, only aliases, combos and pools are listed.
pub fn list(access: &Access<'_>, names_only: bool) -> Value {
    let data: Vec<Value> = entries(access, names_only).iter().map(Entry::for_openai).collect();
    json!({"object": "list", "data": data})
}

/// Lists models in Anthropic's format.
pub fn list_for_anthropic(access: &Access<'_>, names_only: bool) -> Value {
    let data: Vec<Value> = entries(access, names_only).iter().map(Entry::for_anthropic).collect();
    let id = |entry: Option<&Value>| entry.map(|entry| entry["id"].clone());
    json!({"first_id": id(data.first()), "last_id": id(data.last()), "has_more": false, "data": data})
}

/// Lists models in Gemini's format, without pagination.
pub fn list_for_google(access: &Access<'_>, names_only: bool) -> Vec<Value> {
    entries(access, names_only).iter().map(Entry::for_google).collect()
}

/// Finds a model by any name that a request's `model` accepts.
pub fn retrieve(access: &Access<'_>, id: &str) -> Result<Value, Fault> {
    Ok(entry(access, id)?.for_openai())
}

pub fn retrieve_for_google(access: &Access<'_>, id: &str) -> Result<Value, Fault> {
    Ok(entry(access, id)?.for_google())
}

fn entry(access: &Access<'_>, id: &str) -> Result<Entry, Fault> {
    let deployments = resolve::candidates(access.routes, id);
    // Models that the caller may not use are reported as not found.
    let called = access.called(id);
    let deployment = deployments.into_iter().find(|deployment| called.permits(deployment));
    let deployment = deployment.ok_or_else(|| resolve::not_found(access, id))?;
    let coined = access.routes.names.holds(id);
    Ok(Entry { id: id.to_owned(), deployment, coined })
}

fn entries(access: &Access<'_>, names_only: bool) -> Vec<Entry> {
    let routes = access.routes;
    let mut entries = Vec::new();
    if !names_only {
        let deployments = routes.deployments().filter(|deployment| access.permits(deployment));
        entries.extend(deployments.map(|deployment| Entry {
            id: deployment.target.selector(),
            deployment: deployment.clone(),
            coined: false,
        }));
    }
    for name in routes.names.all() {
        let called = access.called(name);
        if let Some(deployment) =
            resolve::candidates(routes, name).into_iter().find(|deployment| called.permits(deployment))
        {
            entries.push(Entry { id: name.to_owned(), deployment, coined: true });
        }
    }
    // An alias may have the same name as a model; it is listed once.
    let mut seen = std::collections::HashSet::new();
    entries.retain(|entry| seen.insert(entry.id.clone()));
    entries
}

impl Entry {
    fn for_openai(&self) -> Value {
        let owner = match self.coined {
            true => "gatehouse",
            false => self.deployment.owned_by.as_deref().unwrap_or(&self.deployment.target.provider_type),
        };
        json!({"id": self.id, "object": "model", "created": self.deployment.created.unwrap_or(0), "owned_by": owner})
    }

    fn for_google(&self) -> Value {
        let methods: &[&str] = match self.deployment.mode() {
            Mode::Embedding => &["embedContent", "batchEmbedContents"],
            Mode::Chat | Mode::Completion | Mode::Other => {
                &["generateContent", "streamGenerateContent", "countTokens"]
            }
            _ => &[],
        };
        let facts = self.deployment.facts.as_ref();
        let mut model = json!({
            "name": format!("models/{}", self.id), "baseModelId": &*self.deployment.target.model, "version": "",
            "displayName": self.id, "supportedGenerationMethods": methods,
        });
        for (name, limit) in [
            ("inputTokenLimit", facts.and_then(|facts| facts.context_window)),
            ("outputTokenLimit", facts.and_then(|facts| facts.max_output_tokens)),
        ] {
            if let Some(limit) = limit {
                model[name] = limit.into();
            }
        }
        model
    }

    fn for_anthropic(&self) -> Value {
        let created = jiff::Timestamp::from_second(self.deployment.created.unwrap_or(0)).unwrap_or_default();
        json!({"type": "model", "id": self.id, "display_name": self.id, "created_at": created.to_string()})
    }
}
