//! The compiled configuration in force: immutable, replaced as a whole, and pinned by each call.

pub mod keys;
pub mod unreadable;

use std::sync::Arc;

use crate::routing::routes::Routes;
use keys::Keys;
use unreadable::Unreadable;

#[derive(Clone)]
pub struct Snapshot {
    /// The storage revision this was compiled from.
    pub revision: i64,
    /// SHA-256 of the master key.
    pub master: [u8; 32],
    pub keys: Keys,
    pub routes: Arc<Routes>,
    /// Documents that cannot be used. They are reported and do not affect the others.
    pub broken: Unreadable,
}
