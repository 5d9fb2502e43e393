//! One text of an answer, inspected by the guardrails of one step while it arrives.

use std::ops::Range;

use ::guardrails::kind::Label;
use ::guardrails::stream::{Piece, StreamError, StreamRedactor};
use domain::canon::Role;
use domain::fault::Fault;

use super::combine::{TextEdit, combine, write_edited};
use super::state::GuardrailState;

/// Bytes that findings of several guardrails may hold back while each overlaps the next.
const MAX_HELD_BY_OVERLAPS: usize = 16 << 10;

/// Bytes that are kept of the text that was passed on.
const CONTEXT_LENGTH: usize = 256;

/// The handling of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFinding {
    Replace,
    /// Everything from the first finding on is left out: a signature covers the text, so that it cannot be edited.
    Withhold,
}

/// The text of one block during its inspection by one step. Text is held back while one of the searches may still find
/// something in it.
pub struct TextStream {
    searches: Vec<Search>,
    on_finding: OnFinding,
    /// The text that has not been passed on.
    held: String,
    /// The end of the text that has been passed on, in which context words may stand.
    context: String,
    /// The position of the held text.
    passed: usize,
    is_withheld: bool,
}

/// The search of one guardrail.
struct Search {
    /// The index of its state.
    state: usize,
    redactor: StreamRedactor,
    /// Whether text is held back for it. Guardrails that only record findings delay nothing.
    holds_back: bool,
    /// The position up to which the text is searched.
    decided: usize,
    /// Edits of text that is held, from left to right.
    edits: Vec<TextEdit>,
}

impl TextStream {
    pub fn new(states: &[GuardrailState], role: Role, on_finding: OnFinding) -> Self {
        let search = |(state, guardrail): (usize, &GuardrailState)| {
            let redactor = StreamRedactor::new(guardrail.finder(role)?.detector.clone());
            let holds_back = guardrail.guardrail().is_enforced();
            Some(Search { state, redactor, holds_back, decided: 0, edits: Vec::new() })
        };
        Self {
            searches: states.iter().enumerate().filter_map(search).collect(),
            on_finding,
            held: String::new(),
            context: String::new(),
            passed: 0,
            is_withheld: false,
        }
    }

    /// Takes text and appends the decided text to the output.
    pub fn push(
        &mut self,
        text: &str,
        states: &mut [GuardrailState],
        output: &mut String,
    ) -> Result<(), Fault> {
        states.iter_mut().for_each(|state| state.measure(Role::Assistant, text));
        self.held.push_str(text);
        for search in &mut self.searches {
            search.advance(states, |redactor, visit| redactor.push_pieces(text, visit));
        }
        self.pass(states, output)?;
        if self.limit_held(states) {
            self.pass(states, output)?;
        }
        Ok(())
    }

    /// Decides about all held text: the text ends here.
    pub fn finish(&mut self, states: &mut [GuardrailState], output: &mut String) -> Result<(), Fault> {
        for search in &mut self.searches {
            search.advance(states, |redactor, visit| redactor.finish_pieces(visit));
        }
        self.pass(states, output)
    }

    /// Drops the held text. What follows is searched as the continuation of the text that was passed on.
    pub fn drop_held(&mut self, states: &[GuardrailState], role: Role) {
        self.held.clear();
        for search in &mut self.searches {
            if let Some(finder) = states[search.state].finder(role) {
                search.redactor = StreamRedactor::with_lead(finder.detector.clone(), &self.context);
            }
            // A search that has failed stays ended.
            if search.decided != usize::MAX {
                search.decided = self.passed;
            }
            search.edits.clear();
        }
    }

    /// Whether the rest of the text is left out.
    pub fn is_withheld(&self) -> bool {
        self.is_withheld
    }

    /// Passes on the text that all searches have decided about.
    fn pass(&mut self, states: &[GuardrailState], output: &mut String) -> Result<(), Fault> {
        // Before anything is passed on: a finding that blocks ends the answer here.
        if let Some(fault) = GuardrailState::fault_of(states) {
            return Err(fault);
        }
        let end = self.decided();
        let edits =
            combine(self.searches.iter_mut().map(|search| search.take_edits(end)).collect::<Vec<_>>());
        if !self.is_withheld {
            match (self.on_finding, edits.first()) {
                (OnFinding::Withhold, Some(first)) => {
                    self.is_withheld = true;
                    write_edited(&self.held, self.passed, self.passed..first.range.start, &[], output);
                }
                _ => write_edited(&self.held, self.passed, self.passed..end, &edits, output),
            }
        }
        let passed = &self.held[..end - self.passed];
        let start = passed.floor_char_boundary(passed.len().saturating_sub(CONTEXT_LENGTH));
        self.context.push_str(&passed[start..]);
        self.held.drain(..end - self.passed);
        let start = self.context.len().saturating_sub(CONTEXT_LENGTH);
        self.context.drain(..self.context.floor_char_boundary(start));
        self.passed = end;
        Ok(())
    }

    /// The position up to which all searches are done and no edit is cut in two.
    fn decided(&self) -> usize {
        let whole = self.passed + self.held.len();
        let searches = self.searches.iter().filter(|search| search.holds_back);
        let mut end = searches.map(|search| search.decided).fold(whole, usize::min);
        while let Some(start) = self.searches.iter().find_map(|search| search.edit_across(end)) {
            end = start;
        }
        end
    }

    /// Ends searches whose findings overlap those of others and hold back too much; their guardrails decide whether the
    /// text passes. Returns whether there are any.
    fn limit_held(&mut self, states: &mut [GuardrailState]) -> bool {
        if self.held.len() <= MAX_HELD_BY_OVERLAPS {
            return false;
        }
        let mut has_ended = false;
        for search in self.searches.iter_mut().filter(|search| !search.edits.is_empty()) {
            states[search.state].record_failure("findings that overlap are too long");
            search.decided = usize::MAX;
            has_ended = true;
        }
        has_ended
    }
}

impl Search {
    /// Searches further. `search` calls its visitor with each part of the text that is decided.
    fn advance(
        &mut self,
        states: &mut [GuardrailState],
        search: impl FnOnce(&mut StreamRedactor, &mut dyn FnMut(Piece<'_>)) -> Result<(), StreamError>,
    ) {
        if self.decided == usize::MAX {
            return;
        }
        let (state, edits, decided) = (&mut states[self.state], &mut self.edits, &mut self.decided);
        let mut visit = |piece: Piece<'_>| match piece {
            Piece::Kept(text) => *decided += text.len(),
            Piece::Found(label, value) => {
                let range = *decided..*decided + value.len();
                *decided = range.end;
                edits.extend(edit(state, label, value, range));
            }
        };
        if let Err(error) = search(&mut self.redactor, &mut visit) {
            state.record_failure(error.to_string());
            // The rest is not searched; the state decides whether it passes.
            self.decided = usize::MAX;
        }
    }

    /// The start of an edit that a position lies within.
    fn edit_across(&self, position: usize) -> Option<usize> {
        let place = self.edits.partition_point(|edit| edit.range.end <= position);
        self.edits.get(place).map(|edit| edit.range.start).filter(|start| *start < position)
    }

    /// The edits up to a position.
    fn take_edits(&mut self, end: usize) -> Vec<TextEdit> {
        let count = self.edits.partition_point(|edit| edit.range.end <= end);
        self.edits.drain(..count).collect()
    }
}

/// The edit of a finding; none if it is only recorded.
fn edit(state: &mut GuardrailState, label: Label, value: &str, range: Range<usize>) -> Option<TextEdit> {
    let replacement = state.mask(label, value).into_owned();
    state.replaces().then_some(TextEdit { range, replacement })
}
