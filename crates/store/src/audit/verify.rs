//! Verification: walks every chain from its start, recomputes every link and compares it with the stored one.

use domain::clock::Timestamp;
use serde::Serialize;

use super::Audit;
use super::chain::ChainRecord;
use super::row::{self, Field};
use crate::StoreError;
use crate::database::{Row, Value, sql};

const BATCH: i64 = 100;
/// Number of walks of a chain that changes while it is being walked.
const ATTEMPTS: usize = 5;

/// The result of verifying all chains.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AuditVerification {
    pub chains: u64,
    pub rows: u64,
    /// The first break of each chain; empty if all chains are intact.
    pub breaks: Vec<AuditBreak>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditBreak {
    /// `changed`, `missing`, `cut_off`, `added`, `foreign_chain`, `missing_chain` or `changed_record`.
    pub kind: &'static str,
    pub chain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,
    /// The id of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    pub message: String,
}

impl AuditBreak {
    fn new(kind: &'static str, chain: &str, message: impl Into<String>) -> Self {
        Self { kind, chain: chain.to_owned(), sequence: None, id: None, at: None, message: message.into() }
    }

    fn at(mut self, sequence: i64, row: Option<&Link>) -> Self {
        self.sequence = Some(sequence);
        self.id = row.map(|row| row.id.clone());
        self.at = row.map(|row| row.at.micros());
        self
    }
}

/// A row of a chain.
struct Link {
    sequence: i64,
    hash: String,
    at: Timestamp,
    id: String,
    /// `None` if a column holds a value of another type than was written.
    fields: Option<Vec<Field>>,
}

impl Audit {
    /// Verifies all chains; trusts nothing but the sealing key. The gateway may keep writing meanwhile.
    pub async fn verify(&self) -> Result<AuditVerification, StoreError> {
        let mut found = AuditVerification::default();
        let records = self.chains().await?;
        for (expected, record) in (1..).zip(&records) {
            found.chains += 1;
            if record.number != expected && found.breaks.iter().all(|broken| broken.kind != "missing_chain") {
                let message =
                    format!("chain number {expected} is gone: this one has number {}", record.number);
                found.breaks.push(AuditBreak::new("missing_chain", &record.chain, message));
            }
            let (rows, broken) = self.walk_patiently(record).await?;
            found.rows += rows;
            found.breaks.extend(broken);
        }
        for chain in self.strangers().await? {
            let message = "these rows belong to a chain that was never begun";
            found.breaks.push(AuditBreak::new("foreign_chain", &chain, message));
        }
        Ok(found)
    }

    async fn walk_patiently(&self, record: &ChainRecord) -> Result<(u64, Option<AuditBreak>), StoreError> {
        let mut record = record.clone();
        for _ in 1..ATTEMPTS {
            let (rows, broken) = self.walk(&record).await?;
            let now = self.chains().await?.into_iter().find(|now| now.chain == record.chain);
            match now {
                // The chain was extended or cut during the walk, so the break may be a false one: walk it again.
                Some(now) if broken.is_some() && now != record => record = now,
                _ => return Ok((rows, broken)),
            }
        }
        self.walk(&record).await
    }

    async fn walk(&self, record: &ChainRecord) -> Result<(u64, Option<AuditBreak>), StoreError> {
        let chain = &record.chain;
        if self.key.seal(record) != record.seal {
            let message = "what is recorded of this chain was changed, or sealed with another ENCRYPTION_KEY";
            return Ok((0, Some(AuditBreak::new("changed_record", chain, message))));
        }
        if let Some(link) =
            self.links(chain, 0).await?.first().filter(|link| link.sequence < record.first_sequence)
        {
            let message = "this row was added before the beginning of its chain";
            return Ok((0, Some(AuditBreak::new("added", chain, message).at(link.sequence, Some(link)))));
        }
        let (mut next, mut before) = (record.first_sequence, record.anchor.clone());
        let mut rows = 0;
        loop {
            let links = self.links(chain, next).await?;
            let Some(last) = links.last().map(|link| link.sequence) else { break };
            for link in &links {
                if link.sequence >= record.length && next >= record.length && before == record.head {
                    return Ok((rows, self.beyond(record, link).await?));
                }
                if link.sequence != next {
                    let message = format!("{} rows are missing before this one", link.sequence - next);
                    return Ok((rows, Some(AuditBreak::new("missing", chain, message).at(next, Some(link)))));
                }
                if !self.follows(link, &before, chain, next) {
                    let message = "this row is not the one that was written";
                    return Ok((rows, Some(AuditBreak::new("changed", chain, message).at(next, Some(link)))));
                }
                before.clone_from(&link.hash);
                next += 1;
                rows += 1;
            }
            next = next.max(last + 1);
        }
        if next < record.length || before != record.head {
            let message = format!("the last {} rows are gone", record.length - next);
            return Ok((rows, Some(AuditBreak::new("cut_off", chain, message).at(next, None))));
        }
        Ok((rows, None))
    }

    fn follows(&self, link: &Link, before: &str, chain: &str, sequence: i64) -> bool {
        let Some(fields) = &link.fields else { return false };
        let values: Vec<Value<'_>> = fields.iter().map(Field::value).collect();
        self.key.link(before, chain, sequence, &values) == link.hash
    }

    /// Checks a row after the recorded end of a chain: it is legitimate if the record has advanced meanwhile.
    async fn beyond(&self, record: &ChainRecord, link: &Link) -> Result<Option<AuditBreak>, StoreError> {
        let now = self.chains().await?.into_iter().find(|now| now.chain == record.chain);
        if now.is_some_and(|now| now.length > link.sequence && self.key.seal(&now) == now.seal) {
            return Ok(None);
        }
        let message = "this row was added behind the end of its chain";
        Ok(Some(AuditBreak::new("added", &record.chain, message).at(link.sequence, Some(link))))
    }

    async fn links(&self, chain: &str, from: i64) -> Result<Vec<Link>, StoreError> {
        let text = sql(format!(
            "SELECT sequence, hash, {} FROM audit WHERE chain = $1 AND sequence >= $2 ORDER BY sequence LIMIT $3",
            row::columns()
        ));
        let rows = self.database.fetch(text, &[chain.into(), from.into(), BATCH.into()]).await?;
        let link = |row: &Row| {
            Ok(Link {
                sequence: row.get(0)?,
                hash: row.get(1).unwrap_or_default(),
                at: Timestamp(row.get(2).unwrap_or_default()),
                id: row.get(3).unwrap_or_default(),
                fields: row::content(row, 2).ok(),
            })
        };
        rows.iter().map(link).collect()
    }

    /// Chains that have rows but no record, found by skipping from one chain to the next.
    async fn strangers(&self) -> Result<Vec<String>, StoreError> {
        const NEXT: &str = "SELECT MIN(chain) FROM audit WHERE chain > $1";
        let mut strangers = Vec::new();
        let mut last = String::new();
        loop {
            let rows = self.database.fetch(NEXT, &[(&last).into()]).await?;
            let Some(chain) = rows.first().map(|row| row.get::<Option<String>>(0)).transpose()?.flatten()
            else {
                return Ok(strangers);
            };
            let known = "SELECT 1 FROM audit_chains WHERE chain = $1";
            let known = self.database.fetch(known, &[(&chain).into()]).await?;
            if known.is_empty() {
                strangers.push(chain.clone());
            }
            last = chain;
        }
    }
}
