//! Masks credentials that a provider repeats in the message of a 401 or 403.

const MASK: &str = "***";

/// Prefixes of the API keys that providers hand out.
const PREFIXES: [&str; 13] =
    ["sk-", "sk_", "gsk_", "xai-", "AIza", "pplx-", "hf_", "nvapi-", "jina_", "fw_", "tgp_", "key-", "AKIA"];

/// Replaces words that look like an API key, also partly masked ones (`sk-proj-****abcd`): the exact values of our own
/// secrets are removed elsewhere, but a client must not see a part of one either.
pub fn mask_credentials(message: &str) -> String {
    let mut masked = String::with_capacity(message.len());
    let mut follows_scheme = false;
    for piece in message.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let core = word.trim_matches(is_punctuation);
        if !core.is_empty() && (follows_scheme || is_credential(core)) {
            masked.push_str(&word.replacen(core, MASK, 1));
            masked.push_str(&piece[word.len()..]);
        } else {
            masked.push_str(piece);
        }
        follows_scheme = core.eq_ignore_ascii_case("bearer") && !word.ends_with(is_punctuation);
    }
    masked
}

fn is_punctuation(letter: char) -> bool {
    matches!(letter, '.' | ',' | ';' | ':' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>')
}

fn is_credential(word: &str) -> bool {
    // `key=sk-…` and `"key":"sk-…"` are one word.
    let value = word.rsplit(['=', ':', '"', '\'']).next().unwrap_or(word);
    word.contains("**")
        || PREFIXES.iter().any(|prefix| value.len() > prefix.len() && value.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_masked_and_the_rest_is_kept() {
        for (message, expected) in [
            (
                "Incorrect API key provided: sk-proj-****abcd. You can find it at https://platform.openai.com/api-keys.",
                "Incorrect API key provided: ***. You can find it at https://platform.openai.com/api-keys.",
            ),
            ("invalid x-api-key", "invalid x-api-key"),
            ("Got 'Authorization: Bearer abc.def', denied", "Got 'Authorization: Bearer ***', denied"),
            ("key=gsk_abc is revoked", "*** is revoked"),
            (
                "Project `proj_1` does not have access to model `gpt-4o-mini-2024-07-18`",
                "Project `proj_1` does not have access to model `gpt-4o-mini-2024-07-18`",
            ),
            ("Token ab****yz\nwas revoked", "Token ***\nwas revoked"),
        ] {
            assert_eq!(mask_credentials(message), expected);
        }
    }
}
