//! Tests of restoring: every split equals the whole, and what is altered stays and is counted.

use proptest::prelude::*;

use super::*;
use crate::kind::{Label, PiiKind};
use crate::placeholder::{MaskStyle, Masker, ScopeKey};

const VALUES: [(PiiKind, &str); 4] = [
    (PiiKind::Email, "a@b.example"),
    (PiiKind::Email, "c@d.example"),
    (PiiKind::PrivateKey, "-----BEGIN PRIVATE KEY-----\n\"x\""),
    (PiiKind::Phone, "+49 30 901820"),
];

/// A map, and the placeholders of the values.
fn masked() -> (Arc<PlaceholderMap>, Vec<String>) {
    let mut masker = Masker::new(MaskStyle::Reversible(ScopeKey::new(&[3; 32])));
    let placeholders = VALUES.map(|(kind, value)| masker.mask(Label::Pii(kind), value).into_owned());
    (Arc::new(masker.into_map()), placeholders.to_vec())
}

/// Restores pieces and checks after each that no more is held than the start of a placeholder.
fn restore_in_pieces(pieces: &[&str], map: &Arc<PlaceholderMap>, placeholders: &[String]) -> Restored {
    let mut restorer = Restorer::new(Arc::clone(map), RestoreTarget::Text);
    let mut text = String::new();
    let mut pushed = String::new();
    for piece in pieces {
        restorer.push(piece, &mut text);
        pushed.push_str(piece);
        let is_start = |held: &str| placeholders.iter().any(|whole| whole != held && whole.starts_with(held));
        let longest =
            (0..pushed.len()).find(|start| pushed.is_char_boundary(*start) && is_start(&pushed[*start..]));
        assert_eq!(restorer.held_bytes(), longest.map_or(0, |start| pushed.len() - start), "{pushed}");
    }
    restorer.finish(&mut text);
    Restored { text, restored: restorer.restored(), altered: restorer.altered() }
}

proptest! {
    #[test]
    fn every_split_equals_the_whole(
        parts in proptest::collection::vec((0..8_usize, any::<prop::sample::Index>()), 0..8),
    ) {
        let (map, placeholders) = masked();
        let text: String = parts.iter().map(|(choice, cut)| match choice {
            0..4 => placeholders[*choice].clone(),
            4 => placeholders[0].chars().take(cut.index(14)).collect(),
            5 => "[[".to_owned(),
            6 => " é] ".to_owned(),
            _ => "EMAIL_".to_owned(),
        }).collect();
        let expected = restore(&text, &map, RestoreTarget::Text);
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (first, second) = text.split_at(cut);
            prop_assert_eq!(&restore_in_pieces(&[first, second], &map, &placeholders), &expected);
        }
        let replaced = VALUES.iter().zip(&placeholders).fold(text, |text, ((_, value), placeholder)| {
            text.replace(placeholder.as_str(), value)
        });
        prop_assert_eq!(expected.text, replaced);
    }
}

#[test]
fn only_a_started_placeholder_is_held() {
    let (map, placeholders) = masked();
    let mut restorer = Restorer::new(map, RestoreTarget::Text);
    let mut output = String::new();
    restorer.push("see [1] and [", &mut output);
    assert_eq!((output.as_str(), restorer.held_bytes()), ("see [1] and ", 1));
    restorer.push(&placeholders[0][1..6], &mut output);
    assert_eq!(restorer.held_bytes(), 6);
    restorer.push(&placeholders[0][6..], &mut output);
    assert_eq!(
        (output.as_str(), restorer.held_bytes(), restorer.restored()),
        ("see [1] and a@b.example", 0, 1)
    );
}

#[test]
fn altered_placeholders_stay_and_are_counted() {
    let (map, placeholders) = masked();
    let code = placeholders[0].trim_start_matches("[EMAIL_").trim_end_matches(']').to_owned();
    let check = |text: &str, altered: usize| {
        let expected = Restored { text: text.to_owned(), restored: 0, altered };
        assert_eq!(restore(text, &map, RestoreTarget::Text), expected);
    };
    check(&format!("[Email_{code}]"), 1);
    check(&format!("**EMAIL_{code}**, [ EMAIL_{code} ] and email_{}", code.to_uppercase()), 3);
    check("[EMAIL_zzzzz] and [EMAIL_zz", 1);
    check("EMAIL_zzzzz, api_key_id, [EMAIL], [API_KEY] and [email]", 0);
    let twice = restore(&format!("{0}{0}", placeholders[0]), &map, RestoreTarget::Text);
    let expected = Restored { text: "a@b.examplea@b.example".to_owned(), restored: 2, altered: 0 };
    assert_eq!(twice, expected);
    let empty = Arc::new(PlaceholderMap::default());
    assert_eq!(restore("[EMAIL_zzzzz]", &empty, RestoreTarget::Text).altered, 0);
}

#[test]
fn values_are_escaped_in_json() {
    let (map, placeholders) = masked();
    let json = format!(r#"{{"key": "{}"}}"#, placeholders[2]);
    let restored = restore(&json, &map, RestoreTarget::Json);
    assert_eq!(restored.text, r#"{"key": "-----BEGIN PRIVATE KEY-----\n\"x\""}"#);
}
