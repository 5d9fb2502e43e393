//! Whole numbers in settings, which may arrive as text.

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

/// Reads a number that is written as a number or as text.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<Written>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Written::Number(number)) => Ok(Some(number)),
        Some(Written::Text(text)) => {
            let refused = |_| serde::de::Error::custom(format!("'{text}' is not a whole number"));
            text.trim().parse().map(Some).map_err(refused)
        }
    }
}
