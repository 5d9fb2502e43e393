//! The query parameter `tenant_id` of the routes whose documents belong to tenants.

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Required};

pub const NAME: &str = "tenant_id";

/// The tags of the routes. All of their operations take the parameter.
const TAGS: [&str; 9] = [
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

/// Adds the parameter to every operation of these routes.
pub fn add(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            if takes_tenant(operation) {
                operation.parameters.get_or_insert_default().push(RefOr::T(parameter()));
            }
        }
    }
}

fn takes_tenant(operation: &Operation) -> bool {
    let mut tags = operation.tags.iter().flatten();
    tags.any(|tag| TAGS.contains(&tag.as_str()))
}

fn parameter() -> Parameter {
    let description = "The tenant whose documents are read or changed; without it, the caller's own. \
                       Without an edition that has tenants, it has no effect.";
    ParameterBuilder::new()
        .name(NAME)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).build()))
        .build()
}
