//! Prices set by the operator, by selector.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::model::Price;
use domain::resources::model_price::ModelPrice;

/// A price set by the operator, with the version that receipts record.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariff {
    pub price: ModelPrice,
    /// `rev-` and the revision of the document.
    pub version: Arc<str>,
}

#[derive(Default)]
pub struct Prices(HashMap<String, Arc<Tariff>>);

/// The key of a price lookup.
#[derive(Clone, Copy)]
pub struct PriceKey<'a> {
    pub instance: &'a str,
    pub provider_type: &'a str,
    /// An instance has the name of the type, so a price under that name applies to that instance only.
    pub type_is_taken: bool,
    pub model: &'a str,
}

impl Prices {
    /// Compiles documents and their revisions, by selector.
    pub fn new(documents: BTreeMap<String, (ModelPrice, i64)>) -> Self {
        let compiled = documents.into_iter().map(|(selector, (price, revision))| {
            (selector, Arc::new(Tariff { price, version: format!("rev-{revision}").into() }))
        });
        Self(compiled.collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Arc<Tariff>)> {
        self.0.iter()
    }

    /// The price of the instance, else that of its type.
    pub fn find(&self, whose: PriceKey<'_>) -> Option<&Arc<Tariff>> {
        if self.0.is_empty() {
            return None;
        }
        let of = |name: &str| self.0.get(&format!("{name}/{}", whose.model));
        let shared = || (!whose.type_is_taken).then(|| of(whose.provider_type))?;
        of(whose.instance).or_else(shared)
    }
}

/// The catalogue's price of a model.
pub fn base(provider_type: &str, model: &str) -> Option<&'static Price> {
    catalog::facts(provider_type, model)?.price.as_ref()
}
