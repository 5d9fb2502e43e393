//! The compiled configuration in force: immutable, replaced as a whole, and pinned by each call.

pub mod document_errors;
pub mod guardrails;
pub mod identities;
pub mod keys;
pub mod section;
pub mod workflows;

use std::sync::Arc;

use domain::clock::Timestamp;

use crate::routing::routes::Routes;
use document_errors::DocumentErrors;
use guardrails::Guardrails;
use identities::Identities;
use keys::Keys;
use workflows::Workflows;

#[derive(Clone)]
pub struct Snapshot {
    /// The storage revision this was compiled from.
    pub revision: i64,
    pub compiled_at: Timestamp,
    /// SHA-256 of the master key.
    pub master: [u8; 32],
    pub keys: Keys,
    /// Sessions, users and tokens.
    pub identities: Identities,
    pub routes: Arc<Routes>,
    pub guardrails: Arc<Guardrails>,
    pub workflows: Arc<Workflows>,
    /// Documents that do not compile. They are reported and do not affect the others.
    pub document_errors: DocumentErrors,
}
