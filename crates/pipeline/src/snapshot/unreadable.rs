//! Stored documents that this process cannot read or compile, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Reasons by (kind, name). Reasons name fields and positions, never values, since a body may hold decrypted secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unreadable(Arc<BTreeMap<(String, String), String>>);

impl Unreadable {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The documents as (kind, name), in order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.keys().map(|(kind, name)| (kind.as_str(), name.as_str()))
    }

    pub fn insert(&mut self, kind: &str, name: &str, reason: String) {
        Arc::make_mut(&mut self.0).insert((kind.to_owned(), name.to_owned()), reason);
    }

    pub fn remove(&mut self, kind: &str, name: &str) {
        if !self.0.is_empty() {
            Arc::make_mut(&mut self.0).remove(&(kind.to_owned(), name.to_owned()));
        }
    }

    /// Replaces all entries of these kinds by those of a new compilation.
    pub fn replace(&mut self, kinds: &[&str], found: Self) {
        if self.0.is_empty() && found.is_empty() {
            return;
        }
        let entries = Arc::make_mut(&mut self.0);
        entries.retain(|(kind, _), _| !kinds.contains(&kind.as_str()));
        entries.extend(found.0.iter().map(|(key, reason)| (key.clone(), reason.clone())));
    }

    /// Logs the entries that are new or have another reason than before.
    pub fn log_since(&self, before: &Self) {
        for ((kind, name), reason) in self.0.iter() {
            if before.0.get(&(kind.clone(), name.clone())) != Some(reason) {
                tracing::error!(kind, name, reason, "stored document cannot be read");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compilation_replaces_its_own_kinds_only() {
        let mut all = Unreadable::default();
        all.insert("auth_key", "a", "x".into());
        all.insert("pool", "p", "x".into());
        let mut found = Unreadable::default();
        found.insert("alias", "q", "y".into());
        all.replace(&["pool", "alias"], found.clone());
        let mut expected = found;
        expected.insert("auth_key", "a", "x".into());
        assert_eq!(all, expected);
        all.remove("auth_key", "a");
        all.replace(&["alias"], Unreadable::default());
        assert!(all.is_empty());
    }
}
