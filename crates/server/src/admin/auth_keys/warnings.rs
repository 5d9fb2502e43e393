//! Warnings for entries of a key's lists that currently match nothing. Such entries are stored all the same.

use domain::access::matches;
use domain::resources::auth_key::AuthKey;
use pipeline::routing::routes::Routes;

use crate::nearest;

pub fn of(routes: &Routes, key: &AuthKey) -> Vec<String> {
    let mut warnings = Vec::new();
    for entry in key.allowed_providers.iter().flatten().filter(|entry| !is_provider(routes, entry)) {
        let hint = nearest::hint(entry, routes.instances.keys().map(String::as_str));
        warnings.push(format!("allowed_providers: '{entry}' matches no provider at the moment.{hint}"));
    }
    for entry in key.allowed_models.iter().flatten() {
        if !is_model(routes, entry) && !is_name(routes, entry) {
            let hint = model_hint(routes, entry);
            warnings.push(format!(
                "allowed_models: '{entry}' matches no model, alias, combo or pool at the moment.{hint}"
            ));
        }
    }
    for entry in key.denied_models.iter().flatten().filter(|entry| !is_model(routes, entry)) {
        let reason = match is_name(routes, entry) {
            true => ": the models it leads to are judged, not the name.".to_owned(),
            false => format!(" at the moment.{}", model_hint(routes, entry)),
        };
        warnings.push(format!("denied_models: '{entry}' matches no model{reason}"));
    }
    warnings
}

fn is_provider(routes: &Routes, entry: &str) -> bool {
    let mut instances = routes.instances.values();
    instances.any(|instance| {
        matches(entry, &instance.provider.name) || matches(entry, &instance.provider.provider_type)
    })
}

fn is_model(routes: &Routes, entry: &str) -> bool {
    let mut deployments = routes.deployments();
    deployments.any(|deployment| {
        let target = &deployment.target;
        matches(entry, &target.model)
            || matches(entry, &target.selector())
            || matches(entry, &format!("{}/{}", target.provider_type, target.model))
    })
}

/// Whether an entry names an alias, combo or pool, or a model of a pool (`pool/model`).
fn is_name(routes: &Routes, entry: &str) -> bool {
    let prefix = entry.split_once('/').map(|(prefix, _)| prefix);
    routes.names.holds(entry) || prefix.is_some_and(|prefix| routes.names.pools.contains_key(prefix))
}

fn model_hint(routes: &Routes, entry: &str) -> String {
    if entry.contains('*') {
        return String::new();
    }
    let near = routes.nearest(entry, &|_| true, &|_| true);
    near.first().map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default()
}
