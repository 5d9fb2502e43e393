//! The models of the built-in catalogue, for lists of models that need no provider.

use domain::model::ModelFacts;

/// The models that are known for a provider type, by id.
pub fn of_type(provider_type: &str) -> impl Iterator<Item = (&'static str, &'static ModelFacts)> {
    catalog::models(provider_type)
}

/// The family of a model, e.g. `claude-sonnet`.
pub fn family(model: &str) -> Option<&'static str> {
    catalog::family(model)
}
