//! Stored documents that do not compile, with the reason and the time since.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;

/// A document that does not compile. Reasons name fields and positions, never values, because a body may hold decrypted
/// secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentError<'a> {
    pub kind: &'static str,
    pub name: &'a str,
    pub error: &'a str,
    /// The time at which this process first failed to compile it.
    pub since: Timestamp,
}

/// The errors of a compilation, or of all documents of a snapshot, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentErrors(Arc<BTreeMap<(&'static str, String), Failure>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    error: String,
    since: Timestamp,
}

impl DocumentErrors {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The errors, by kind and name.
    pub fn iter(&self) -> impl Iterator<Item = DocumentError<'_>> {
        self.0.iter().map(|((kind, name), failure)| DocumentError {
            kind,
            name,
            error: &failure.error,
            since: failure.since,
        })
    }

    /// Adds a document that did not compile at this time.
    pub fn report(&mut self, kind: &'static str, name: &str, error: String, at: Timestamp) {
        Arc::make_mut(&mut self.0).insert((kind, name.to_owned()), Failure { error, since: at });
    }

    /// Replaces the errors of the documents that were compiled again by those of the new compilation. A document that
    /// still does not compile keeps its `since`.
    pub fn replace(&mut self, recompiled: impl Fn(&str, &str) -> bool, found: Self) {
        if self.0.is_empty() && found.is_empty() {
            return;
        }
        let mut found = Arc::unwrap_or_clone(found.0);
        Arc::make_mut(&mut self.0).retain(|(kind, name), before| {
            if let Some(failure) = found.get_mut(&(*kind, name.clone())) {
                failure.since = before.since;
            }
            !recompiled(kind, name)
        });
        Arc::make_mut(&mut self.0).extend(found);
    }

    /// Replaces the errors of whole kinds of documents, after all documents of these kinds were compiled again.
    pub fn replace_kinds(&mut self, kinds: &[&str], found: Self) {
        self.replace(|kind, _| kinds.contains(&kind), found);
    }

    /// Logs the errors of a tenant's documents that are new or have another reason than before.
    pub fn log_since(&self, tenant: &str, before: &Self) {
        for ((kind, name), Failure { error, .. }) in self.0.iter() {
            if before.0.get(&(*kind, name.clone())).is_none_or(|known| known.error != *error) {
                tracing::error!(tenant, kind, name, error, "stored document does not compile");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(entries: &[(&'static str, &str, &str, i64)]) -> DocumentErrors {
        let mut errors = DocumentErrors::default();
        for (kind, name, error, at) in entries {
            errors.report(kind, name, (*error).to_owned(), Timestamp(*at));
        }
        errors
    }

    #[test]
    fn a_compilation_replaces_the_errors_of_its_own_documents_only() {
        let mut all = errors(&[("auth_key", "a", "x", 1), ("pool", "p", "x", 1)]);
        all.replace_kinds(&["pool", "alias"], errors(&[("alias", "q", "y", 2)]));
        assert_eq!(all, errors(&[("auth_key", "a", "x", 1), ("alias", "q", "y", 2)]));
        all.replace(|kind, name| (kind, name) == ("auth_key", "b"), DocumentErrors::default());
        assert_eq!(all.len(), 2);
        all.replace(|_, _| true, DocumentErrors::default());
        assert!(all.is_empty());
    }

    #[test]
    fn a_document_that_still_fails_keeps_the_time_of_its_first_failure() {
        let mut all = errors(&[("pool", "p", "x", 1), ("pool", "q", "x", 1)]);
        all.replace(|_, _| true, errors(&[("pool", "p", "another reason", 2), ("pool", "r", "x", 2)]));
        assert_eq!(all, errors(&[("pool", "p", "another reason", 1), ("pool", "r", "x", 2)]));
        // One that was repaired in between starts again.
        all.replace(|_, _| true, DocumentErrors::default());
        all.replace(|_, _| true, errors(&[("pool", "p", "x", 3)]));
        assert_eq!(all.iter().map(|error| error.since).collect::<Vec<_>>(), [Timestamp(3)]);
    }
}
