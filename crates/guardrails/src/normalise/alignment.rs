//! The alignment of a normalised text with its original, as runs of bytes.

use std::collections::VecDeque;
use std::ops::Range;

/// Byte positions of normalised text in its original. All positions count from the start of the text or stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    runs: VecDeque<Run>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    normalised: Range<usize>,
    original: Range<usize>,
    /// Whether the bytes correspond one by one. Otherwise the run is one segment.
    is_bytewise: bool,
}

impl Alignment {
    /// Appends a run whose characters have the same lengths in both texts.
    pub fn push_bytewise(&mut self, normalised: Range<usize>, original: Range<usize>) {
        match self.runs.back_mut() {
            Some(last) if last.is_bytewise && last.original.end == original.start => {
                last.normalised.end = normalised.end;
                last.original.end = original.end;
            }
            _ => self.runs.push_back(Run { normalised, original, is_bytewise: true }),
        }
    }

    /// Appends a segment whose normal form differs from the original.
    pub fn push_segment(&mut self, normalised: Range<usize>, original: Range<usize>) {
        if !normalised.is_empty() {
            self.runs.push_back(Run { normalised, original, is_bytewise: false });
        }
    }

    /// The original bytes of a range that is not empty.
    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.original_start(range.start);
        let last = range.end.saturating_sub(1);
        let end = self.run_at(last).map_or(start, |run| match run.is_bytewise {
            true => run.original.start + (range.end - run.normalised.start),
            false => run.original.end,
        });
        start..end.max(start)
    }

    /// The start of the original bytes of a position, or the end of the original at the end of the text.
    pub fn original_start(&self, position: usize) -> usize {
        match self.run_at(position) {
            Some(run) if run.is_bytewise => run.original.start + (position - run.normalised.start),
            Some(run) => run.original.start,
            None => self.runs.back().map_or(0, |run| run.original.end),
        }
    }

    /// The next boundary of a segment, the given position included.
    pub fn segment_end(&self, position: usize) -> usize {
        match self.run_at(position) {
            Some(run) if !run.is_bytewise && run.normalised.start < position => run.normalised.end,
            _ => position,
        }
    }

    /// Forgets runs that end at or before a position of the normalised text.
    pub fn forget_before(&mut self, position: usize) {
        while self.runs.front().is_some_and(|run| run.normalised.end <= position) {
            self.runs.pop_front();
        }
    }

    fn run_at(&self, position: usize) -> Option<&Run> {
        let index = self.runs.partition_point(|run| run.normalised.end <= position);
        self.runs.get(index)
    }
}
