//! Typed collections of documents: get, list, put and delete, with validation and change records.

use std::marker::PhantomData;

use domain::clock::Timestamp;
use domain::fault;
use domain::resources::Resource;

use super::write::{Draft, Removal};
use super::{Documents, RawDocument};
use crate::StoreError;

pub struct Collection<T> {
    documents: Documents,
    kind: PhantomData<fn() -> T>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    pub value: T,
    /// The tenant that it belongs to; empty for the default tenant.
    pub tenant: String,
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub updated_by: String,
}

impl<T> Stored<T> {
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.revision)
    }
}

/// The precondition of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Must not exist; otherwise a conflict.
    Create,
    /// Must exist; otherwise not found.
    Replace,
    Upsert,
}

#[derive(Clone, Debug)]
pub struct Page {
    pub limit: i64,
    /// The last name of the previous page.
    pub after: Option<String>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { documents: self.documents.clone(), kind: PhantomData }
    }
}

impl<T: Resource> Collection<T> {
    pub(crate) fn new(documents: Documents) -> Self {
        Self { documents, kind: PhantomData }
    }

    pub async fn get(&self, name: &str) -> Result<Option<Stored<T>>, StoreError> {
        self.documents.find(T::KIND, name).await?.as_ref().map(decoded).transpose()
    }

    /// Like `get`, but treats an unreadable document as absent, so that it can be replaced.
    pub async fn get_readable(&self, name: &str) -> Result<Option<Stored<T>>, StoreError> {
        match self.get(name).await {
            Err(StoreError::Corrupt(_)) => Ok(None),
            found => found,
        }
    }

    /// A page by name; unreadable documents are left out and logged.
    pub async fn list(&self, page: Page) -> Result<Vec<Stored<T>>, StoreError> {
        let after = page.after.unwrap_or_default();
        Ok(readable(&self.documents.page(T::KIND, &after, page.limit).await?))
    }

    /// The existing documents with these names, in no particular order; unreadable ones are left out and logged.
    pub async fn named(&self, names: &[&str]) -> Result<Vec<Stored<T>>, StoreError> {
        Ok(readable(&self.documents.named(T::KIND, names).await?))
    }

    /// All documents by name; unreadable ones are left out and logged.
    pub async fn all(&self) -> Result<Vec<Stored<T>>, StoreError> {
        Ok(readable(&self.documents.raw(T::KIND).await?))
    }

    pub async fn put(
        &self,
        value: &T,
        write: Write,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<Stored<T>, StoreError> {
        let (body, references) = serialize(value)?;
        let written = self.documents.put(draft(value, &body, &references), write, actor, if_match).await?;
        Ok(Stored {
            value: value.clone(),
            tenant: self.documents.tenant().to_owned(),
            revision: written.revision,
            created_at: written.created_at,
            updated_at: written.updated_at,
            updated_by: actor.to_owned(),
        })
    }

    /// Puts and deletes documents in one transaction; each is a separate entry in the change log.
    pub async fn put_and_delete(
        &self,
        puts: &[T],
        deletes: &[String],
        actor: &str,
    ) -> Result<(), StoreError> {
        let texts = puts.iter().map(serialize).collect::<Result<Vec<_>, _>>()?;
        let drafts: Vec<Draft<'_>> = puts
            .iter()
            .zip(&texts)
            .map(|(value, (body, references))| draft(value, body, references))
            .collect();
        self.documents.put_and_remove(&drafts, (T::KIND, deletes), actor).await
    }

    /// Like `delete`, but also deletes an unreadable document.
    pub async fn delete_any(
        &self,
        name: &str,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<(), StoreError> {
        let removal = Removal { secrets: T::SECRETS, actor, if_match, referenced: false };
        self.documents.remove(T::KIND, name, removal, |_| Ok(())).await.map(drop)
    }

    /// Like `delete_any`, for a document that overrides one of the same name configured outside of storage: other
    /// documents may keep referring to the name.
    pub async fn delete_override(
        &self,
        name: &str,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<(), StoreError> {
        let removal = Removal { secrets: T::SECRETS, actor, if_match, referenced: true };
        self.documents.remove(T::KIND, name, removal, |_| Ok(())).await.map(drop)
    }

    /// Deletes a document; fails with the list of referrers while other documents refer to it.
    pub async fn delete(
        &self,
        name: &str,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<Stored<T>, StoreError> {
        let removal = Removal { secrets: T::SECRETS, actor, if_match, referenced: false };
        let removed =
            self.documents.remove(T::KIND, name, removal, |raw| decoded(raw).map(|_: Stored<T>| ()));
        decoded(&removed.await?)
    }
}

type References = Vec<(&'static str, String)>;

/// Validates and serializes a document; returns its body and its references.
pub(super) fn serialize<T: Resource>(value: &T) -> Result<(String, References), StoreError> {
    value.validate().map_err(StoreError::Invalid)?;
    if value.name().is_empty() || value.name().contains('\0') {
        return Err(StoreError::Invalid(fault::invalid_parameter("name", "A name is needed.")));
    }
    let body = serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok((body, value.references()))
}

fn draft<'a, T: Resource>(value: &'a T, body: &'a str, references: &'a References) -> Draft<'a> {
    Draft { kind: T::KIND, name: value.name(), body, secrets: T::SECRETS, references }
}

/// Decodes a document, or returns the reason why it cannot be used.
pub fn decode<T: Resource>(raw: &RawDocument) -> Result<Stored<T>, String> {
    if let Some(reason) = &raw.broken {
        return Err(reason.clone());
    }
    // The reason contains positions but no values, because the body may contain decrypted secrets.
    let value = serde_json::from_str(&raw.body).map_err(|error| {
        format!("not a valid {} (line {}, column {})", T::KIND, error.line(), error.column())
    })?;
    Ok(Stored {
        value,
        tenant: raw.tenant.clone(),
        revision: raw.revision,
        created_at: raw.created_at,
        updated_at: raw.updated_at,
        updated_by: raw.updated_by.clone(),
    })
}

/// Decodes a document that must be readable.
fn decoded<T: Resource>(raw: &RawDocument) -> Result<Stored<T>, StoreError> {
    decode(raw).map_err(|reason| StoreError::Corrupt(format!("{}/{}: {reason}", raw.kind, raw.name)))
}

fn readable<T: Resource>(documents: &[RawDocument]) -> Vec<Stored<T>> {
    let read = documents.iter().map(decoded);
    read.filter_map(|result| {
        result.inspect_err(|error| tracing::error!(%error, "unreadable document skipped")).ok()
    })
    .collect()
}
