//! The fingerprint of the encryption key, stored with the data: a process with another key does not start.

use std::collections::BTreeMap;

use domain::ids::Entropy;
use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::key::{DEFAULT_TENANT, DocumentKey};
use super::write::{DELETE, Entry, next_revision, record};
use super::{Documents, columns};
use crate::StoreError;
use crate::database::{Row, Writing};
use crate::seal::Fields;

/// The kind of the fingerprint row in `documents`, which has no change record.
const KIND: &str = "encryption_key";
const NAME: &str = "fingerprint";
/// The fingerprint is that of the whole database, whatever tenants it has.
const FINGERPRINT: DocumentKey<'static> = DocumentKey { tenant: DEFAULT_TENANT, kind: KIND, name: NAME };
/// Maximum number of encrypted documents that are tried when no fingerprint is stored yet.
const TRIED: i64 = 100;

/// A fingerprint of an encryption key that does not reveal the key.
pub fn fingerprint(key: &[u8; 32]) -> String {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse encryption key v1");
    hash.update(key);
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of documents with encrypted values, by kind.
pub type SealedCounts = BTreeMap<String, u64>;

impl Documents {
    /// Rejects a key that differs from the one that encrypted the stored data. The first process on a database sets the
    /// key.
    pub(crate) async fn verify_key(&self, own: &str) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO documents (tenant, kind, name, body, revision, created_at, updated_at, updated_by) \
             VALUES ($1, $2, $3, $4, 0, $5, $5, 'gatehouse') ON CONFLICT (tenant, kind, name) DO NOTHING";
        if self.stored_fingerprint().await?.is_none() {
            // A database of a version without fingerprints: check whether the key decrypts its data.
            if !self.opens_something().await? {
                return Err(StoreError::WrongKey { stored: None, own: own.to_owned() });
            }
            let body = body(own);
            let [tenant, kind, name] = FINGERPRINT.values();
            let values = [tenant, kind, name, body.as_str().into(), self.clock.now().micros().into()];
            self.database.execute(ADD, &values).await?;
        }
        match self.stored_fingerprint().await? {
            Some(stored) if stored == own => Ok(()),
            stored => Err(StoreError::WrongKey { stored, own: own.to_owned() }),
        }
    }

    async fn stored_fingerprint(&self) -> Result<Option<String>, StoreError> {
        const ONE: &str = "SELECT body FROM documents WHERE tenant = $1 AND kind = $2 AND name = $3";
        let rows = self.database.fetch(ONE, &FINGERPRINT.values()).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let fields: BTreeMap<String, String> =
            serde_json::from_str(&row.get::<String>(0)?).unwrap_or_default();
        Ok(Some(fields.get(NAME).cloned().unwrap_or_default()))
    }

    /// True if a document can be decrypted, or none is encrypted. One is enough, because others may be damaged.
    async fn opens_something(&self) -> Result<bool, StoreError> {
        const SEALED: &str = concat!("SELECT ", columns!(), " FROM documents WHERE sealed <> '' LIMIT $1");
        let rows = self.database.fetch(SEALED, &[TRIED.into()]).await?;
        let mut opened = rows.is_empty();
        for row in &rows {
            opened |= self.read(row)?.broken.is_none();
        }
        Ok(opened)
    }

    pub(crate) async fn sealed_counts(&self) -> Result<SealedCounts, StoreError> {
        const COUNT: &str = "SELECT kind, COUNT(*) FROM documents WHERE sealed <> '' GROUP BY kind";
        let rows = self.database.fetch(COUNT, &[]).await?;
        let count = |row: &Row| Ok::<_, StoreError>((row.get(0)?, row.get::<i64>(1)?.unsigned_abs()));
        rows.iter().map(count).collect()
    }

    /// Removes every encrypted value and stores the fingerprint of the current key, in one transaction.
    pub(crate) async fn clear_sealed(
        &self,
        own: &str,
        entropy: &dyn Entropy,
        actor: &str,
    ) -> Result<(), StoreError> {
        const SEALED: &str = concat!("SELECT ", columns!(), " FROM documents WHERE sealed <> ''");
        let mut open = self.database.begin().await?;
        for row in open.fetch(SEALED, &[]).await? {
            self.clear_row(&mut open, &row, entropy, actor).await?;
        }
        open.execute(DELETE, &FINGERPRINT.values()).await?;
        open.commit().await?;
        self.verify_key(own).await
    }

    async fn clear_row(
        &self,
        open: &mut Writing,
        row: &Row,
        entropy: &dyn Entropy,
        actor: &str,
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE documents SET body = $4, sealed = $5, revision = $6, updated_at = $7, \
             updated_by = $8 WHERE tenant = $1 AND kind = $2 AND name = $3";
        let (kind, name, tenant): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(8)?);
        let key = DocumentKey { tenant: &tenant, kind: &kind, name: &name };
        let failed = |reason: String| StoreError::Failed(format!("{kind}/{name}: {reason}"));
        let (text, sealed): (String, String) = (row.get(2)?, row.get(3)?);
        // Nothing of a damaged body can be kept; it stays unreadable.
        let mut fields: Fields = serde_json::from_str(&text).unwrap_or_default();
        sealed.split(',').for_each(|field| drop(fields.remove(field)));
        let mut resealed = Vec::new();
        if kind == AuthKey::KIND {
            // A random digest that matches no key: the key document stays, is rejected, and gets a new value when it is
            // rotated.
            fields.insert("digest".to_owned(), unknown_digest(entropy).map_err(failed)?);
            resealed = self.sealer.seal(&key.location(), &mut fields, &["digest"]).map_err(failed)?;
        }
        let body = serde_json::to_string(&fields).map_err(|error| failed(error.to_string()))?;
        let resealed = resealed.join(",");
        let (revision, at) = (next_revision(open).await?, self.clock.now());
        let values = [
            tenant.as_str().into(),
            kind.as_str().into(),
            name.as_str().into(),
            body.as_str().into(),
            resealed.as_str().into(),
            revision.into(),
            at.micros().into(),
            actor.into(),
        ];
        open.execute(UPDATE, &values).await?;
        let (before, after) = (None, None);
        let entry = Entry { revision, at, actor, key, action: "update", before, after };
        record(open, entry).await
    }
}

fn body(fingerprint: &str) -> String {
    format!("{{\"{NAME}\":\"{fingerprint}\"}}")
}

fn unknown_digest(entropy: &dyn Entropy) -> Result<Box<RawValue>, String> {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    RawValue::from_string(format!("\"{hex}\"")).map_err(|error| error.to_string())
}
