//! The audit log: requests and responses, in rows linked by a hash chain.

pub(crate) mod append;
mod chain;
mod conversation;
mod filter;
mod log;
mod matching;
mod retention;
mod row;
mod stats;
#[cfg(test)]
mod tests;
mod verify;

use std::sync::Arc;

use domain::receipt::Receipt;

use crate::audit::append::Appender;
use crate::audit::chain::ChainKey;
use crate::database::Database;

pub use crate::audit::filter::{AuditFilter, AuditSort};
pub use crate::audit::log::{AuditCursor, AuditPage, AuditSlice, AuditTotal};
pub use crate::audit::stats::{AuditBucket, AuditStats};
pub use crate::audit::verify::{AuditBreak, AuditVerification};

/// An entry of the audit log: a receipt with audit data. One that was read has only the fields that its row holds.
pub type AuditEntry = Receipt;

#[derive(Clone)]
pub struct Audit {
    database: Database,
    key: Arc<ChainKey>,
    pub(crate) appender: Appender,
}

impl Audit {
    pub(crate) fn new(database: Database, sealing_key: &[u8; 32]) -> Self {
        let key = Arc::new(ChainKey::derive(sealing_key));
        let appender = Appender::new(database.is_postgres(), key.clone());
        Self { database, key, appender }
    }

    /// Appends entries for receipts that did not pass through a journal; used by the generator.
    #[cfg(feature = "generate")]
    pub async fn keep(
        &self,
        chain: &str,
        receipts: &[domain::receipt::Receipt],
    ) -> Result<(), crate::StoreError> {
        let audited = receipts.iter().filter(|receipt| receipt.audit.is_some());
        let entries: Vec<AuditEntry> = audited.cloned().collect();
        let mut open = self.database.begin().await?;
        self.appender.append(&mut open, chain, &entries, false).await?;
        open.commit().await
    }
}
