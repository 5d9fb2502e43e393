//! What an admin can change: one file per document, one trait for what they share.

pub mod auth_key;
pub mod provider;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// A kind of document. The store keeps it, the snapshot compiles it, the admin API serves it.
pub trait Resource: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The kind's name in storage and in change records.
    const KIND: &'static str;
    /// Top-level fields that are sealed at rest and masked in change records.
    const SECRETS: &'static [&'static str] = &[];

    /// The unique name within its kind.
    fn name(&self) -> &str;

    /// Everything that can be judged without looking at other documents.
    fn validate(&self) -> Result<(), Fault>;

    /// Documents this one names, as (kind, name): they cannot be deleted while it does.
    fn references(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
