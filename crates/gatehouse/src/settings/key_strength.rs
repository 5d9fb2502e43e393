//! The strength of a configured master key.

use domain::secret::Secret;

const SHORTEST: usize = 16;
/// Placeholders in examples, compared without case and punctuation.
const PLACEHOLDERS: [&str; 2] = ["changeme", "replaceme"];

/// The reason why a key is too weak for a gateway that others can reach. The message does not contain the key.
pub fn weakness(key: &Secret) -> Option<&'static str> {
    let key = key.reveal();
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    if key.contains("${") {
        Some("contains a ${…} that was not expanded")
    } else if PLACEHOLDERS.iter().any(|placeholder| plain.contains(placeholder)) {
        Some("is the placeholder of an example")
    } else if key.chars().count() < SHORTEST {
        Some("is shorter than 16 characters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_keys_are_recognized() {
        for (key, weak) in [
            ("short", true),
            ("fifteen-letters", true),
            ("sixteen-letters!", false),
            ("changeme", true),
            ("Change-Me_change-me-please", true),
            ("replace_me_with_a_long_key", true),
            ("${GATEWAY_MASTER_KEY}", true),
            ("prefix-of-a-key-${SECRET:-}", true),
            ("gm_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6", false),
        ] {
            assert_eq!(weakness(&Secret::new(key)).is_some(), weak, "{key}");
        }
    }
}
