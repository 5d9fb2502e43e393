//! Removes text that a continuation repeats, incrementally as it arrives.

#[cfg(test)]
mod tests;

/// The shortest overlap in characters; shorter ones may be coincidence.
const LEAST: usize = 16;

/// The most punctuation characters that a model may put before repeated words.
const LONGEST_FLOURISH: usize = 3;

/// Compares arriving text with the end of the sent text. Text is held back only while a longer overlap is possible.
pub struct Overlap {
    /// The sent text without trailing whitespace, which models rarely repeat exactly.
    sent: String,
    space: String,
    arrived: String,
    /// Positions in `said` at which an overlap with all arrived text may begin.
    starts: Vec<usize>,
    /// The length in bytes of the longest complete overlap, and the number of complete ones: several are ambiguous.
    longest: usize,
    complete: usize,
    /// The end of the sent text with which the model was asked to begin. If it does, no longer overlap is considered:
    /// in repetitive text that would be coincidence.
    quoted: String,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Words,
    /// The words are matched; this many bytes of the trailing whitespace were repeated.
    Space(usize),
    Passing,
}

fn is_flourish(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '…' | '.' | '"' | '“' | '«' | '„')
}

impl Overlap {
    /// Expects a continuation that may begin with any end of the sent text, or with all of it.
    pub fn with(sent: &str) -> Self {
        let (words, space) = sent.split_at(sent.trim_end().len());
        let starts = match words.char_indices().rev().nth(LEAST - 1) {
            Some((last, _)) => {
                words.char_indices().map(|(start, _)| start).take_while(|at| *at <= last).collect()
            }
            None => vec![0],
        };
        let stage = if words.is_empty() { Stage::Space(0) } else { Stage::Words };
        Self {
            sent: words.to_owned(),
            space: space.to_owned(),
            arrived: String::new(),
            starts,
            longest: 0,
            complete: 0,
            quoted: String::new(),
            stage,
        }
    }

    /// Expects a continuation that was asked to begin with these last words.
    pub fn with_quoted(sent: &str, quoted: &str) -> Self {
        Self { quoted: quoted.to_owned(), ..Self::with(sent) }
    }

    /// Expects a continuation directly after the words. Only the whitespace after them, which the model did not see,
    /// may be repeated.
    pub fn with_space_of(sent: &str) -> Self {
        Self { stage: Stage::Space(0), starts: Vec::new(), ..Self::with(sent) }
    }

    /// Adds text of the continuation. Returns the part that is known to be new.
    pub fn push(&mut self, more: &str) -> String {
        match self.stage {
            Stage::Passing => more.to_owned(),
            Stage::Space(known) => self.pass_space(known, more),
            Stage::Words => {
                self.compare(more);
                if let Some(end) = self.quotation() {
                    (self.longest, self.complete) = (end, 1);
                    return self.decide();
                }
                if self.starts.is_empty() && !self.quotation_may_come() {
                    self.decide()
                } else {
                    String::new()
                }
            }
        }
    }

    /// Ends the continuation. Returns held-back text that is not an overlap.
    pub fn finish(&mut self) -> String {
        match self.stage {
            Stage::Words if !self.arrived.is_empty() => {
                // The continuation only repeated text that was already sent.
                if self.longest == self.arrived.len() {
                    self.complete = 1;
                }
                self.decide()
            }
            _ => String::new(),
        }
    }

    fn compare(&mut self, more: &str) {
        let before = self.arrived.len();
        self.arrived.push_str(more);
        let (sent, arrived) = (self.sent.as_bytes(), self.arrived.as_bytes());
        let (longest, complete) = (&mut self.longest, &mut self.complete);
        self.starts.retain(|start| {
            let rest = &sent[*start..];
            let known = rest.len().min(arrived.len());
            if rest[before..known] != arrived[before..known] {
                return false;
            }
            if known == rest.len() {
                *longest = (*longest).max(known);
                *complete += 1;
            }
            known < rest.len()
        });
    }

    /// The arrived text without punctuation before a quotation, if the quotation is long enough to be unambiguous.
    fn bare(&self) -> &str {
        if self.quoted.chars().count() < LEAST {
            return &self.arrived;
        }
        let flourish = self.arrived.chars().take(LONGEST_FLOURISH).take_while(|letter| is_flourish(*letter));
        &self.arrived[flourish.map(char::len_utf8).sum()..]
    }

    /// The end of the quotation in the arrived text, if that begins with it, possibly after punctuation.
    fn quotation(&self) -> Option<usize> {
        let begins = |text: &&str| !self.quoted.is_empty() && text.starts_with(&self.quoted);
        let found = [self.arrived.as_str(), self.bare()].into_iter().find(begins)?;
        Some(self.arrived.len() - found.len() + self.quoted.len())
    }

    fn quotation_may_come(&self) -> bool {
        let may = |text: &str| text.len() < self.quoted.len() && self.quoted.starts_with(text);
        !self.quoted.is_empty() && (may(&self.arrived) || may(self.bare()))
    }

    fn decide(&mut self) -> String {
        let arrived = std::mem::take(&mut self.arrived);
        self.starts.clear();
        let whole = self.longest == self.sent.len();
        if self.longest == 0 || (self.complete > 1 && !whole) {
            self.stage = Stage::Passing;
            return arrived;
        }
        self.pass_space(0, &arrived[self.longest..])
    }

    fn pass_space(&mut self, known: usize, more: &str) -> String {
        let left = &self.space[known..];
        let alike = left.chars().zip(more.chars()).take_while(|(one, other)| one == other);
        let repeated: usize = alike.map(|(letter, _)| letter.len_utf8()).sum();
        let goes_on = repeated == more.len() && repeated < left.len();
        self.stage = if goes_on { Stage::Space(known + repeated) } else { Stage::Passing };
        more[repeated..].to_owned()
    }
}
