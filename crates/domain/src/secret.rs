//! A secret string: no `Display`, a redacting `Debug`, zeroized on drop.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroize;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The plain value. Every use deserves attention in a review.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters, for display; `None` for short secrets.
    pub fn last4(&self) -> Option<&str> {
        let start = self.0.char_indices().rev().nth(3)?.0;
        (self.0.len() >= 12).then(|| &self.0[start..])
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Serializes as `***`; stored documents opt out field by field with [`expose`].
impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

/// For `#[serde(serialize_with = "secret::expose")]` on stored fields, which the store encrypts before writing.
pub fn expose<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.reveal()),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_in_debug_output() {
        let secret = Secret::new("sk-very-secret-1234");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"***\"");
        assert_eq!(secret.last4(), Some("1234"));
        assert_eq!(Secret::new("short").last4(), None);
    }
}
