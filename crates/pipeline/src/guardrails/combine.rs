//! The combination of the edits of several guardrails of the same text.

use std::ops::Range;

/// The replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    pub range: Range<usize>,
    pub replacement: String,
}

/// Combines the edits of guardrails, given in their order, into edits from left to right without overlaps. Where edits
/// overlap, those of the first guardrail are kept, and the rest of the others gets their own replacements: no part of a
/// finding remains.
pub fn combine(edits: impl IntoIterator<Item = Vec<TextEdit>>) -> Vec<TextEdit> {
    edits.into_iter().reduce(merge).unwrap_or_default()
}

/// A text with the combined edits of guardrails; `None` if there are none.
pub fn apply_edits(text: &str, edits: impl IntoIterator<Item = Vec<TextEdit>>) -> Option<String> {
    let edits = combine(edits);
    if edits.is_empty() {
        return None;
    }
    let mut edited = String::with_capacity(text.len());
    write_edited(text, 0, 0..text.len(), &edits, &mut edited);
    Some(edited)
}

/// Merges two lists of edits, each from left to right without overlaps. The first one takes precedence.
fn merge(first: Vec<TextEdit>, second: Vec<TextEdit>) -> Vec<TextEdit> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let mut first = first.into_iter().peekable();
    let mut covered = 0;
    for TextEdit { range, replacement } in second {
        let mut from = range.start.max(covered);
        while let Some(other) = first.next_if(|other| other.range.start < range.end) {
            if from < other.range.start {
                let range = from..other.range.start;
                merged.push(TextEdit { range, replacement: replacement.clone() });
            }
            covered = other.range.end;
            from = from.max(covered);
            merged.push(other);
        }
        if from < range.end {
            merged.push(TextEdit { range: from..range.end, replacement });
        }
    }
    merged.extend(first);
    merged
}

/// Appends a part of a text with its edits. The edits lie within the part, from left to right; their positions and
/// those of the part count from `origin`, where the text starts.
pub fn write_edited(text: &str, origin: usize, part: Range<usize>, edits: &[TextEdit], output: &mut String) {
    let mut from = part.start;
    for edit in edits {
        output.push_str(&text[from - origin..edit.range.start - origin]);
        output.push_str(&edit.replacement);
        from = edit.range.end;
    }
    output.push_str(&text[from - origin..part.end - origin]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(text: &str, edits: &[&[(Range<usize>, &str)]]) -> String {
        let edit = |(range, replacement): &(Range<usize>, &str)| TextEdit {
            range: range.clone(),
            replacement: (*replacement).to_owned(),
        };
        let edits = edits.iter().map(|own| own.iter().map(edit).collect::<Vec<_>>());
        apply_edits(text, edits).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn the_first_of_overlapping_edits_stands_and_nothing_of_the_others_remains() {
        assert_eq!(combined("abcdef", &[]), "abcdef");
        assert_eq!(combined("abcdef", &[&[(1..2, "X"), (4..5, "Y")]]), "aXcdYf");
        assert_eq!(combined("abcdef", &[&[(4..5, "X")], &[(1..2, "Y")]]), "aYcdXf");
        assert_eq!(combined("abcdef", &[&[(1..4, "X")], &[(2..6, "Y")]]), "aXY");
        assert_eq!(combined("abcdef", &[&[(2..6, "X")], &[(1..4, "Y")]]), "aYX");
        assert_eq!(combined("abcdef", &[&[(2..3, "X")], &[(0..6, "Y")]]), "YXY");
        assert_eq!(combined("abcdef", &[&[(0..6, "X")], &[(2..3, "Y")]]), "X");
        assert_eq!(combined("abcdef", &[&[(0..4, "X")], &[(1..2, "Y"), (3..5, "Y")]]), "XYf");
        assert_eq!(combined("abcdef", &[&[(1..2, "X")], &[(2..3, "Y")], &[(0..4, "Z")]]), "ZXYZef");
    }
}
