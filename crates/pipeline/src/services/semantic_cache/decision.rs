//! The decision whether an answer is that to a similar request: by the similarity of both texts, and by their words.

use std::sync::Arc;

use semantic_cache::profile::TextProfile;
use semantic_cache::veto;
use semantic_cache::word_overlap::word_overlap;

use super::SemanticEntry;
use crate::services::response_cache::CacheKey;

/// A text to find an answer for.
pub struct SemanticQuery<'a> {
    pub partition: &'a CacheKey,
    pub prompt: &'a str,
    pub vector: &'a [f32],
    pub threshold: f64,
    /// The lowest share of common words; 0 demands none.
    pub prompt_similarity: f64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SemanticMatch<T = Arc<SemanticEntry>> {
    /// The score of the entry that decided; `None` if there is none.
    pub score: Option<f64>,
    /// The share of its words that both texts have, if it was compared.
    pub word_overlap: Option<f64>,
    pub outcome: SemanticOutcome<T>,
}

#[derive(Clone, Debug)]
pub enum SemanticOutcome<T = Arc<SemanticEntry>> {
    Hit(T),
    /// There is no entry for the rest of the request.
    NoEntry,
    BelowThreshold,
    /// An entry is similar enough, and its words are not.
    PromptChanged,
}

/// An entry as far as the decision needs it.
pub trait ComparedEntry {
    fn prompt(&self) -> &str;

    /// The lowest score at which the answer may be served, after it was wrong.
    fn min_score(&self) -> f32;
}

impl ComparedEntry for Arc<SemanticEntry> {
    fn prompt(&self) -> &str {
        &self.prompt
    }

    fn min_score(&self) -> f32 {
        self.min_score
    }
}

/// An entry, and the similarity of its text.
pub struct Candidate<T> {
    pub entry: T,
    pub score: f32,
}

/// Decides between entries, the most similar one first.
pub fn decide<T: ComparedEntry>(
    query: &SemanticQuery<'_>,
    candidates: impl IntoIterator<Item = Candidate<T>>,
) -> SemanticMatch<T> {
    let mut decided = SemanticMatch { score: None, word_overlap: None, outcome: SemanticOutcome::NoEntry };
    let mut profile = None;
    for Candidate { entry, score } in candidates {
        let (lowest, score) = (query.threshold.max(f64::from(entry.min_score())), f64::from(score));
        let is_same = entry.prompt() == query.prompt;
        if !is_same && score < lowest {
            if decided.score.is_none() {
                decided = SemanticMatch {
                    score: Some(score),
                    word_overlap: None,
                    outcome: SemanticOutcome::BelowThreshold,
                };
            }
            continue;
        }
        let overlap = f64::from(word_overlap(query.prompt, entry.prompt()));
        let profile = profile.get_or_insert_with(|| TextProfile::new(query.prompt));
        let differs = !is_same && veto::check(&TextProfile::new(entry.prompt()), profile).is_err();
        if !differs && overlap >= query.prompt_similarity {
            return SemanticMatch {
                score: Some(score),
                word_overlap: Some(overlap),
                outcome: SemanticOutcome::Hit(entry),
            };
        }
        if !matches!(decided.outcome, SemanticOutcome::PromptChanged) {
            decided = SemanticMatch {
                score: Some(score),
                word_overlap: Some(overlap),
                outcome: SemanticOutcome::PromptChanged,
            };
        }
    }
    decided
}
