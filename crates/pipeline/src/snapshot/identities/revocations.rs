//! Revoked tokens.

use std::collections::HashMap;

use domain::clock::Timestamp;
use domain::principal::TokenFacts;
use store::{RevokedBy, TokenRevocation};

/// The tokens that are refused, by issuer and value; an empty issuer stands for all.
#[derive(Clone, Default)]
pub struct Revocations(HashMap<(RevokedBy, String), HashMap<String, Revoked>>);

/// The times of a revocation.
#[derive(Clone, Copy)]
struct Revoked {
    at: Timestamp,
    /// The end of the last token that it names, if it is known.
    expires_at: Option<Timestamp>,
}

impl Revocations {
    /// The revocations with these added, without those of tokens that have expired.
    #[must_use]
    pub fn with(&self, added: Vec<TokenRevocation>, now: Timestamp) -> Self {
        let mut all = self.0.clone();
        for TokenRevocation { by, issuer, value, revoked_at, expires_at } in added {
            all.entry((by, issuer)).or_default().insert(value, Revoked { at: revoked_at, expires_at });
        }
        all.retain(|_, values| {
            values.retain(|_, revoked| revoked.expires_at.is_none_or(|end| end > now));
            !values.is_empty()
        });
        Self(all)
    }

    /// Whether a token is revoked: by its id, or because it was issued before its subject or issuer was revoked.
    pub fn refuse(&self, token: &TokenFacts) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let revoked_at = |by: RevokedBy, value: &str| {
            let issuers = [&*token.issuer, ""];
            let found =
                issuers.iter().filter_map(|issuer| self.0.get(&(by, (*issuer).to_owned()))?.get(value));
            found.map(|revoked| revoked.at).max()
        };
        // Issuers write whole seconds, so a token of the same second is taken for an earlier one.
        let was_issued_before =
            |at: Timestamp| token.issued_at.is_none_or(|issued| issued.seconds() <= at.seconds());
        token.jti.as_deref().is_some_and(|jti| revoked_at(RevokedBy::Jti, jti).is_some())
            || revoked_at(RevokedBy::Subject, &token.subject).is_some_and(was_issued_before)
            || revoked_at(RevokedBy::Issuer, "").is_some_and(was_issued_before)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn token(issuer: &str, subject: &str, jti: Option<&str>, issued_at: Option<i64>) -> TokenFacts {
        let grant = crate::snapshot::identities::users::unlimited_grant("token_1", "name");
        TokenFacts {
            digest: [0; 32],
            issuer: issuer.into(),
            subject: subject.into(),
            jti: jti.map(Into::into),
            issued_at: issued_at.map(Timestamp::from_seconds),
            grant: Arc::new(grant),
        }
    }

    fn revocation(by: RevokedBy, issuer: &str, value: &str) -> TokenRevocation {
        let revoked_at = Timestamp::from_seconds(100);
        TokenRevocation { by, issuer: issuer.into(), value: value.into(), revoked_at, expires_at: None }
    }

    fn with(added: Vec<TokenRevocation>) -> Revocations {
        Revocations::default().with(added, Timestamp::from_seconds(100))
    }

    #[test]
    fn revocations_of_expired_tokens_are_dropped() {
        let until = |value: &str, end: i64| TokenRevocation {
            expires_at: Some(Timestamp::from_seconds(end)),
            ..revocation(RevokedBy::Jti, "i", value)
        };
        let before = with(vec![until("short", 150), until("long", 300)]);
        assert!(before.refuse(&token("i", "s", Some("short"), None)));
        let after = before.with(Vec::new(), Timestamp::from_seconds(150));
        assert!(!after.refuse(&token("i", "s", Some("short"), None)));
        assert!(after.refuse(&token("i", "s", Some("long"), None)));
    }

    #[test]
    fn revocations_refuse_what_they_name() {
        let by_jti = with(vec![revocation(RevokedBy::Jti, "i", "j")]);
        assert!(by_jti.refuse(&token("i", "s", Some("j"), Some(500))));
        assert!(!by_jti.refuse(&token("other", "s", Some("j"), Some(1))));
        assert!(!by_jti.refuse(&token("i", "s", None, None)));
        let by_subject = with(vec![revocation(RevokedBy::Subject, "", "s")]);
        for (issued_at, refused) in [(Some(99), true), (Some(100), true), (Some(101), false), (None, true)] {
            assert_eq!(by_subject.refuse(&token("i", "s", None, issued_at)), refused, "{issued_at:?}");
        }
        assert!(!by_subject.refuse(&token("i", "other", None, None)));
        let by_issuer = with(vec![revocation(RevokedBy::Issuer, "i", "")]);
        assert!(by_issuer.refuse(&token("i", "s", None, Some(1))));
        assert!(
            !by_issuer.refuse(&token("i", "s", None, Some(200)))
                && !by_issuer.refuse(&token("k", "s", None, None))
        );
    }
}
