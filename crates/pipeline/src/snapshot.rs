//! The configuration in force, compiled: immutable, swapped as a whole, pinned by each call.

pub mod keys;
pub mod names;
pub mod routes;

use std::sync::Arc;

use keys::Keys;
use routes::Routes;

#[derive(Clone)]
pub struct Snapshot {
    /// The storage revision this was compiled from.
    pub revision: i64,
    /// SHA-256 of the master key.
    pub master: [u8; 32],
    pub keys: Keys,
    pub routes: Arc<Routes>,
    /// Documents that could not be compiled, as (kind/name, reason): reported, never in the way of the others.
    pub broken: Arc<Vec<(String, String)>>,
}
