//! Documents: all configuration that an admin can change, in one table with its history.

pub mod batch;
pub mod collection;
pub mod encryption_key;
pub mod key;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use domain::clock::{Clock, Timestamp};

use crate::StoreError;
use crate::database::{Database, Row, Value, placeholders, sql};
use crate::seal::{Fields, Sealer};

use key::{DEFAULT_TENANT, DocumentKey};

/// The untyped documents of every kind that one tenant has, and the change log.
#[derive(Clone)]
pub struct Documents {
    database: Database,
    sealer: Arc<Sealer>,
    clock: Arc<dyn Clock>,
    tenant: Arc<str>,
}

/// A stored document with its secrets decrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct RawDocument {
    pub tenant: String,
    pub kind: String,
    pub name: String,
    /// JSON; as stored if `broken`.
    pub body: String,
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub updated_by: String,
    /// The reason why this document cannot be used; other documents are not affected.
    pub broken: Option<String>,
}

/// An entry of the change log; secrets are masked in both bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub revision: i64,
    pub at: Timestamp,
    pub actor: String,
    /// The tenant of the document; empty for the default tenant.
    pub tenant: String,
    pub kind: String,
    pub name: String,
    /// `create`, `update` or `delete`.
    pub action: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// The changes of every tenant, and not those of the collection's tenant alone.
    pub all_tenants: bool,
    pub kind: Option<String>,
    pub name: Option<String>,
    pub actor: Option<String>,
    /// Only changes before this revision: the cursor of a page.
    pub before_revision: Option<i64>,
    pub limit: i64,
}

macro_rules! columns {
    () => {
        "kind, name, body, sealed, revision, created_at, updated_at, updated_by, tenant"
    };
}
pub(crate) use columns;

impl Documents {
    pub(crate) fn new(database: Database, sealer: Arc<Sealer>, clock: Arc<dyn Clock>, tenant: &str) -> Self {
        Self { database, sealer, clock, tenant: tenant.into() }
    }

    /// The documents of another tenant.
    pub fn of_tenant(&self, tenant: &str) -> Self {
        Self { tenant: tenant.into(), ..self.clone() }
    }

    /// The tenant whose documents these are; empty for the default tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The documents of all tenants but the default one, by tenant, kind and name.
    pub async fn of_all_tenants(&self) -> Result<Vec<RawDocument>, StoreError> {
        const ALL: &str =
            concat!("SELECT ", columns!(), " FROM documents WHERE tenant > $1 ORDER BY tenant, kind, name");
        let rows = self.database.fetch(ALL, &[DEFAULT_TENANT.into()]).await?;
        rows.iter().map(|row| self.read(row)).collect()
    }

    fn key<'a>(&'a self, kind: &'a str, name: &'a str) -> DocumentKey<'a> {
        DocumentKey { tenant: &self.tenant, kind, name }
    }

    /// The revision of the latest change of any tenant; 0 before the first.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        let rows = self.database.fetch("SELECT rev FROM meta WHERE id = 1", &[]).await?;
        rows.first().ok_or_else(|| StoreError::Corrupt("the revision counter is missing".into()))?.get(0)
    }

    pub async fn raw(&self, kind: &str) -> Result<Vec<RawDocument>, StoreError> {
        const ALL: &str =
            concat!("SELECT ", columns!(), " FROM documents WHERE tenant = $1 AND kind = $2 ORDER BY name");
        let rows = self.database.fetch(ALL, &[(&self.tenant).into(), kind.into()]).await?;
        rows.iter().map(|row| self.read(row)).collect()
    }

    /// The document with this name.
    pub async fn find(&self, kind: &str, name: &str) -> Result<Option<RawDocument>, StoreError> {
        const ONE: &str =
            concat!("SELECT ", columns!(), " FROM documents WHERE tenant = $1 AND kind = $2 AND name = $3");
        if name.contains('\0') {
            return Ok(None);
        }
        let rows = self.database.fetch(ONE, &self.key(kind, name).values()).await?;
        rows.first().map(|row| self.read(row)).transpose()
    }

    /// The existing documents with these names, in no particular order.
    pub(crate) async fn named(&self, kind: &str, names: &[&str]) -> Result<Vec<RawDocument>, StoreError> {
        const CHUNK: usize = 200;
        let mut found = Vec::with_capacity(names.len());
        for chunk in names.chunks(CHUNK) {
            let postgres = self.database.is_postgres();
            let further = |number: usize| match postgres {
                true => format!("${}", chunk.len() + number),
                false => "?".to_owned(),
            };
            let text = format!(
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM documents WHERE name IN {} AND kind = {} AND tenant = {}"
                ),
                placeholders(chunk.len(), 1, postgres),
                further(1),
                further(2),
            );
            let mut values: Vec<Value<'_>> = chunk.iter().map(|name| Value::from(*name)).collect();
            values.extend([kind.into(), Value::from(&self.tenant)]);
            for row in &self.database.fetch(sql(text), &values).await? {
                found.push(self.read(row)?);
            }
        }
        Ok(found)
    }

    /// A page of documents by name, starting after `after`.
    pub(crate) async fn page(
        &self,
        kind: &str,
        after: &str,
        limit: i64,
    ) -> Result<Vec<RawDocument>, StoreError> {
        const PAGE: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM documents WHERE tenant = $1 AND kind = $2 AND name > $3 ORDER BY name LIMIT $4"
        );
        let values = [(&self.tenant).into(), kind.into(), after.into(), limit.max(0).into()];
        let rows = self.database.fetch(PAGE, &values).await?;
        rows.iter().map(|row| self.read(row)).collect()
    }

    /// The changes of all tenants after a revision, oldest first; used by replicas to catch up.
    pub async fn changes_since(&self, revision: i64, limit: i64) -> Result<Vec<Change>, StoreError> {
        const SINCE: &str = "SELECT revision, at, actor, kind, name, action, old_body, new_body, tenant FROM changes \
             WHERE revision > $1 ORDER BY revision LIMIT $2";
        let rows = self.database.fetch(SINCE, &[revision.into(), limit.max(0).into()]).await?;
        rows.iter().map(read_change).collect()
    }

    /// The changes that match a filter, newest first.
    pub async fn changes(&self, filter: &ChangeFilter) -> Result<Vec<Change>, StoreError> {
        const NEWEST: &str = "SELECT revision, at, actor, kind, name, action, old_body, new_body, tenant FROM changes \
             WHERE revision < $1 AND ($2 = '' OR kind = $2) AND ($3 = '' OR name = $3) \
             AND ($7 = 1 OR tenant = $4) AND ($5 = '' OR actor = $5) ORDER BY revision DESC LIMIT $6";
        let name = filter.name.as_deref().unwrap_or_default();
        let kind = filter.kind.as_deref().unwrap_or_default();
        let actor = filter.actor.as_deref().unwrap_or_default();
        if [name, kind, actor].iter().any(|text| text.contains('\0')) {
            return Ok(Vec::new());
        }
        let before = filter.before_revision.unwrap_or(i64::MAX);
        let limit = filter.limit.max(0);
        let values = [
            before.into(),
            kind.into(),
            name.into(),
            (&self.tenant).into(),
            actor.into(),
            limit.into(),
            i64::from(filter.all_tenants).into(),
        ];
        self.database.fetch(NEWEST, &values).await?.iter().map(read_change).collect()
    }

    fn read(&self, row: &Row) -> Result<RawDocument, StoreError> {
        let mut document = RawDocument {
            tenant: row.get(8)?,
            kind: row.get(0)?,
            name: row.get(1)?,
            body: String::new(),
            revision: row.get(4)?,
            created_at: Timestamp(row.get(5)?),
            updated_at: Timestamp(row.get(6)?),
            updated_by: row.get(7)?,
            broken: None,
        };
        // SQLite accepts values of any type in any column; one row that is not text must not hide the others.
        let texts = row.get::<String>(2).and_then(|body| Ok((body, row.get::<String>(3)?)));
        let opened = texts.map_err(|_| "not text".to_owned()).and_then(|(body, sealed)| {
            document.body = body;
            self.open(&document, &sealed)
        });
        match opened {
            Ok(Some(body)) => document.body = body,
            Ok(None) => {}
            Err(reason) => document.broken = Some(reason),
        }
        Ok(document)
    }

    /// The body with its secrets decrypted, if it has any. The reason of a failure contains no values.
    fn open(&self, document: &RawDocument, sealed: &str) -> Result<Option<String>, String> {
        let mut fields: Fields = serde_json::from_str(&document.body).map_err(|error| {
            format!("not a JSON object (line {}, column {})", error.line(), error.column())
        })?;
        if sealed.is_empty() {
            return Ok(None);
        }
        let sealed: Vec<&str> = sealed.split(',').collect();
        let RawDocument { tenant, kind, name, .. } = document;
        self.sealer.open(&DocumentKey { tenant, kind, name }.location(), &mut fields, &sealed)?;
        serde_json::to_string(&fields).map(Some).map_err(|error| error.to_string())
    }
}

fn read_change(row: &Row) -> Result<Change, StoreError> {
    Ok(Change {
        revision: row.get(0)?,
        at: Timestamp(row.get(1)?),
        actor: row.get(2)?,
        kind: row.get(3)?,
        name: row.get(4)?,
        action: row.get(5)?,
        // A body that is not text is returned as absent, because replicas that follow this log must not stop at it.
        before: row.get(6).unwrap_or_default(),
        after: row.get(7).unwrap_or_default(),
        tenant: row.get(8)?,
    })
}
