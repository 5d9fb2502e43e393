//! The query parameter `tenant_id` of the routes whose documents or reports belong to tenants.

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Required};

pub const NAME: &str = "tenant_id";

/// The tags of routes for documents. All of their operations take the parameter.
const DOCUMENTS: [&str; 9] = [
    "aliases",
    "combos",
    "guardrails",
    "model-overrides",
    "model-pricing",
    "models",
    "pools",
    "providers",
    "workflows",
];
/// The tags of routes for reports and other objects. Their operations take the parameter, but for `WITHOUT`.
const OBJECTS: [&str; 6] = ["audit", "budgets", "cache", "changes", "dashboard", "usage"];
/// Routes that concern the caller itself or the whole installation, by the end of their path.
const WITHOUT: [&str; 4] = ["/budgets/settings", "/cache/debug", "/dashboard/config", "/usage/me"];

const OF_DOCUMENTS: &str = "The tenant whose documents are read or changed; without it, the caller's own. \
                            Without an edition that has tenants, it has no effect.";
const OF_OBJECTS: &str = "Only this tenant; without it, all that the caller can see. Callers of a tenant can name only \
                          their own. Without an edition that has tenants, it has no effect.";

/// Adds the parameter to every operation of these routes.
pub fn add(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            if let Some(description) = description(path, operation) {
                operation.parameters.get_or_insert_default().push(RefOr::T(parameter(description)));
            }
        }
    }
}

/// The description of the parameter; `None` if the operation does not take it.
fn description(path: &str, operation: &Operation) -> Option<&'static str> {
    let has_tag = |tags: &[&str]| operation.tags.iter().flatten().any(|tag| tags.contains(&tag.as_str()));
    match () {
        () if has_tag(&DOCUMENTS) => Some(OF_DOCUMENTS),
        () if WITHOUT.iter().any(|end| path.ends_with(end)) => None,
        () => has_tag(&OBJECTS).then_some(OF_OBJECTS),
    }
}

fn parameter(description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(NAME)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).build()))
        .build()
}
