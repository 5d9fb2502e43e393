//! The paths in Rust code: those of `use` trees, and those written out with `crate::` or `super::`.

/// Every path with the line it starts in. A `use` tree yields one path per leaf, with the name it is bound to last.
pub fn paths_in(code: &str) -> Vec<(usize, Vec<String>)> {
    let words = words(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let starts_path = at == 0 || words[at - 1].1 != "::";
        match words[at].1 {
            "use" => at = read_tree(&words, at + 1, &mut Vec::new(), &mut found),
            "crate" | "super" if starts_path => at = read_path(&words, at, &mut found),
            _ => at += 1,
        }
    }
    found
}

type Word<'a> = (usize, &'a str);

/// Identifiers and punctuation with their lines; `::` is one word.
fn words(code: &str) -> Vec<Word<'_>> {
    let (mut words, mut line, mut at) = (Vec::new(), 1, 0);
    while let Some(first) = code[at..].chars().next() {
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        let length = match first {
            _ if is_name(first) => code[at..].find(|other| !is_name(other)).unwrap_or(code.len() - at),
            ':' if code[at..].starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() {
            words.push((line, &code[at..at + length]));
        }
        line += usize::from(first == '\n');
        at += length;
    }
    words
}

/// Reads a path outside a `use` and returns the position behind it.
fn read_path(words: &[Word<'_>], start: usize, found: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut path = vec![words[start].1.to_owned()];
    let mut at = start + 1;
    while let [(_, "::"), (_, name), ..] = words[at..]
        && name.starts_with(|first: char| first.is_alphabetic() || first == '_')
    {
        path.push(name.to_owned());
        at += 2;
    }
    found.push((words[start].0, path));
    at
}

/// Reads a `use` tree and returns the position behind it.
fn read_tree(
    words: &[Word<'_>],
    mut at: usize,
    prefix: &mut Vec<String>,
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let depth = prefix.len();
    while let Some((line, word)) = words.get(at).copied() {
        at += 1;
        match word {
            "{" => {
                while words.get(at).is_some_and(|(_, next)| *next != "}") {
                    at = read_tree(words, at, prefix, found);
                    at += usize::from(words.get(at).is_some_and(|(_, next)| *next == ","));
                }
                at += 1;
                break;
            }
            "::" => {}
            name => {
                prefix.push(name.to_owned());
                match words.get(at).map(|(_, next)| *next) {
                    Some("::") => {}
                    Some("as") => {
                        prefix.extend(words.get(at + 1).map(|(_, alias)| (*alias).to_owned()));
                        found.push((line, prefix.clone()));
                        at += 2;
                        break;
                    }
                    _ => {
                        found.push((line, prefix.clone()));
                        break;
                    }
                }
            }
        }
    }
    prefix.truncate(depth);
    at
}

#[test]
fn trees_are_expanded_and_written_paths_are_found() {
    let code =
        "use crate::{a::{self, B}, c as d};\nfn f(x: &crate::e::F<'_>) { super::g::<u8>(crate::h()); }\n";
    let found: Vec<(usize, String)> =
        paths_in(code).into_iter().map(|(line, path)| (line, path.join("::"))).collect();
    let expected = [
        (1, "crate::a::self"),
        (1, "crate::a::B"),
        (1, "crate::c::d"),
        (2, "crate::e::F"),
        (2, "super::g"),
        (2, "crate::h"),
    ];
    assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
}
