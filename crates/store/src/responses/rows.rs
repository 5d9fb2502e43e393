//! Responses as rows: batched writes and reads.

use domain::clock::Timestamp;
use sqlx::SqlStr;

use super::{Owner, StoredResponse};
use crate::StoreError;
use crate::database::{Database, Row, Value, placeholders, sql};
use crate::write_behind::Aged;

const WIDTH: usize = 14;
/// Rows per INSERT statement. Two sizes, so that prepared statements are reused.
const SIZES: [usize; 2] = [16, 1];

macro_rules! columns {
    ($body:literal) => {
        concat!(
            "r.id, r.owner, r.user_path, r.tenant, r.provider, r.upstream_id, r.retrievable, r.usable, \
             r.previous, r.created_at, r.expires_at, r.input, r.output, ",
            $body
        )
    };
}
pub(super) use columns;

pub(super) const ONE: &str =
    concat!("SELECT ", columns!("r.body"), " FROM responses r WHERE r.id = $1 AND r.expires_at > $2");

/// The write statements, built once.
pub(super) struct Statements([SqlStr; SIZES.len()]);

impl Statements {
    pub fn new(postgres: bool) -> Self {
        Self(SIZES.map(|rows| {
            let values = placeholders(WIDTH, rows, postgres);
            sql(format!(
                "INSERT INTO responses (id, owner, user_path, tenant, provider, upstream_id, retrievable, usable, \
                 previous, created_at, expires_at, input, output, body) VALUES {values} \
                 ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, user_path = excluded.user_path, \
                 tenant = excluded.tenant, provider = excluded.provider, upstream_id = excluded.upstream_id, \
                 retrievable = excluded.retrievable, usable = excluded.usable, previous = excluded.previous, \
                 created_at = excluded.created_at, expires_at = excluded.expires_at, input = excluded.input, \
                 output = excluded.output, body = excluded.body \
                 WHERE responses.owner = excluded.owner AND responses.user_path = excluded.user_path"
            ))
        }))
    }

    /// Writes a batch in one transaction; each response replaces an older one with the same id and owner. Ids must be
    /// unique in the batch.
    pub async fn write(&self, database: &Database, batch: &[Aged<StoredResponse>]) -> Result<(), StoreError> {
        database
            .limited(async {
                let mut open = database.begin().await?;
                let mut rest = batch;
                for (size, text) in SIZES.iter().zip(&self.0) {
                    while rest.len() >= *size {
                        let (chunk, behind) = rest.split_at(*size);
                        rest = behind;
                        let mut values = Vec::with_capacity(size * WIDTH);
                        for (_, response) in chunk {
                            bind(response, &mut values)?;
                        }
                        open.execute(text.clone(), &values).await?;
                    }
                }
                open.commit().await
            })
            .await
    }
}

fn bind<'a>(response: &'a StoredResponse, values: &mut Vec<Value<'a>>) -> Result<(), StoreError> {
    values.extend([
        Value::from(&response.id),
        (&response.owner.key).into(),
        (&response.owner.user_path).into(),
        response.owner.tenant.as_deref().into(),
        (&response.provider).into(),
        (&response.upstream_id).into(),
        i64::from(response.retrievable).into(),
        i64::from(response.usable).into(),
        response.previous.as_deref().into(),
        response.created_at.micros().into(),
        response.expires_at.micros().into(),
    ]);
    for text in [&response.input, &response.output, &response.body] {
        let text = std::str::from_utf8(text)
            .map_err(|_| StoreError::Failed(format!("the response {} is not text", response.id)))?;
        values.push(text.into());
    }
    Ok(())
}

pub(super) fn read(row: &Row) -> Result<StoredResponse, StoreError> {
    Ok(StoredResponse {
        id: row.get(0)?,
        owner: Owner { key: row.get(1)?, user_path: row.get(2)?, tenant: row.get(3)? },
        provider: row.get(4)?,
        upstream_id: row.get(5)?,
        retrievable: row.get::<i64>(6)? != 0,
        usable: row.get::<i64>(7)? != 0,
        previous: row.get(8)?,
        created_at: Timestamp(row.get(9)?),
        expires_at: Timestamp(row.get(10)?),
        input: row.get::<String>(11)?.into(),
        output: row.get::<String>(12)?.into(),
        body: row.get::<String>(13)?.into(),
    })
}
