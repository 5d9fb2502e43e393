//! Documents of the configuration file: in force unless a stored document of the same kind and name overrides them.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::resources::Resource;
use store::{DEFAULT_TENANT, RawDocument, StoreError, Stored};

use super::{Refresher, tenant_documents};

/// A document of the configuration file, in the form in which it would be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredDocument {
    pub kind: &'static str,
    pub name: String,
    /// JSON
    pub body: String,
}

impl ConfiguredDocument {
    pub fn new<T: Resource>(document: &T) -> Result<Self, StoreError> {
        let body = serde_json::to_string(document).map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { kind: T::KIND, name: document.name().to_owned(), body })
    }

    /// The document as storage would return it. Its revision is 0, which no stored document has.
    fn raw(&self) -> RawDocument {
        RawDocument {
            tenant: String::new(),
            kind: self.kind.to_owned(),
            name: self.name.clone(),
            body: self.body.clone(),
            revision: 0,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            updated_by: "file".to_owned(),
            broken: None,
        }
    }
}

/// Adds the configured documents of a kind that no stored one overrides.
pub(super) fn lay_under(
    configured: &[ConfiguredDocument],
    kind: &str,
    mut stored: Vec<RawDocument>,
) -> Vec<RawDocument> {
    for document in configured.iter().filter(|document| document.kind == kind) {
        if !stored.iter().any(|stored| stored.name == document.name) {
            stored.push(document.raw());
        }
    }
    stored
}

/// The configured document of a name, with the revision 0.
pub(super) fn find<T: Resource>(configured: &[ConfiguredDocument], name: &str) -> Option<Stored<T>> {
    let mut documents = configured.iter();
    let found = documents.find(|document| document.kind == T::KIND && document.name == name)?;
    store::decode(&found.raw()).ok()
}

impl Refresher {
    /// Whether the configuration file has a document of this kind and name.
    pub fn is_configured(&self, kind: &str, name: &str) -> bool {
        self.fixed().documents.iter().any(|document| document.kind == kind && document.name == name)
    }

    /// All documents in force of a kind for a tenant, by name: its own, those of the default tenant that it has none of
    /// the same name in place of, and those of the configuration file that are not overridden, which have the revision
    /// 0. Unreadable ones are left out and logged.
    pub async fn effective<T: Resource>(&self, tenant: &str) -> Result<Vec<Stored<T>>, StoreError> {
        let mut documents = BTreeMap::new();
        for raw in self.effective_raw(tenant, T::KIND).await? {
            match store::decode::<T>(&raw) {
                Ok(document) => _ = documents.insert(raw.name, document),
                Err(error) => {
                    tracing::error!(kind = T::KIND, name = raw.name, error, "unreadable document skipped");
                }
            }
        }
        Ok(documents.into_values().collect())
    }

    /// The documents in force of a kind, those that cannot be read included, in no particular order.
    pub async fn effective_raw(&self, tenant: &str, kind: &str) -> Result<Vec<RawDocument>, StoreError> {
        let stored = self.store().documents().raw(kind).await?;
        let inherited = lay_under(&self.fixed().documents, kind, stored);
        if tenant == DEFAULT_TENANT {
            return Ok(inherited);
        }
        let mut own = self.store().documents().of_tenant(tenant).raw(kind).await?;
        own.retain(|document| !tenant_documents::is_inactive(document));
        let others = inherited.into_iter().filter(|other| own.iter().all(|known| known.name != other.name));
        let others: Vec<_> = others.collect();
        own.extend(others);
        Ok(own)
    }

    /// The document in force of this name for a tenant: its own, else that of the default tenant, else that of the
    /// configuration file.
    pub async fn find_effective<T: Resource>(
        &self,
        tenant: &str,
        name: &str,
    ) -> Result<Option<Stored<T>>, StoreError> {
        if tenant != DEFAULT_TENANT
            && let Some(own) = self.store().collection_of::<T>(tenant).get(name).await?
        {
            return Ok(Some(own));
        }
        let stored = self.store().collection::<T>().get(name).await?;
        Ok(stored.or_else(|| self.configured_document(name)))
    }

    /// The document of the configuration file, with the revision 0.
    pub fn configured_document<T: Resource>(&self, name: &str) -> Option<Stored<T>> {
        find(&self.fixed().documents, name)
    }
}
