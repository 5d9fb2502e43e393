//! Vectors of texts by their words, for tests of the semantic cache.

/// Words that do not count, as an encoder would hardly count them.
const IGNORED: [&str; 16] = [
    "a", "an", "are", "can", "do", "how", "i", "is", "me", "of", "please", "tell", "the", "to", "what", "you",
];
const DIMENSIONS: usize = 512;

/// The vector of a text, of length 1: a count for each word, capitals and numbers aside. Texts of the same words have the
/// same vector, and each other word makes them less similar.
pub fn word_vector(text: &str) -> Vec<f32> {
    // Not zero for a text without words.
    let mut vector = vec![0.0_f32; DIMENSIONS];
    vector[0] = 0.01;
    let words = text.split(|letter: char| !letter.is_alphabetic()).map(str::to_lowercase);
    for word in words.filter(|word| !word.is_empty() && !IGNORED.contains(&&**word)) {
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        vector[(hash % DIMENSIONS as u64) as usize] += 1.0;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
