//! Maps tool call ids that Anthropic would reject to legal ones for clients of the Messages format, and back.
//!
//! The mapping is reversible and stateless: a conversation that began on one provider can continue at Anthropic, and
//! the provider that issued an id gets it back unchanged.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The prefix of a mapped id; the original follows in the URL-safe base64 alphabet, which Anthropic accepts.
const PREFIX: &str = "toolu_gw_";

/// Whether Anthropic accepts this id: `^[a-zA-Z0-9_-]+$`.
pub fn is_legal(id: &[u8]) -> bool {
    !id.is_empty() && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The id itself if it is legal, else a legal one that [`restore`] maps back.
pub fn to_legal(id: &str) -> Cow<'_, str> {
    if is_legal(id.as_bytes()) && original(id).is_none() {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(id)))
}

/// Restores the provider's own id.
pub fn restore(id: String) -> String {
    original(&id).unwrap_or(id)
}

/// The id that was mapped to this one, if any.
fn original(id: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(id.strip_prefix(PREFIX)?).ok()?;
    let original = String::from_utf8(bytes).ok()?;
    // A legal id is mapped only if it looks like a mapped one.
    let was_mapped = !is_legal(original.as_bytes()) || original.starts_with(PREFIX);
    was_mapped.then_some(original)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn legal_ids_stay_as_they_are() {
        for id in ["toolu_01AbC", "call_x-1", "toolu_gw_", "toolu_gw_plain"] {
            let restored = restore(to_legal(id).into_owned());
            assert_eq!(restored, id);
        }
        assert_eq!(to_legal("toolu_01AbC"), "toolu_01AbC");
        assert_eq!(restore("toolu_gw_plain".to_owned()), "toolu_gw_plain");
    }

    #[test]
    fn illegal_ids_are_mapped_and_restored() {
        for id in ["functions.read_file:0", "call|é", "", " ", "a/b"] {
            let legal = to_legal(id).into_owned();
            assert!(is_legal(legal.as_bytes()) && legal != id, "{id} -> {legal}");
            assert_eq!(restore(legal), id);
        }
    }

    proptest! {
        #[test]
        fn every_id_survives_the_round_trip(id in "(toolu_gw_)?\\PC{0,24}", again in any::<bool>()) {
            let id = if again { to_legal(&id).into_owned() } else { id };
            let legal = to_legal(&id).into_owned();
            prop_assert!(is_legal(legal.as_bytes()));
            prop_assert_eq!(restore(legal), id);
        }
    }
}
