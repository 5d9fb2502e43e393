//! Tests that the input is extracted intact however it is split and escaped.

use proptest::prelude::*;

use super::*;

/// Every character as `\uXXXX`, those beyond the basic plane as a surrogate pair.
fn escaped(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("{{ \"input\" :\n\"{units}\" , \"more\": [1] }}")
}

fn in_pieces(arguments: &str, cuts: &[usize]) -> String {
    let mut unwrapper = Unwrapper::default();
    let mut said = String::new();
    let mut rest = arguments;
    for cut in cuts {
        let at = rest.char_indices().map(|(at, _)| at).nth(*cut).unwrap_or(rest.len());
        said.push_str(&unwrapper.read(&rest[..at]));
        rest = &rest[at..];
    }
    said.push_str(&unwrapper.read(rest));
    said + &unwrapper.finish()
}

proptest! {
    #[test]
    fn any_text_is_unwrapped_at_any_chunk_boundaries(text in any::<String>(), cuts in prop::collection::vec(0usize..9, 0..40)) {
        prop_assert_eq!(&in_pieces(&custom::wrap(&text), &cuts), &text);
        prop_assert_eq!(in_pieces(&escaped(&text), &cuts), text);
    }

    #[test]
    fn other_wrappings_unwrap_like_the_whole_input(
        arguments in "(\\{\"[a-z]{1,6}\": ?)?[a-z0-9 \"{}:,]{0,20}", cuts in prop::collection::vec(0usize..5, 0..9),
    ) {
        prop_assume!(!arguments.replace(' ', "").starts_with(WRAPPING));
        prop_assert_eq!(in_pieces(&arguments, &cuts), custom::unwrap(&arguments));
    }
}

#[test]
fn nothing_waits_and_odd_shapes_are_kept() {
    let mut unwrapper = Unwrapper::default();
    assert_eq!(unwrapper.read("{\"input\":\"ab"), "ab");
    assert_eq!(unwrapper.read("c\\"), "c");
    assert_eq!(unwrapper.read("nd\""), "\nd");
    assert_eq!(unwrapper.read("}"), "");
    assert_eq!(unwrapper.finish(), "");
    for (arguments, input) in [
        ("{\"input\":\"cut off", "cut off"),
        ("{\"input\":\"\\ud83d", "\u{fffd}"),
        ("{\"input\":\"\\ud83dx\"}", "\u{fffd}x"),
        ("{\"input\":5}", "{\"input\":5}"),
        ("{\"other\":1,\"input\":\"x\"}", "x"),
        ("*** Begin Patch", "*** Begin Patch"),
        ("", ""),
        ("{}", "{}"),
    ] {
        assert_eq!(in_pieces(arguments, &[1, 1, 1]), input, "{arguments}");
    }
}
