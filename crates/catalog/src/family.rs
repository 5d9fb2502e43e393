//! Model families: ids that differ only in date, size or host and may substitute for one another.

use domain::model::Category;

use crate::guess::likely_mode;

/// Id prefixes, matched at the start of a word, and the family that each stands for. The match nearest to the start of
/// the id wins; of several at the same position, the first in this list wins.
const FAMILIES: &[(&str, &str)] = &[
    ("gpt-oss", "gpt-oss"),
    ("gpt-3.5", "gpt-3.5"),
    ("gpt-35", "gpt-3.5"),
    ("gpt-4o", "gpt-4o"),
    ("chatgpt-4o", "gpt-4o"),
    ("gpt-4.1", "gpt-4.1"),
    ("gpt-4.5", "gpt-4.5"),
    ("gpt-4", "gpt-4"),
    ("gpt-5", "gpt-5"),
    ("gpt-6", "gpt-6"),
    ("gpt-7", "gpt-7"),
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gemma", "gemma"),
    ("codegemma", "gemma"),
    ("llama", "llama"),
    ("codellama", "llama"),
    ("muse", "muse"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("pixtral", "mistral"),
    ("codestral", "codestral"),
    ("devstral", "devstral"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("qvq", "qwen"),
    ("deepseek", "deepseek"),
    ("grok", "grok"),
    ("command", "command"),
    ("aya", "aya"),
    ("glm", "glm"),
    ("chatglm", "glm"),
    ("kimi", "kimi"),
    ("moonshot", "moonshot"),
    ("minimax", "minimax"),
    ("sonar", "sonar"),
    ("nova", "nova"),
    ("titan", "titan"),
    ("phi", "phi"),
    ("nemotron", "nemotron"),
    ("granite", "granite"),
    ("jamba", "jamba"),
    ("hermes", "hermes"),
    ("ernie", "ernie"),
    ("hunyuan", "hunyuan"),
    ("seed", "seed"),
    ("doubao", "doubao"),
    ("mimo", "mimo"),
    ("lfm", "lfm"),
    ("olmo", "olmo"),
    ("solar", "solar"),
    ("falcon", "falcon"),
    ("dbrx", "dbrx"),
    ("yi", "yi"),
    ("palmyra", "palmyra"),
    ("reka", "reka"),
];

/// Product lines that are families of their own, as (family, word in the id, line): they differ too much to substitute
/// for one another.
const LINES: &[(&str, &str, &str)] = &[
    ("claude", "opus", "claude-opus"),
    ("claude", "sonnet", "claude-sonnet"),
    ("claude", "haiku", "claude-haiku"),
    ("claude", "instant", "claude-instant"),
    ("claude", "fable", "claude-fable"),
    ("gemini", "flash", "gemini-flash"),
    ("gemini", "pro", "gemini-pro"),
];

const O_SERIES: &str = "o-series";

/// The family of a model. `None` for unknown models and for models that do not generate text: embeddings of two models
/// of one family are not comparable, for example.
pub fn family(model: &str) -> Option<&'static str> {
    if likely_mode(model).category() != Category::TextGeneration {
        return None;
    }
    let lower = model.to_ascii_lowercase();
    let bare = bare(&lower);
    if is_o_series(bare) {
        return Some(O_SERIES);
    }
    let (at, family) = word_starts(bare).find_map(|at| Some((at, family_at(&bare[at..])?)))?;
    let is_line = |line: &&(&str, &str, &str)| {
        line.0 == family && bare[at..].split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == line.1)
    };
    Some(LINES.iter().find(is_line).map_or(family, |line| line.2))
}

/// Strips prefixes that precede the model's own name: `meta-llama/`, `us.anthropic.`, `ft:`.
fn bare(lower: &str) -> &str {
    let mut bare = lower.rsplit('/').next().unwrap_or(lower);
    bare = bare.strip_prefix("ft:").unwrap_or(bare);
    // A dot that belongs to the name follows a digit, as in `gpt-4.1`.
    while let Some((head, rest)) = bare.split_once('.') {
        let names_a_place = |c: char| c.is_ascii_lowercase() || c == '-';
        if rest.is_empty() || !head.chars().all(names_a_place) {
            break;
        }
        bare = rest;
    }
    bare
}

/// True for `o1`, `o3-mini` and the like: the letter `o` and digits only before the first separator.
fn is_o_series(bare: &str) -> bool {
    let first = bare.split(['-', ':', '@']).next().unwrap_or(bare);
    first
        .strip_prefix('o')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn word_starts(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let starts = |at: &usize| at.checked_sub(1).is_none_or(|before| !bytes[before].is_ascii_alphanumeric());
    (0..bytes.len()).filter(|at| bytes[*at].is_ascii_alphanumeric()).filter(starts)
}

/// The family whose prefix the text starts with. The prefix must end at a word boundary: `phi` matches `phi4` but not
/// `philosopher`, `gpt-4` does not match `gpt-45`.
fn family_at(rest: &str) -> Option<&'static str> {
    let fits = |(word, _): &&(&str, &str)| {
        let Some(after) = rest.strip_prefix(word) else { return false };
        let next = after.bytes().next();
        match word.ends_with(|c: char| c.is_ascii_digit()) {
            true => next.is_none_or(|next| !next.is_ascii_digit()),
            false => next.is_none_or(|next| !next.is_ascii_alphabetic()),
        }
    };
    FAMILIES.iter().find(fits).map(|(_, family)| *family)
}

#[cfg(test)]
mod tests;
