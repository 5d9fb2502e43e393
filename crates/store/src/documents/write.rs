//! Writes documents: revision first, then checks, row, references and change record, in one transaction.

use domain::clock::Timestamp;
use domain::resources::Resource as _;
use domain::resources::tenant::Tenant;
use domain::resources::workflow::{Workflow, WorkflowActivation};

use super::collection::Write;
use super::key::{DEFAULT_TENANT, DocumentKey};
use super::{Documents, RawDocument, columns};
use crate::StoreError;
use crate::change_notices::{self, ChangedData};
use crate::database::{Row, Writing};
use crate::seal::{self, Fields};

pub(super) const DELETE: &str = "DELETE FROM documents WHERE tenant = $1 AND kind = $2 AND name = $3";
const UNREFER: &str = "DELETE FROM document_references WHERE tenant = $1 AND kind = $2 AND name = $3";

/// The kinds of documents that are deleted with their tenant, because nothing else deletes them.
const DELETED_WITH_TENANT: [&str; 2] = [WorkflowActivation::KIND, Workflow::KIND];

/// A document to be written, not encrypted yet.
pub(super) struct Draft<'a> {
    pub kind: &'static str,
    pub name: &'a str,
    pub body: &'a str,
    pub secrets: &'static [&'static str],
    pub references: &'a [(&'static str, String)],
}

/// The parameters of a removal.
pub(super) struct Removal<'a> {
    pub secrets: &'a [&'a str],
    pub actor: &'a str,
    pub if_match: Option<&'a str>,
    /// Allows removal while other documents refer to it, because the name continues to exist elsewhere.
    pub referenced: bool,
}

impl<'a> Removal<'a> {
    fn by(actor: &'a str) -> Self {
        Self { secrets: &[], actor, if_match: None, referenced: false }
    }
}

pub(super) struct WriteOutcome {
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change record to be written.
pub(super) struct Entry<'a> {
    pub revision: i64,
    pub at: Timestamp,
    pub actor: &'a str,
    pub key: DocumentKey<'a>,
    pub action: &'a str,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Documents {
    pub(super) async fn put(
        &self,
        draft: Draft<'_>,
        write: Write,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<WriteOutcome, StoreError> {
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                let written = self.put_in(&mut open, &draft, write, actor, if_match).await?;
                open.commit().await?;
                Ok(written)
            })
            .await
    }

    /// Puts and removes several documents in one transaction. The operation timeout applies to each step, so that many
    /// documents may take long in total, but an unresponsive database is still detected.
    pub(super) async fn put_and_remove(
        &self,
        drafts: &[Draft<'_>],
        (kind, names): (&str, &[String]),
        actor: &str,
    ) -> Result<(), StoreError> {
        let database = &self.database;
        let mut open = database.limited(database.begin()).await?;
        for draft in drafts {
            database.limited(self.put_in(&mut open, draft, Write::Upsert, actor, None)).await?;
        }
        for name in names {
            let removal = Removal::by(actor);
            let removed = self.remove_in(&mut open, self.key(kind, name), &removal, &|_| Ok(()));
            database.limited(removed).await?;
        }
        database.limited(open.commit()).await
    }

    pub(super) async fn put_in(
        &self,
        open: &mut Writing,
        draft: &Draft<'_>,
        write: Write,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<WriteOutcome, StoreError> {
        let (body, sealed) = self.sealed(draft)?;
        let revision = next_revision(open).await?;
        let now = self.clock.now();
        let key = self.key(draft.kind, draft.name);
        let current = current(open, key).await?;
        check(write, current.as_ref(), draft.name, if_match)?;
        let created_at = current.as_ref().map_or(Ok(now.micros()), |row| row.get(5))?;
        let times = [revision, created_at, now.micros()];
        upsert(open, key, (&body, &sealed), times, actor).await?;
        refer(open, key, draft.references).await?;
        if key.tenant != DEFAULT_TENANT {
            // A tenant cannot be deleted while it has documents, except those of `DELETED_WITH_TENANT`.
            add_reference(open, key, Tenant::KIND, key.tenant).await?;
        }
        let entry = Entry {
            revision,
            at: now,
            actor,
            key,
            action: if current.is_some() { "update" } else { "create" },
            before: current.and_then(|row| masked_row(&row, draft.secrets)),
            after: masked(draft.body, draft.secrets.iter().copied()),
        };
        record(open, entry).await?;
        Ok(WriteOutcome { revision, created_at: Timestamp(created_at), updated_at: now })
    }

    /// Removes a document that can no longer be decoded, which `Collection::delete` rejects.
    pub async fn discard(&self, kind: &str, name: &str, actor: &str) -> Result<RawDocument, StoreError> {
        self.remove(kind, name, Removal::by(actor), |_| Ok(())).await
    }

    pub(super) async fn remove(
        &self,
        kind: &str,
        name: &str,
        removal: Removal<'_>,
        acceptable: impl Fn(&RawDocument) -> Result<(), StoreError> + Sync,
    ) -> Result<RawDocument, StoreError> {
        if name.contains('\0') {
            return Err(StoreError::NotFound);
        }
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                let removed = self.remove_in(&mut open, self.key(kind, name), &removal, &acceptable).await?;
                open.commit().await?;
                Ok(removed)
            })
            .await
    }

    pub(super) async fn remove_in(
        &self,
        open: &mut Writing,
        key: DocumentKey<'_>,
        removal: &Removal<'_>,
        acceptable: &(dyn Fn(&RawDocument) -> Result<(), StoreError> + Sync),
    ) -> Result<RawDocument, StoreError> {
        let revision = next_revision(open).await?;
        let row = current(open, key).await?.ok_or(StoreError::NotFound)?;
        check(Write::Replace, Some(&row), key.name, removal.if_match)?;
        if key.kind == Tenant::KIND && key.tenant == DEFAULT_TENANT {
            self.remove_workflows(open, key.name, removal.actor).await?;
        }
        if !removal.referenced {
            unreferenced(open, key).await?;
        }
        let document = self.read(&row)?;
        acceptable(&document)?;
        self.erase(open, key, revision, masked_row(&row, removal.secrets), removal.actor).await?;
        Ok(document)
    }

    /// Removes the workflows of a tenant that is deleted.
    async fn remove_workflows(
        &self,
        open: &mut Writing,
        tenant: &str,
        actor: &str,
    ) -> Result<(), StoreError> {
        const ALL: &str = concat!("SELECT ", columns!(), " FROM documents WHERE tenant = $1 AND kind = $2");
        for kind in DELETED_WITH_TENANT {
            let rows = open.fetch(ALL, &[tenant.into(), kind.into()]).await?;
            for row in &rows {
                let name: String = row.get(1)?;
                let revision = next_revision(open).await?;
                let key = DocumentKey { tenant, kind, name: &name };
                self.erase(open, key, revision, masked_row(row, &[]), actor).await?;
            }
        }
        Ok(())
    }

    /// Deletes a document and its references, and records the change.
    async fn erase(
        &self,
        open: &mut Writing,
        key: DocumentKey<'_>,
        revision: i64,
        before: Option<String>,
        actor: &str,
    ) -> Result<(), StoreError> {
        open.execute(UNREFER, &key.values()).await?;
        open.execute(DELETE, &key.values()).await?;
        let entry =
            Entry { revision, at: self.clock.now(), actor, key, action: "delete", before, after: None };
        record(open, entry).await
    }

    fn sealed(&self, draft: &Draft<'_>) -> Result<(String, String), StoreError> {
        if draft.secrets.is_empty() {
            return Ok((draft.body.to_owned(), String::new()));
        }
        let fail = |reason: String| StoreError::Failed(format!("{}/{}: {reason}", draft.kind, draft.name));
        let mut fields: Fields = serde_json::from_str(draft.body).map_err(|error| fail(error.to_string()))?;
        let location = self.key(draft.kind, draft.name).location();
        let sealed = self.sealer.seal(&location, &mut fields, draft.secrets).map_err(fail)?;
        let body = serde_json::to_string(&fields).map_err(|error| fail(error.to_string()))?;
        Ok((body, sealed.join(",")))
    }
}

/// Increments the revision. Called first in a transaction: the row lock serializes writers, so that revisions become
/// visible in order. Other processes are notified when the transaction is committed.
pub(super) async fn next_revision(open: &mut Writing) -> Result<i64, StoreError> {
    let rows = open.fetch("UPDATE meta SET rev = rev + 1 WHERE id = 1 RETURNING rev", &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Corrupt("the revision counter is missing".into()))?;
    change_notices::announce(open, ChangedData::Documents).await?;
    row.get(0)
}

async fn current(open: &mut Writing, key: DocumentKey<'_>) -> Result<Option<Row>, StoreError> {
    const ONE: &str =
        concat!("SELECT ", columns!(), " FROM documents WHERE tenant = $1 AND kind = $2 AND name = $3");
    Ok(open.fetch(ONE, &key.values()).await?.pop())
}

fn check(write: Write, current: Option<&Row>, name: &str, if_match: Option<&str>) -> Result<(), StoreError> {
    match (write, current) {
        (Write::Create, Some(_)) => return Err(StoreError::conflict(format!("'{name}' exists already."))),
        (Write::Replace, None) => return Err(StoreError::NotFound),
        _ => {}
    }
    let Some(if_match) = if_match else { return Ok(()) };
    let matches = match current {
        None => false,
        Some(row) => {
            let etag = format!("\"{}\"", row.get::<i64>(4)?);
            if_match.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag)
        }
    };
    if matches { Ok(()) } else { Err(StoreError::PreconditionFailed) }
}

async fn upsert(
    open: &mut Writing,
    key: DocumentKey<'_>,
    (body, sealed): (&str, &str),
    [revision, created_at, updated_at]: [i64; 3],
    actor: &str,
) -> Result<(), StoreError> {
    const UPSERT: &str = "INSERT INTO documents (tenant, kind, name, body, sealed, revision, created_at, updated_at, updated_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant, kind, name) DO UPDATE SET body = excluded.body, \
         sealed = excluded.sealed, revision = excluded.revision, updated_at = excluded.updated_at, \
         updated_by = excluded.updated_by";
    let values = [
        key.tenant.into(),
        key.kind.into(),
        key.name.into(),
        body.into(),
        sealed.into(),
        revision.into(),
        created_at.into(),
        updated_at.into(),
        actor.into(),
    ];
    open.execute(UPSERT, &values).await.map(|_| ())
}

/// Replaces the references of a document, which are to documents that its tenant sees.
async fn refer(
    open: &mut Writing,
    key: DocumentKey<'_>,
    references: &[(&'static str, String)],
) -> Result<(), StoreError> {
    open.execute(UNREFER, &key.values()).await?;
    for (kind, name) in references {
        add_reference(open, key, kind, name).await?;
    }
    Ok(())
}

async fn add_reference(
    open: &mut Writing,
    key: DocumentKey<'_>,
    ref_kind: &str,
    ref_name: &str,
) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO document_references (tenant, kind, name, ref_kind, ref_name) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant, kind, name, ref_kind, ref_name) DO NOTHING";
    let [tenant, kind, name] = key.values();
    open.execute(ADD, &[tenant, kind, name, ref_kind.into(), ref_name.into()]).await.map(|_| ())
}

/// Requires that no document refers to this one. Documents of a tenant refer to those of the default tenant that it
/// has no document of the same name in place of. Keys and users of a tenant are stored in the default tenant and refer to
/// their tenant: they see what it sees. After the deletion of a tenant's document, that of the default
/// tenant takes its place.
async fn unreferenced(open: &mut Writing, key: DocumentKey<'_>) -> Result<(), StoreError> {
    const REFERRERS: &str = "SELECT r.kind, r.name, r.tenant FROM document_references r \
         WHERE r.ref_kind = $2 AND r.ref_name = $3 AND NOT (r.tenant = $1 AND r.kind = $2 AND r.name = $3) \
         AND NOT ($1 = '' AND r.tenant = '' AND EXISTS (SELECT 1 FROM document_references t JOIN documents d \
         ON d.tenant = t.ref_name AND d.kind = $2 AND d.name = $3 WHERE t.tenant = '' AND t.kind = r.kind \
         AND t.name = r.name AND t.ref_kind = 'tenant')) \
         AND (r.tenant = $1 OR ($1 = '' AND NOT EXISTS (SELECT 1 FROM documents d \
         WHERE d.tenant = r.tenant AND d.kind = $2 AND d.name = $3)) \
         OR (r.tenant = '' AND EXISTS (SELECT 1 FROM document_references t WHERE t.tenant = '' \
         AND t.kind = r.kind AND t.name = r.name AND t.ref_kind = 'tenant' AND t.ref_name = $1))) \
         ORDER BY r.tenant, r.kind, r.name LIMIT 100";
    if key.tenant != DEFAULT_TENANT
        && current(open, DocumentKey { tenant: DEFAULT_TENANT, ..key }).await?.is_some()
    {
        return Ok(());
    }
    let rows = open.fetch(REFERRERS, &key.values()).await?;
    let mut referrers = Vec::with_capacity(rows.len());
    for row in &rows {
        let (kind, name, tenant): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        referrers.push(match tenant == key.tenant || tenant == DEFAULT_TENANT {
            true => format!("{kind}/{name}"),
            false => format!("{kind}/{name} of the tenant '{tenant}'"),
        });
    }
    if referrers.is_empty() {
        return Ok(());
    }
    let message = format!("'{}' is in use by {}.", key.name, referrers.join(", "));
    Err(StoreError::Conflict { message, referrers })
}

pub(super) async fn record(open: &mut Writing, entry: Entry<'_>) -> Result<(), StoreError> {
    const RECORD: &str = "INSERT INTO changes (revision, at, actor, tenant, kind, name, action, old_body, new_body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let values = [
        entry.revision.into(),
        entry.at.micros().into(),
        entry.actor.into(),
        entry.key.tenant.into(),
        entry.key.kind.into(),
        entry.key.name.into(),
        entry.action.into(),
        entry.before.as_deref().into(),
        entry.after.as_deref().into(),
    ];
    open.execute(RECORD, &values).await.map(|_| ())
}

/// A stored row for the change log, with encrypted and secret fields masked. `None` for a row that is not text
/// (SQLite), so that it can still be deleted.
fn masked_row(row: &Row, secrets: &[&str]) -> Option<String> {
    let (body, sealed): (String, String) = (row.get(2).ok()?, row.get(3).ok()?);
    let sealed = sealed.split(',').filter(|field| !field.is_empty());
    masked(&body, sealed.chain(secrets.iter().copied()))
}

/// Masks the secrets of a body. `None` if it is not valid JSON, because its secret parts are then unknown.
fn masked<'a>(body: &str, secrets: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut fields: Fields = serde_json::from_str(body).ok()?;
    seal::mask(&mut fields, secrets).ok()?;
    serde_json::to_string(&fields).ok()
}
