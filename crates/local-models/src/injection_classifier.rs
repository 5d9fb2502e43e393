//! The prompt-injection classifier: texts to a probability.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;

use crate::error::ModelError;
use crate::header::ModelKind;
use crate::model_file::{LoadedModel, load_kind};

#[cfg(test)]
mod tests;

/// Word pieces that a window shares with the one before it, so that a sentence is whole in one of them.
const OVERLAP: usize = 64;
/// The most windows of one text that are scored.
const MAX_WINDOWS: usize = 16;
/// Bytes at either end of a text that are read: more than the windows of ordinary texts cover.
const MAX_END: usize = 32 * 1024;
/// The longest run of one sign that is scored: rules and boxes of signs are not language.
const MAX_RUN: usize = 3;

/// A classifier of texts that may contain a prompt injection.
pub struct InjectionClassifier {
    model: LoadedModel,
    identity: String,
}

impl InjectionClassifier {
    /// Loads an imported classifier.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let model = load_kind(path, ModelKind::InjectionClassifier)?;
        Ok(Self { identity: model.header.identity(), model })
    }

    /// The probability that a text contains a prompt injection. A long text is scored in windows, and the highest score
    /// counts; of a text with more than 16 windows, the first 8 and the last 8.
    pub fn score(&self, text: &str) -> f32 {
        let LoadedModel { header, tokenizer, .. } = &self.model;
        let pieces = tokenizer.pieces(&prepare(&ends(text)), usize::MAX);
        let scores = windows(&pieces, header.max_pieces - 2).map(|window| self.score_window(window));
        scores.fold(0.0, f32::max)
    }

    /// Model, quantisation and version.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    fn score_window(&self, pieces: &[u32]) -> f32 {
        let LoadedModel { header, tokenizer, bert, heads } = &self.model;
        if is_degenerate(pieces, tokenizer.unknown()) {
            return 0.0;
        }
        let pooled = bert.pool(&tokenizer.with_marks(pieces));
        let output = heads.first().map_or(0.0, |head| head.apply(&pooled));
        1.0 / (1.0 + (-output / header.temperature).exp())
    }
}

/// A text, or both ends of a very long one.
fn ends(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * MAX_END {
        return text.into();
    }
    let start = &text[..text.floor_char_boundary(MAX_END)];
    let end = &text[text.ceil_char_boundary(text.len() - MAX_END)..];
    format!("{start} {end}").into()
}

/// The text as the model was trained: compatible forms unified, runs of a sign shortened.
fn prepare(text: &str) -> String {
    let mut prepared = String::with_capacity(text.len());
    let (mut last, mut run) = (None, 0);
    for character in text.nfkc() {
        run = if last == Some(character) { run + 1 } else { 1 };
        last = Some(character);
        let is_sign = !character.is_alphanumeric() && !character.is_whitespace() && character != '_';
        if !is_sign || run <= MAX_RUN {
            prepared.push(character);
        }
    }
    prepared
}

/// The windows of a text that are scored.
fn windows(pieces: &[u32], size: usize) -> impl Iterator<Item = &[u32]> {
    let stride = size.saturating_sub(OVERLAP).max(1);
    let count = match pieces.len() {
        0 => 0,
        length => 1 + length.saturating_sub(size).div_ceil(stride),
    };
    let is_scored = move |index: &usize| {
        count <= MAX_WINDOWS || *index < MAX_WINDOWS / 2 || count - index <= MAX_WINDOWS / 2
    };
    (0..count).filter(is_scored).map(move |index| {
        let start = index * stride;
        &pieces[start..pieces.len().min(start + size)]
    })
}

/// Whether a window is the repetition of one piece with at most three others. The mean of such vectors lies outside the
/// language that the model knows, so that its score means nothing. Repeated unknown pieces are scored: unknown
/// characters are a way to evade a classifier.
fn is_degenerate(pieces: &[u32], unknown: u32) -> bool {
    if pieces.len() < 3 {
        return false;
    }
    let mut counts: HashMap<u32, usize> = HashMap::new();
    pieces.iter().for_each(|piece| *counts.entry(*piece).or_default() += 1);
    let most = counts.iter().max_by_key(|(_, count)| **count);
    most.is_some_and(|(piece, count)| counts.len() <= 4 && count * 3 >= pieces.len() * 2 && *piece != unknown)
}
