//! Redaction of whole texts as edits, so that the caller can apply them where the text stands.

use std::ops::Range;

use crate::detector::{Detector, PrecedingText, TooComplex};
use crate::kind::Label;
use crate::placeholder::Masker;

/// The replacement of a part of the original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub label: Label,
    pub range: Range<usize>,
    pub replacement: String,
}

/// The edits that redact a text, from left to right, without overlaps.
pub fn redact(
    detector: &Detector,
    text: &str,
    lead: PrecedingText<'_>,
    masker: &mut Masker,
) -> Result<Vec<Edit>, TooComplex> {
    let findings = detector.find_all(text, lead)?;
    let edit = |finding: crate::detector::Finding| Edit {
        label: finding.label,
        replacement: masker.mask(finding.label, &text[finding.range.clone()]).into_owned(),
        range: finding.range,
    };
    Ok(findings.into_iter().map(edit).collect())
}

/// The text with the edits applied.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut kept = 0;
    for edit in edits {
        edited.push_str(&text[kept..edit.range.start]);
        edited.push_str(&edit.replacement);
        kept = edit.range.end;
    }
    edited.push_str(&text[kept..]);
    edited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{PatternSet, PatternUse};
    use crate::placeholder::MaskStyle;

    #[test]
    fn edits_replace_parts_of_the_original() {
        let set = PatternSet::compile(&["secret", r"\d{4}"], PatternUse::Input).unwrap();
        let text = "A ｓecret pin: 12\u{200B}34.";
        let mut masker = Masker::new(MaskStyle::Fixed("[REDACTED]".to_owned()));
        let edits = redact(set.detector(), text, "", &mut masker).unwrap();
        assert_eq!(
            edits.iter().map(|edit| edit.label).collect::<Vec<_>>(),
            [Label::Pattern(0), Label::Pattern(1)]
        );
        assert_eq!(apply(text, &edits), "A [REDACTED] pin: [REDACTED].");
        assert_eq!(apply("nothing", &[]), "nothing");
    }
}
