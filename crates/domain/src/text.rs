//! Limits on the length of texts.

/// The first `characters` of a text.
pub fn clip(text: &str, characters: usize) -> &str {
    // A text of that many bytes has no more characters; nearly all texts are this short.
    if text.len() <= characters {
        return text;
    }
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn characters_are_not_cut() {
        for (text, characters, expected) in [
            ("", 0, ""),
            ("ab", 2, "ab"),
            ("abc", 2, "ab"),
            ("äöü", 2, "äö"),
            ("äöü", 3, "äöü"),
            ("ä", 0, ""),
        ] {
            assert_eq!(clip(text, characters), expected);
        }
    }
}
