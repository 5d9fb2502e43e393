//! Emoji at the end of a text that add a mood and no meaning: "How do I cancel my order? 🙏".

/// Splits a text into its words and the decoration behind them.
pub fn split(text: &str) -> (&str, Vec<String>) {
    let end = text.trim_end_matches(|c: char| is_pictograph(c) || is_joiner(c) || c.is_whitespace());
    let tail = &text[end.len()..];
    let signs: Vec<String> = tail.chars().filter(|c| is_pictograph(*c)).map(String::from).collect();
    let ends_sentence = end.ends_with(['.', '?', '!']);
    let is_mood = tail.chars().filter(|c| is_pictograph(*c)).all(is_mood);
    // "Translate 😂" and "what does this mean 😂" are about the sign.
    let is_long = end.split_whitespace().count() > 3;
    let is_about_signs =
        ["mean", "emoji", "translat", "symbol", "caption"].iter().any(|word| end.contains(word));
    match is_long && !is_about_signs && (ends_sentence || is_mood) {
        true => (end, signs),
        false => (text, Vec::new()),
    }
}

fn is_pictograph(sign: char) -> bool {
    matches!(u32::from(sign), 0x2600..=0x27BF | 0x1F300..=0x1FAFF)
}

/// Variation selectors, joiners and skin tones.
fn is_joiner(sign: char) -> bool {
    matches!(u32::from(sign), 0xFE0F | 0x200D)
}

/// Faces, gestures and hearts.
fn is_mood(sign: char) -> bool {
    matches!(u32::from(sign),
        0x2639..=0x263A | 0x2728 | 0x2764 | 0x1F3FB..=0x1F3FF | 0x1F389 | 0x1F440..=0x1F450 | 0x1F493..=0x1F49F
        | 0x1F4AA | 0x1F525 | 0x1F600..=0x1F64F | 0x1F90C..=0x1F92F | 0x1F970..=0x1F97A)
}
