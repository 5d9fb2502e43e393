//! The digest of the credential that a connection sent last.

use domain::resources::auth_key;
use domain::secret::Secret;
use parking_lot::Mutex;

use crate::call::constant_time;

/// Keeps the digest of one credential. Clients send the same credential with every request of a connection, and hashing it
/// takes most of the time of authentication. Whether it is valid is decided for each request.
#[derive(Default)]
pub struct CredentialDigest(Mutex<Option<LastCredential>>);

/// Longer credentials are not kept: they are tokens, which are known by other means, or not credentials at all, and an idle
/// connection should hold little memory.
const MAX_KEPT: usize = 256;

struct LastCredential {
    credential: Secret,
    digest: [u8; 32],
}

impl CredentialDigest {
    /// The digest of this credential.
    pub fn of(&self, credential: &str) -> [u8; 32] {
        if credential.len() > MAX_KEPT {
            return auth_key::digest(credential);
        }
        let mut last = self.0.lock();
        // In constant time, because a proxy may send the credentials of several callers over one connection.
        let is_last = |last: &&LastCredential| {
            constant_time::is_same(last.credential.reveal().as_bytes(), credential.as_bytes())
        };
        if let Some(last) = last.as_ref().filter(is_last) {
            return last.digest;
        }
        let digest = auth_key::digest(credential);
        *last = Some(LastCredential { credential: Secret::new(credential), digest });
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_credential_whatever_was_sent_before() {
        let kept = CredentialDigest::default();
        for credential in ["one", "one", "two", "on", "one", "", "ones", "one"] {
            assert_eq!(kept.of(credential), auth_key::digest(credential), "{credential}");
        }
        let long = "x".repeat(MAX_KEPT + 1);
        assert_eq!(kept.of(&long), auth_key::digest(&long));
        assert_eq!(
            kept.0.lock().as_ref().map(|last| last.credential.reveal()),
            Some("one"),
            "too long to be kept"
        );
    }
}
