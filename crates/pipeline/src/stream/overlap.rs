//! What a continuation says once more: recognised piece by piece as it arrives, and left out.

#[cfg(test)]
mod tests;

/// Fewer characters may be alike by chance.
const LEAST: usize = 16;

/// Marks that some set before words they repeat.
const LONGEST_FLOURISH: usize = 3;

/// Compares what arrives with the end of what was said. Nothing is held back longer than a longer overlap is possible.
pub struct Overlap {
    /// What was said, without the space it ends with: few repeat that exactly.
    said: String,
    space: String,
    arrived: String,
    /// Where in `said` all that has arrived may begin.
    starts: Vec<usize>,
    /// Bytes of the longest overlap that is complete, and how many there are: of several, all but one are chance.
    longest: usize,
    complete: usize,
    /// What the target was asked to begin with: an end of what was said. Where it does, nothing more is compared, for in
    /// a text that repeats itself a longer overlap would be chance.
    quoted: String,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Words,
    /// The words are over; so many bytes of the space were repeated.
    Space(usize),
    Passing,
}

fn is_flourish(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '…' | '.' | '"' | '“' | '«' | '„')
}

impl Overlap {
    /// The continuation may begin with any end of what was said, or with all of it.
    pub fn with(said: &str) -> Self {
        let (words, space) = said.split_at(said.trim_end().len());
        let starts = match words.char_indices().rev().nth(LEAST - 1) {
            Some((last, _)) => {
                words.char_indices().map(|(start, _)| start).take_while(|at| *at <= last).collect()
            }
            None => vec![0],
        };
        let stage = if words.is_empty() { Stage::Space(0) } else { Stage::Words };
        Self {
            said: words.to_owned(),
            space: space.to_owned(),
            arrived: String::new(),
            starts,
            longest: 0,
            complete: 0,
            quoted: String::new(),
            stage,
        }
    }

    /// The target was asked to begin with these last words.
    pub fn with_quoted(said: &str, quoted: &str) -> Self {
        Self { quoted: quoted.to_owned(), ..Self::with(said) }
    }

    /// The target went on from the words themselves: only the space behind them, which it was not shown, may come again.
    pub fn with_space_of(said: &str) -> Self {
        Self { stage: Stage::Space(0), starts: Vec::new(), ..Self::with(said) }
    }

    /// More of the continuation; gives what of it is new.
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

    /// Nothing more comes; gives what was held back and is no overlap.
    pub fn finish(&mut self) -> String {
        match self.stage {
            Stage::Words if !self.arrived.is_empty() => {
                // Who says nothing but what was said has nothing new to say.
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
        let (said, arrived) = (self.said.as_bytes(), self.arrived.as_bytes());
        let (longest, complete) = (&mut self.longest, &mut self.complete);
        self.starts.retain(|start| {
            let rest = &said[*start..];
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

    /// What arrived, without the flourish before a quotation that is long enough to be known by itself.
    fn bare(&self) -> &str {
        if self.quoted.chars().count() < LEAST {
            return &self.arrived;
        }
        let flourish = self.arrived.chars().take(LONGEST_FLOURISH).take_while(|letter| is_flourish(*letter));
        &self.arrived[flourish.map(char::len_utf8).sum()..]
    }

    /// Where the words that were asked for end, if it begins with them; some set them in marks of their own.
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
        let whole = self.longest == self.said.len();
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
