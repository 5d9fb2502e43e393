//! The normal form of one segment: a base character and the marks that follow it.

use unicode_normalization::char::{canonical_combining_class, compose, decompose_compatible};

use super::characters::{fold, is_invisible};

/// Appends the normal form of a segment to the output.
pub fn push_normal_form(segment: &[char], fold_case: bool, output: &mut String) {
    let mut parts = decompose(segment, fold_case);
    reorder(&mut parts);
    recompose(&mut parts);
    output.extend(parts);
}

fn decompose(segment: &[char], fold_case: bool) -> Vec<char> {
    let mut parts = Vec::with_capacity(segment.len() + 2);
    for character in segment {
        decompose_compatible(*character, |part| {
            if is_invisible(part) {
                return;
            }
            if fold_case {
                fold(part).for_each(|folded| decompose_compatible(folded, |part| parts.push(part)));
            } else {
                parts.push(part);
            }
        });
    }
    parts
}

/// Sorts each run of marks by combining class, as canonical ordering requires.
fn reorder(parts: &mut [char]) {
    for run in parts.chunk_by_mut(|_, next| canonical_combining_class(*next) != 0) {
        // The first character of a run is its base, unless the text starts with marks.
        let marks = if run.first().is_some_and(|first| canonical_combining_class(*first) == 0) {
            run.get_mut(1..).unwrap_or_default()
        } else {
            run
        };
        marks.sort_by_key(|mark| canonical_combining_class(*mark));
    }
}

/// Canonical composition: a mark joins the last base unless a mark of the same or a higher class stands between them.
fn recompose(parts: &mut Vec<char>) {
    let mut composed: Vec<char> = Vec::with_capacity(parts.len());
    let mut base: Option<usize> = None;
    let mut last_class = 0;
    for part in parts.drain(..) {
        let class = canonical_combining_class(part);
        if let Some(at) = base {
            let is_adjacent = at + 1 == composed.len();
            let is_blocked = !is_adjacent && (last_class >= class || last_class == 0);
            if !is_blocked && let Some(joined) = compose(composed[at], part) {
                composed[at] = joined;
                continue;
            }
        }
        if class == 0 {
            base = Some(composed.len());
        }
        last_class = class;
        composed.push(part);
    }
    *parts = composed;
}
