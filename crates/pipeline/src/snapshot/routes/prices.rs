//! The operator's own prices, by the selector they are for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::model::Price;
use domain::resources::model_price::ModelPrice;

/// A price of the operator's, and what calls are told it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariff {
    pub price: ModelPrice,
    /// `rev-` and the revision in which it was written.
    pub version: Arc<str>,
}

#[derive(Default)]
pub struct Prices(HashMap<String, Arc<Tariff>>);

/// Whose price is looked for.
#[derive(Clone, Copy)]
pub struct Whose<'a> {
    pub instance: &'a str,
    pub provider_type: &'a str,
    /// Some instance is named like the type: what is said of that name is said of that instance alone.
    pub type_is_taken: bool,
    pub model: &'a str,
}

impl Prices {
    /// From documents with the revisions they were written in, by selector.
    pub fn new(documents: BTreeMap<String, (ModelPrice, i64)>) -> Self {
        let compiled = documents.into_iter().map(|(selector, (price, revision))| {
            (selector, Arc::new(Tariff { price, version: format!("rev-{revision}").into() }))
        });
        Self(compiled.collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Arc<Tariff>)> {
        self.0.iter()
    }

    /// The instance's own, else its type's.
    pub fn find(&self, whose: Whose<'_>) -> Option<&Arc<Tariff>> {
        if self.0.is_empty() {
            return None;
        }
        let of = |name: &str| self.0.get(&format!("{name}/{}", whose.model));
        let shared = || (!whose.type_is_taken).then(|| of(whose.provider_type))?;
        of(whose.instance).or_else(shared)
    }
}

/// What the catalogue says a model costs.
pub fn base(provider_type: &str, model: &str) -> Option<&'static Price> {
    catalog::facts(provider_type, model)?.price.as_ref()
}
