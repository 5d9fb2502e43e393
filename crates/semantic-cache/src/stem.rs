//! Stems of English words: inflection is removed, word formation is kept.

/// Removes plural, tense, comparative and adverb endings. The result is a key for comparison, not a word.
pub fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    if UNINFLECTED.contains(&word) {
        return word.to_owned();
    }
    let mut stem = strip_plural(word);
    for ending in ["ing", "ed", "est", "er", "ly"] {
        if let Some(rest) = stem.strip_suffix(ending)
            && is_stem(rest, ending)
        {
            stem = undouble(rest).to_owned();
            break;
        }
    }
    if stem.len() > 3
        && let Some(rest) = stem.strip_suffix('e')
    {
        stem = rest.to_owned();
    }
    if stem.len() > 2 && stem.ends_with('y') && !ends_with_vowel(&stem[..stem.len() - 1]) {
        stem.pop();
        stem.push('i');
    }
    stem
}

fn strip_plural(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies")
        && rest.len() > 1
    {
        return format!("{rest}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let is_plural = word.ends_with('s') && !["ss", "us", "is", "as", "os"].iter().any(|e| word.ends_with(e));
    word[..word.len() - usize::from(is_plural)].to_owned()
}

/// Whether the rest of a word without this ending can be a word: long enough and with a vowel.
fn is_stem(rest: &str, ending: &str) -> bool {
    let least = match ending {
        // "number", "water", "order" and "interest" are no comparatives.
        "er" | "est" => return COMPARABLE.contains(&undouble(rest)),
        "ly" => 4,
        // "need" and "speed" have no ending.
        "ed" if rest.ends_with('e') => return false,
        _ => 3,
    };
    rest.len() >= least && rest.chars().any(is_vowel)
}

/// Adjectives, without a final e or with i for y, whose comparative and superlative are those of the same quality.
const COMPARABLE: [&str; 56] = [
    "bigg", "big", "small", "larg", "great", "tall", "short", "long", "old", "young", "new", "cheap", "fast",
    "slow", "quick", "hot", "cold", "warm", "cool", "high", "low", "hard", "soft", "strong", "weak", "rich",
    "poor", "light", "heavi", "easi", "happi", "healthi", "busi", "earli", "late", "lat", "near", "close",
    "clos", "deep", "wide", "wid", "safe", "saf", "smart", "clean", "dark", "bright", "thick", "thin",
    "loud", "quiet", "simpl", "simple", "nice", "nic",
];

/// Words that mean something else than their base form: "bored" and "boring", "glass" and "glasses", "late" and "lately".
const UNINFLECTED: [&str; 40] = [
    "amusing",
    "annoying",
    "boring",
    "confusing",
    "depressing",
    "disappointing",
    "disgusting",
    "embarrassing",
    "exciting",
    "exhausting",
    "fascinating",
    "frightening",
    "frustrating",
    "inspiring",
    "interesting",
    "relaxing",
    "satisfying",
    "scaring",
    "shocking",
    "surprising",
    "terrifying",
    "tiring",
    "worrying",
    "arms",
    "customs",
    "glasses",
    "goods",
    "news",
    "pants",
    "savings",
    "spectacles",
    "https",
    "ftps",
    "lately",
    "really",
    "generally",
    "normally",
    "commonly",
    "truly",
    "exactly",
];

/// "running" is "runn" without its ending: the doubled consonant goes too.
fn undouble(rest: &str) -> &str {
    let mut last = rest.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !is_vowel(a) && !matches!(a, 'l' | 's' | 'z') && rest.len() > 3 => {
            &rest[..rest.len() - 1]
        }
        _ => rest,
    }
}

fn ends_with_vowel(word: &str) -> bool {
    word.chars().next_back().is_some_and(|c| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u'))
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}
