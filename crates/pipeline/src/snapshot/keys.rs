//! Managed keys by digest, in shards: a changed key copies one shard, not a hundred thousand entries.

use std::collections::HashMap;
use std::sync::Arc;

use domain::access::AccessLists;
use domain::caller::KeyFacts;
use domain::resources::auth_key::AuthKey;
use domain::user_path::UserPath;

const SHARDS: usize = 256;

type Shard = HashMap<[u8; 32], Arc<KeyFacts>, foldhash::fast::RandomState>;

#[derive(Clone)]
pub struct Keys {
    shards: Vec<Arc<Shard>>,
    /// Where each key's entry is, so that a rotated or deleted key is found again.
    digests: Arc<HashMap<Arc<str>, [u8; 32]>>,
}

impl Default for Keys {
    fn default() -> Self {
        let empty = Arc::new(Shard::default());
        Self { shards: vec![empty; SHARDS], digests: Arc::default() }
    }
}

impl Keys {
    pub fn find(&self, digest: &[u8; 32]) -> Option<&Arc<KeyFacts>> {
        self.shards[usize::from(digest[0])].get(digest)
    }

    pub fn by_id(&self, id: &str) -> Option<&Arc<KeyFacts>> {
        self.find(self.digests.get(id)?)
    }

    pub fn len(&self) -> usize {
        self.digests.len()
    }

    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// `None` as the facts removes the key.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = (String, Option<KeyFacts>)>) {
        let digests = Arc::make_mut(&mut self.digests);
        for (id, facts) in changes {
            if let Some(old) = digests.remove(id.as_str()) {
                Arc::make_mut(&mut self.shards[usize::from(old[0])]).remove(&old);
            }
            if let Some(facts) = facts {
                digests.insert(facts.id.clone(), facts.digest);
                Arc::make_mut(&mut self.shards[usize::from(facts.digest[0])])
                    .insert(facts.digest, Arc::new(facts));
            }
        }
    }
}

/// A stored key as the hot path wants it, or why it cannot be used.
pub fn compile(key: &AuthKey) -> Result<KeyFacts, String> {
    let user_path = key.user_path.as_deref().map(UserPath::parse).transpose()?;
    Ok(KeyFacts {
        id: key.id.as_str().into(),
        name: key.name.as_str().into(),
        digest: decode_hex(&key.digest).ok_or("its digest is not 64 hex digits")?,
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

fn decode_hex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0u8; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(id: &str, first: u8) -> KeyFacts {
        KeyFacts {
            id: id.into(),
            name: id.into(),
            digest: [first; 32],
            scopes: vec![],
            user_path: None,
            tenant_id: None,
            lists: AccessLists::default(),
            provider_pool: None,
            rate_limits: Default::default(),
            expires_at: None,
            active: true,
        }
    }

    #[test]
    fn a_rotated_key_leaves_its_old_digest() {
        let mut keys = Keys::default();
        keys.apply([("a".to_owned(), Some(facts("a", 1))), ("b".to_owned(), Some(facts("b", 2)))]);
        let before = keys.clone();
        keys.apply([("a".to_owned(), Some(facts("a", 3)))]);
        assert!(keys.find(&[1; 32]).is_none());
        assert!(keys.find(&[3; 32]).is_some());
        assert_eq!(keys.by_id("a").map(|key| key.digest), Some([3; 32]));
        assert!(before.find(&[1; 32]).is_some(), "a pinned snapshot does not change");
        keys.apply([("b".to_owned(), None)]);
        assert_eq!(keys.len(), 1);
        assert!(keys.by_id("b").is_none());
    }
}
