//! Writes documents: revision first, then checks, row, references and change record, in one transaction.

use domain::clock::Timestamp;

use super::collection::Write;
use super::{Documents, RawDocument, columns};
use crate::StoreError;
use crate::database::{Row, Writing};
use crate::seal::{self, Fields};

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

pub(super) struct Written {
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change record to be written.
pub(super) struct Entry<'a> {
    pub revision: i64,
    pub at: Timestamp,
    pub actor: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
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
    ) -> Result<Written, StoreError> {
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
            let removed = self.remove_in(&mut open, (kind, name), &removal, &|_| Ok(()));
            database.limited(removed).await?;
        }
        database.limited(open.commit()).await
    }

    async fn put_in(
        &self,
        open: &mut Writing,
        draft: &Draft<'_>,
        write: Write,
        actor: &str,
        if_match: Option<&str>,
    ) -> Result<Written, StoreError> {
        let (body, sealed) = self.sealed(draft)?;
        let revision = next_revision(open).await?;
        let now = self.clock.now();
        let current = current(open, draft.kind, draft.name).await?;
        check(write, current.as_ref(), draft.name, if_match)?;
        let created_at = current.as_ref().map_or(Ok(now.micros()), |row| row.get(5))?;
        let times = [revision, created_at, now.micros()];
        upsert(open, draft, &body, &sealed, times, actor).await?;
        refer(open, draft).await?;
        let entry = Entry {
            revision,
            at: now,
            actor,
            kind: draft.kind,
            name: draft.name,
            action: if current.is_some() { "update" } else { "create" },
            before: current.and_then(|row| masked_row(&row, draft.secrets)),
            after: masked(draft.body, draft.secrets.iter().copied()),
        };
        record(open, entry).await?;
        Ok(Written { revision, created_at: Timestamp(created_at), updated_at: now })
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
                let removed = self.remove_in(&mut open, (kind, name), &removal, &acceptable).await?;
                open.commit().await?;
                Ok(removed)
            })
            .await
    }

    async fn remove_in(
        &self,
        open: &mut Writing,
        (kind, name): (&str, &str),
        removal: &Removal<'_>,
        acceptable: &(dyn Fn(&RawDocument) -> Result<(), StoreError> + Sync),
    ) -> Result<RawDocument, StoreError> {
        let revision = next_revision(open).await?;
        let row = current(open, kind, name).await?.ok_or(StoreError::NotFound)?;
        check(Write::Replace, Some(&row), name, removal.if_match)?;
        if !removal.referenced {
            unreferenced(open, kind, name).await?;
        }
        let document = self.read(&row)?;
        acceptable(&document)?;
        let own = [kind.into(), name.into()];
        open.execute("DELETE FROM document_references WHERE kind = $1 AND name = $2", &own).await?;
        open.execute("DELETE FROM documents WHERE kind = $1 AND name = $2", &own).await?;
        let before = masked_row(&row, removal.secrets);
        let (at, actor) = (self.clock.now(), removal.actor);
        let entry = Entry { revision, at, actor, kind, name, action: "delete", before, after: None };
        record(open, entry).await?;
        Ok(document)
    }

    fn sealed(&self, draft: &Draft<'_>) -> Result<(String, String), StoreError> {
        if draft.secrets.is_empty() {
            return Ok((draft.body.to_owned(), String::new()));
        }
        let fail = |reason: String| StoreError::Failed(format!("{}/{}: {reason}", draft.kind, draft.name));
        let mut fields: Fields = serde_json::from_str(draft.body).map_err(|error| fail(error.to_string()))?;
        let sealed = self.sealer.seal(draft.kind, draft.name, &mut fields, draft.secrets).map_err(fail)?;
        let body = serde_json::to_string(&fields).map_err(|error| fail(error.to_string()))?;
        Ok((body, sealed.join(",")))
    }
}

/// Increments the revision. Called first in a transaction: the row lock serializes writers, so that revisions become
/// visible in order.
pub(super) async fn next_revision(open: &mut Writing) -> Result<i64, StoreError> {
    let rows = open.fetch("UPDATE meta SET rev = rev + 1 WHERE id = 1 RETURNING rev", &[]).await?;
    rows.first().ok_or_else(|| StoreError::Corrupt("the revision counter is missing".into()))?.get(0)
}

async fn current(open: &mut Writing, kind: &str, name: &str) -> Result<Option<Row>, StoreError> {
    const ONE: &str = concat!("SELECT ", columns!(), " FROM documents WHERE kind = $1 AND name = $2");
    Ok(open.fetch(ONE, &[kind.into(), name.into()]).await?.pop())
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
    draft: &Draft<'_>,
    body: &str,
    sealed: &str,
    [revision, created_at, updated_at]: [i64; 3],
    actor: &str,
) -> Result<(), StoreError> {
    const UPSERT: &str = "INSERT INTO documents (kind, name, body, sealed, revision, created_at, updated_at, updated_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body, \
         sealed = excluded.sealed, revision = excluded.revision, updated_at = excluded.updated_at, \
         updated_by = excluded.updated_by";
    let values = [
        draft.kind.into(),
        draft.name.into(),
        body.into(),
        sealed.into(),
        revision.into(),
        created_at.into(),
        updated_at.into(),
        actor.into(),
    ];
    open.execute(UPSERT, &values).await.map(|_| ())
}

async fn refer(open: &mut Writing, draft: &Draft<'_>) -> Result<(), StoreError> {
    let own = [draft.kind.into(), draft.name.into()];
    open.execute("DELETE FROM document_references WHERE kind = $1 AND name = $2", &own).await?;
    for (kind, name) in draft.references {
        const ADD: &str = "INSERT INTO document_references (kind, name, ref_kind, ref_name) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (kind, name, ref_kind, ref_name) DO NOTHING";
        open.execute(ADD, &[draft.kind.into(), draft.name.into(), (*kind).into(), name.into()]).await?;
    }
    Ok(())
}

async fn unreferenced(open: &mut Writing, kind: &str, name: &str) -> Result<(), StoreError> {
    const REFERRERS: &str = "SELECT kind, name FROM document_references WHERE ref_kind = $1 AND ref_name = $2 \
         AND NOT (kind = $1 AND name = $2) ORDER BY kind, name LIMIT 100";
    let rows = open.fetch(REFERRERS, &[kind.into(), name.into()]).await?;
    let mut referrers = Vec::with_capacity(rows.len());
    for row in &rows {
        referrers.push(format!("{}/{}", row.get::<String>(0)?, row.get::<String>(1)?));
    }
    if referrers.is_empty() {
        return Ok(());
    }
    let message = format!("'{name}' is in use by {}.", referrers.join(", "));
    Err(StoreError::Conflict { message, referrers })
}

pub(super) async fn record(open: &mut Writing, entry: Entry<'_>) -> Result<(), StoreError> {
    const RECORD: &str = "INSERT INTO changes (revision, at, actor, kind, name, action, old_body, new_body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = [
        entry.revision.into(),
        entry.at.micros().into(),
        entry.actor.into(),
        entry.kind.into(),
        entry.name.into(),
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
