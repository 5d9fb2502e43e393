//! Email addresses.

use super::PiiRule;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// The local part and the `@`. Letters of Latin, Greek and Cyrillic script may occur; scripts without spaces between
/// words may not, because the text before an address would become a part of it.
pub const RULE: PiiRule = PiiRule::new(
    PiiKind::Email,
    r"[A-Za-z0-9_\u{C0}-\u{24F}\u{370}-\u{4FF}][A-Za-z0-9._%+'\u{C0}-\u{24F}\u{370}-\u{4FF}-]{0,63}@",
    check,
);

const LONGEST_LOCAL: usize = 64;
const LONGEST_DOMAIN: usize = 253;
const LONGEST_LABEL: usize = 63;
/// Ends of file names such as `logo@2x.png`.
const FILE_TYPES: [&str; 14] =
    ["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "json", "html", "txt", "xml", "yaml", "pdf"];

fn check(found: &Occurrence<'_>) -> Verdict {
    let local = found.matched().trim_end_matches('@');
    let (_, before) = found.context();
    let is_part = local.chars().count() < LONGEST_LOCAL
        && before.ends_with(|last| last == '_' || is_domain_letter(last));
    if is_part || local.ends_with('.') || local.contains("..") {
        return Verdict::Invalid;
    }
    let rest = found.rest();
    let is_outside = |(position, character): &(usize, char)| {
        *position >= LONGEST_DOMAIN || !(is_domain_letter(*character) || matches!(character, '.' | '-'))
    };
    let end = match rest.char_indices().find(is_outside) {
        Some((end, _)) => end,
        None if found.is_end() => rest.len(),
        None => return Verdict::NeedsMore,
    };
    let Some(domain) = longest_domain(&rest[..end]) else { return Verdict::Invalid };
    // The address of a repository: `git@host:path`.
    if local == "git" && rest[domain..].starts_with(':') {
        return Verdict::Invalid;
    }
    found.part(0..found.matched().len() + domain)
}

/// The length of the longest domain at the start of a text.
fn longest_domain(text: &str) -> Option<usize> {
    let mut longest = None;
    let mut start = 0;
    for label in text.split('.') {
        let name = label.trim_end_matches('-');
        if name.is_empty() || name.len() > LONGEST_LABEL || name.starts_with('-') {
            break;
        }
        if start > 0 && is_top_level(name) {
            longest = Some(start + name.len());
        }
        if name.len() < label.len() {
            break;
        }
        start += label.len() + 1;
    }
    longest
}

fn is_domain_letter(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '\u{C0}'..='\u{24F}' | '\u{370}'..='\u{4FF}')
}

fn is_top_level(label: &str) -> bool {
    let letters = label.chars().count();
    let is_name = (2..=24).contains(&letters) && label.chars().all(char::is_alphabetic);
    (is_name || label.starts_with("xn--")) && !FILE_TYPES.contains(&label.to_ascii_lowercase().as_str())
}
