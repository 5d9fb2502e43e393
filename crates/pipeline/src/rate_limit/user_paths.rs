//! Limits the distinct user paths per key. Every path that is served has rows and sums of its own, in memory and in the
//! database, and a client can name any path below its key's.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use domain::fault::{self, Fault};
use domain::principal::{KeyFacts, Principal};
use domain::user_path::UserPath;
use parking_lot::RwLock;

/// User paths that one key can name within `WINDOW`, beside its own.
pub const PATHS_PER_KEY: usize = 10_000;

/// The window starts with the first path that a key names, and again with the first one after its end.
pub const WINDOW: Duration = Duration::from_secs(24 * 3600);

/// The user paths that keys have named. The master key is not limited.
#[derive(Default)]
pub struct UserPaths {
    keys: RwLock<HashMap<Arc<str>, NamedPaths>>,
    hasher: RandomState,
}

/// Hashes instead of paths: 10,000 paths of 500 bytes would be 5 MB per key.
struct NamedPaths {
    since: Duration,
    hashes: HashSet<u64>,
}

impl NamedPaths {
    fn is_expired(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= WINDOW
    }
}

impl UserPaths {
    /// Counts a path that a call names; refuses it if the key has named too many.
    pub fn admit(&self, principal: &Principal, path: &UserPath, now: Duration) -> Result<(), Fault> {
        let Some(key) = named_by(principal, path) else { return Ok(()) };
        let hash = self.hasher.hash_one(path.as_str());
        // Nearly all calls name a known path, and only need the read lock.
        if self.check(key, hash, now)? {
            return Ok(());
        }
        let mut keys = self.keys.write();
        if !keys.contains_key(&key.id) {
            // Also drops the paths of keys that are no longer used.
            keys.retain(|_, named| !named.is_expired(now));
            keys.insert(key.id.clone(), NamedPaths { since: now, hashes: HashSet::new() });
        }
        let Some(named) = keys.get_mut(&key.id) else { return Ok(()) };
        if named.is_expired(now) {
            *named = NamedPaths { since: now, hashes: HashSet::new() };
        }
        // Another call may have been counted between the two locks.
        if named.hashes.len() >= PATHS_PER_KEY && !named.hashes.contains(&hash) {
            return Err(too_many());
        }
        named.hashes.insert(hash);
        Ok(())
    }

    /// Whether a call that names the path would be refused. Counts nothing.
    pub fn preview(&self, principal: &Principal, path: &UserPath, now: Duration) -> Result<(), Fault> {
        match named_by(principal, path) {
            Some(key) => self.check(key, self.hasher.hash_one(path.as_str()), now).map(drop),
            None => Ok(()),
        }
    }

    /// Whether the path is known. Fails if it is not and the key has named too many already.
    fn check(&self, key: &KeyFacts, hash: u64, now: Duration) -> Result<bool, Fault> {
        let keys = self.keys.read();
        let Some(named) = keys.get(&key.id).filter(|named| !named.is_expired(now)) else { return Ok(false) };
        match named.hashes.contains(&hash) {
            true => Ok(true),
            false if named.hashes.len() >= PATHS_PER_KEY => Err(too_many()),
            false => Ok(false),
        }
    }
}

/// The key of a call that names a path other than the key's own.
fn named_by<'a>(principal: &'a Principal, path: &UserPath) -> Option<&'a KeyFacts> {
    let key = principal.key()?;
    let is_own = match &key.user_path {
        Some(own) => own == path,
        None => path.as_str() == "/",
    };
    (!is_own).then_some(key)
}

fn too_many() -> Fault {
    let message = format!(
        "Too many user paths: calls of this key have named {PATHS_PER_KEY} different ones within 24 hours. Name one of those in \
         X-Gateway-User-Path, leave the header out, or use another key."
    );
    fault::invalid_parameter("X-Gateway-User-Path", message)
}
