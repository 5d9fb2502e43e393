//! The score of the texts of one request for prompt injection: by rules, and by the classifier if there is one.

use std::collections::VecDeque;
use std::sync::Arc;

use ::guardrails::injection::{Assessment, combine};

#[cfg(test)]
mod tests;

/// Bytes of texts that the classifier scores in one request, the newest texts first. Limits its CPU time.
const MOST_BYTES: usize = 64 * 1024;
/// The most bytes that one text counts: of a longer one, the classifier scores as much as of one of this size.
const MOST_BYTES_OF_TEXT: usize = 16 * 1024;

/// The classifier: a text to the probability that it contains a prompt injection. Takes milliseconds per sentence.
pub type Classifier = Arc<dyn Fn(&str) -> Result<f32, String> + Send + Sync>;

/// The scores of the texts so far.
#[derive(Default)]
pub struct InjectionScore {
    /// The highest score of a text.
    pub score: Option<f32>,
    /// The rules that matched in the text with the highest score.
    pub rules: Vec<&'static str>,
    /// The highest score of the classifier alone.
    pub classifier_score: Option<f32>,
    classifier: Option<Classifier>,
    /// Texts for the classifier, with their assessment by rules.
    pending: VecDeque<(String, Assessment)>,
    pending_bytes: usize,
    /// Bytes that the classifier has scored.
    scored: usize,
}

impl InjectionScore {
    pub fn set_classifier(&mut self, classifier: Option<Classifier>) {
        self.classifier = classifier;
    }

    /// Adds the assessment of a text by rules.
    pub fn add(&mut self, text: &str, assessment: Assessment) {
        if self.classifier.is_some() {
            self.pending.push_back((text.to_owned(), assessment.clone()));
            self.pending_bytes += counted(text);
            // Older texts beyond the limit are not scored: they need not be kept.
            while self.pending_bytes >= MOST_BYTES + MOST_BYTES_OF_TEXT
                && let Some((oldest, _)) = self.pending.pop_front()
            {
                self.pending_bytes -= counted(&oldest);
            }
        }
        self.raise(assessment);
    }

    /// Scores the texts that were added since the last call by the classifier, the last one first.
    pub fn classify(&mut self) -> Result<(), String> {
        let Some(classifier) = self.classifier.clone() else { return Ok(()) };
        self.pending_bytes = 0;
        for (text, Assessment { score, rules }) in std::mem::take(&mut self.pending).into_iter().rev() {
            if self.scored >= MOST_BYTES {
                break;
            }
            self.scored += counted(&text);
            let classified = classifier(&text)?;
            self.classifier_score = Some(self.classifier_score.unwrap_or(0.0).max(classified));
            self.raise(Assessment { score: combine(score, Some(classified)), rules });
        }
        Ok(())
    }

    fn raise(&mut self, assessment: Assessment) {
        if self.score.is_none_or(|score| score < assessment.score) {
            self.score = Some(assessment.score);
            self.rules = assessment.rules;
        }
    }
}

/// The bytes that a text counts.
fn counted(text: &str) -> usize {
    text.len().min(MOST_BYTES_OF_TEXT)
}
