//! Changes of documents of several kinds in one transaction.

#[cfg(test)]
mod tests;

use domain::resources::Resource;

use super::Documents;
use super::collection::{Write, serialize};
use super::write::{Draft, Removal};
use crate::StoreError;
use crate::database::Writing;

/// Documents to put and to delete, in this order. Each is a separate entry in the change log.
#[derive(Default)]
pub struct Batch(Vec<(String, Step)>);

/// A change of a tenant's document.
enum Step {
    Put(OwnedDraft),
    Delete { kind: &'static str, name: String, secrets: &'static [&'static str], referenced: bool },
}

struct OwnedDraft {
    kind: &'static str,
    name: String,
    body: String,
    secrets: &'static [&'static str],
    references: Vec<(&'static str, String)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a document of a tenant, in place of its stored one of that name.
    pub fn put<T: Resource>(&mut self, tenant: &str, value: &T) -> Result<(), StoreError> {
        let (body, references) = serialize(value)?;
        let (kind, name, secrets) = (T::KIND, value.name().to_owned(), T::SECRETS);
        let put = Step::Put(OwnedDraft { kind, name, body, secrets, references });
        self.0.push((tenant.to_owned(), put));
        Ok(())
    }

    /// Deletes a document of a tenant; fails while others refer to it. Referrers are deleted before it in the same batch. With
    /// `is_override`, the name continues to exist outside of storage, and others may keep referring to it.
    pub fn delete<T: Resource>(&mut self, tenant: &str, name: &str, is_override: bool) {
        let (kind, secrets) = (T::KIND, T::SECRETS);
        let delete = Step::Delete { kind, name: name.to_owned(), secrets, referenced: is_override };
        self.0.push((tenant.to_owned(), delete));
    }
}

impl Documents {
    /// Applies all changes or none. Fails if the revision of storage is not the expected one: then other changes were
    /// made since it was read. Returns the revision after the changes. The operation timeout applies to each step.
    pub async fn apply(&self, batch: &Batch, actor: &str, expected: i64) -> Result<i64, StoreError> {
        let database = &self.database;
        let mut open = database.limited(database.begin()).await?;
        if database.limited(locked_revision(&mut open)).await? != expected {
            return Err(StoreError::PreconditionFailed);
        }
        for (tenant, step) in &batch.0 {
            let documents = self.of_tenant(tenant);
            match step {
                Step::Put(OwnedDraft { kind, name, body, secrets, references }) => {
                    let draft = Draft { kind, name, body, secrets, references };
                    database.limited(documents.put_in(&mut open, &draft, Write::Upsert, actor, None)).await?;
                }
                Step::Delete { kind, name, secrets, referenced } => {
                    let removal = Removal { secrets, actor, if_match: None, referenced: *referenced };
                    let key = documents.key(kind, name);
                    let removed = documents.remove_in(&mut open, key, &removal, &|_| Ok(()));
                    database.limited(removed).await?;
                }
            }
        }
        let revision = database.limited(locked_revision(&mut open)).await?;
        database.limited(open.commit()).await?;
        Ok(revision)
    }
}

/// The revision. The row stays locked until the transaction ends, so that it cannot change meanwhile.
async fn locked_revision(open: &mut Writing) -> Result<i64, StoreError> {
    let rows = open.fetch("UPDATE meta SET rev = rev WHERE id = 1 RETURNING rev", &[]).await?;
    rows.first().ok_or_else(|| StoreError::Corrupt("the revision counter is missing".into()))?.get(0)
}
