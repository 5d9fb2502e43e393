//! Tool call ids as Anthropic accepts them (letters, digits, `_` and `-`), the same for a call and its result.

use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(super) struct Ids {
    given: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Ids {
    /// The id of a new call. Some servers restart their numbering every turn; ids are made unique here.
    pub(super) fn call(&mut self, id: &str) -> String {
        let clean = clean(id);
        let mut unique = clean.clone();
        for number in 2.. {
            if !self.taken.contains(&unique) {
                break;
            }
            unique = format!("{clean}_{number}");
        }
        self.taken.insert(unique.clone());
        self.given.insert(id.to_owned(), unique.clone());
        unique
    }

    /// The id of the call that a result answers: the latest one with that id.
    pub(super) fn result(&self, id: &str) -> String {
        self.given.get(id).cloned().unwrap_or_else(|| clean(id))
    }
}

fn clean(id: &str) -> String {
    if id.is_empty() {
        return "call".to_owned();
    }
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    id.chars().map(|character| if fits(character) { character } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_cleaned_alike_and_kept_apart() {
        let mut ids = Ids::default();
        for (id, given) in [
            ("toolu_01-a", "toolu_01-a"),
            ("call.1|é", "call_1__"),
            ("call:1|é", "call_1___2"),
            ("", "call"),
            ("toolu_01-a", "toolu_01-a_2"),
        ] {
            assert_eq!(ids.call(id), given);
            assert_eq!(ids.result(id), given);
        }
        assert_eq!(ids.result("call.1|é"), "call_1__");
    }
}
