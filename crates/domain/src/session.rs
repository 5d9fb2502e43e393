//! Sessions as they are stored: dashboard cookies, access tokens and refresh tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::clock::Timestamp;
use crate::ids::Entropy;
use crate::resources::auth_key;
use crate::secret::Secret;

/// A stored session. Its value is only known to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// SHA-256 of the value.
    pub digest: [u8; 32],
    pub kind: SessionKind,
    /// The login or exchange that it comes from: logout, and the reuse of a refresh token, end all sessions of a family.
    pub family: String,
    pub owner: SessionOwner,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Set if it ended before it expired.
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// Sent by browsers as a cookie.
    Cookie,
    /// Sent as a bearer.
    Access,
    /// Exchanged once for new tokens.
    Refresh,
}

impl SessionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cookie => "cookie",
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Cookie, Self::Access, Self::Refresh].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The identity that opened a session, looked up again at every use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionOwner {
    /// The digest of the master key or of the value of a managed key.
    Credential([u8; 32]),
    /// The id of a user.
    User(String),
}

impl SessionOwner {
    pub fn to_text(&self) -> String {
        match self {
            Self::Credential(digest) => format!("key:{}", auth_key::digest_hex(digest)),
            Self::User(id) => format!("user:{id}"),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("key", digest) => auth_key::parse_digest(digest).map(Self::Credential),
            ("user", id) => Some(Self::User(id.to_owned())),
            _ => None,
        }
    }
}

/// Generates a session value: a prefix and 256 random bits.
pub fn mint(prefix: &str, entropy: &dyn Entropy) -> Secret {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    Secret::new(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_and_kinds_are_read_as_written() {
        for owner in [SessionOwner::Credential([171; 32]), SessionOwner::User("user_1".into())] {
            assert_eq!(SessionOwner::parse(&owner.to_text()), Some(owner));
        }
        for bad in ["", "key:", "key:zz", "other:x", "user"] {
            assert_eq!(SessionOwner::parse(bad), None, "{bad}");
        }
        assert_eq!(SessionKind::parse("access"), Some(SessionKind::Access));
        assert_eq!(SessionKind::parse("bearer"), None);
    }
}
