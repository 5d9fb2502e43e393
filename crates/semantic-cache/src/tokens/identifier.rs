//! Identifiers: addresses, paths and names in code, which are compared as they are written.

/// The identifier in a chunk between spaces, without the punctuation around it; `None` if the chunk is no identifier.
pub fn read(chunk: &str) -> Option<String> {
    if !is_identifier(chunk) {
        return None;
    }
    let end = |c: char| matches!(c, '.' | ',' | '?' | '!' | ';' | ':' | '"' | '\'' | '(' | ')' | '`');
    let name = chunk.trim_matches(end);
    Some(exact_form(&if chunk.starts_with('.') { format!(".{name}") } else { name.to_owned() }))
}

/// Whether a chunk between spaces is an address, a path or a name in code.
fn is_identifier(chunk: &str) -> bool {
    let core =
        chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '_' | '.' | '/'));
    let inner = core.trim_matches('.');
    let has_letter = inner.chars().any(char::is_alphabetic);
    let dotted = inner.split('.').collect::<Vec<_>>();
    let is_dotted = dotted.len() > 1
        && dotted
            .iter()
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "/-_".contains(c)))
        && dotted.iter().any(|part| part.len() > 1 && part.chars().any(char::is_alphabetic));
    has_letter
        && (core.contains("://")
            || core.contains("::")
            || core.contains('_')
            || core.contains('@')
            || core.contains('\\')
            || core.ends_with("++")
            || core.ends_with('#')
            || (core.starts_with('.') && !core.starts_with(".."))
            || (core.starts_with('/') && core.len() > 2)
            || core.matches('/').count() > 1
            || is_dotted
            || is_camel_case(core)
            || is_code(core))
}

/// Whether a word begins with a letter and has digits in it: `sha256`, `AB1234`. "5km" is a number with its unit.
fn is_code(word: &str) -> bool {
    word.starts_with(char::is_alphabetic)
        && word.chars().all(char::is_alphanumeric)
        && word.chars().any(|c| c.is_ascii_digit())
}

/// Whether a word is written like a name in code: `getUser`, `GetUserName`. Names such as JavaScript, iPhone and macOS are
/// written in many ways.
fn is_camel_case(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let is_hump = |w: &[char]| {
        (w[0].is_lowercase() || w[0].is_ascii_digit()) && w[1].is_uppercase() && w[2].is_lowercase()
    };
    let humps = letters.windows(3).filter(|window| is_hump(window)).count();
    let prefix = letters.iter().take_while(|letter| letter.is_lowercase()).count();
    letters.iter().all(|letter| letter.is_alphanumeric()) && (humps > 1 || (humps == 1 && prefix > 1))
}

/// The form in which an identifier is compared. Capitals count, unless it is written like a word: "Node.js" and "node.js",
/// "SHA256" and "sha256" are the same.
fn exact_form(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '+' | '#' | '-'));
    let has_usual_case = |part: &str| {
        part.chars().skip(1).all(|c| !c.is_uppercase()) || part.chars().all(|c| !c.is_lowercase())
    };
    match is_plain && name.split('.').all(has_usual_case) {
        true => name.to_lowercase(),
        false => name.to_owned(),
    }
}
