//! Managed keys by digest, in copy-on-write shards: a change copies one shard, not a hundred thousand entries.

use std::collections::HashMap;
use std::sync::Arc;

use domain::access::AccessLists;
use domain::principal::KeyFacts;
use domain::resources::auth_key::{self, AuthKey};
use domain::user_path::UserPath;

const SHARDS: usize = 256;

type Shard = HashMap<[u8; 32], Arc<KeyFacts>, foldhash::fast::RandomState>;

#[derive(Clone)]
pub struct Keys {
    shards: Vec<Arc<Shard>>,
    /// The digests of each key by id, to find the entries of a rotated or deleted key.
    places: Arc<HashMap<Arc<str>, KeyDigests>>,
}

#[derive(Clone)]
struct KeyDigests {
    current: [u8; 32],
    /// Digests of previous values; nearly always empty.
    earlier: Box<[[u8; 32]]>,
}

impl Default for Keys {
    fn default() -> Self {
        let empty = Arc::new(Shard::default());
        Self { shards: vec![empty; SHARDS], places: Arc::default() }
    }
}

impl Keys {
    pub fn find(&self, digest: &[u8; 32]) -> Option<&Arc<KeyFacts>> {
        self.shards[usize::from(digest[0])].get(digest)
    }

    pub fn by_id(&self, id: &str) -> Option<&Arc<KeyFacts>> {
        self.find(&self.places.get(id)?.current).filter(|facts| &*facts.id == id)
    }

    /// Every key once, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<KeyFacts>> {
        self.places.keys().filter_map(|id| self.by_id(id))
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Applies changes: the id of a key and the facts of each of its values, current one first. No values removes the
    /// key. A value belongs to one key: a second key with the same one does not get it.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = (String, Vec<KeyFacts>)>) {
        let changes: Vec<_> = changes.into_iter().collect();
        let places = Arc::make_mut(&mut self.places);
        // All old values first: one may have moved from a changed key to another.
        for (id, _) in &changes {
            let Some(old) = places.remove(id.as_str()) else { continue };
            for digest in std::iter::once(&old.current).chain(&old.earlier) {
                let shard = &mut self.shards[usize::from(digest[0])];
                if shard.get(digest).is_some_and(|facts| *facts.id == **id) {
                    Arc::make_mut(shard).remove(digest);
                }
            }
        }
        for (_, values) in changes {
            let Some((current, earlier)) = values.split_first() else { continue };
            let place = KeyDigests {
                current: current.digest,
                earlier: earlier.iter().map(|facts| facts.digest).collect(),
            };
            places.insert(current.id.clone(), place);
            for facts in values {
                let shard = &mut self.shards[usize::from(facts.digest[0])];
                match shard.get(&facts.digest).filter(|holder| holder.id != facts.id) {
                    Some(holder) => {
                        tracing::error!(
                            key = &*facts.id,
                            holder = &*holder.id,
                            "value of another key ignored"
                        );
                    }
                    None => _ = Arc::make_mut(shard).insert(facts.digest, Arc::new(facts)),
                }
            }
        }
    }
}

/// Compiles a stored key, or returns the reason it cannot be used: its current value first, then the previous ones. A
/// previous value is the same key with an earlier expiry, so that authentication needs no special case.
pub fn compile(key: &AuthKey) -> Result<Vec<KeyFacts>, String> {
    let current = facts(key)?;
    let mut values = Vec::with_capacity(1 + key.previous.len());
    for previous in &key.previous {
        let ends = current.expires_at.map_or(previous.valid_until, |end| end.min(previous.valid_until));
        let digest = digest(&previous.digest)?;
        values.push(KeyFacts { digest, expires_at: Some(ends), ..current.clone() });
    }
    values.insert(0, current);
    Ok(values)
}

fn facts(key: &AuthKey) -> Result<KeyFacts, String> {
    // The reason is shown to admins; it names the field and not its value.
    let parse = |path: &str| UserPath::parse(path).map_err(|_| "its user_path is not a user path".to_owned());
    let user_path = key.user_path.as_deref().map(parse).transpose()?;
    Ok(KeyFacts {
        id: key.id.as_str().into(),
        name: key.name.as_str().into(),
        searchable: format!("{}\n{}", key.description, key.redacted_value).into(),
        digest: digest(&key.digest)?,
        scopes: key.scopes.clone(),
        user_path,
        tenant_id: key.tenant_id.as_deref().map(Into::into),
        lists: AccessLists {
            allowed_providers: key.allowed_providers.clone(),
            allowed_models: key.allowed_models.clone(),
            denied_models: key.denied_models.clone().unwrap_or_default(),
        },
        provider_pool: key.provider_pool_id.as_deref().map(Into::into),
        rate_limits: key.rate_limits.clone(),
        expires_at: key.expires_at,
        active: key.deactivated_at.is_none(),
    })
}

fn digest(text: &str) -> Result<[u8; 32], String> {
    auth_key::parse_digest(text).ok_or_else(|| "its digest is not 64 hex digits".to_owned())
}

#[cfg(test)]
mod tests;
