//! Byte-pair encoding: merges the parts of a text, single bytes at first, into tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Two adjacent parts that form a token: its id, the start of the first part and the end of the second one. The smallest id is
/// merged first, and the leftmost of several.
type Merge = Reverse<(u32, usize, usize)>;

/// Marks a position where no part starts any more; no part ends at the beginning of a text.
const NO_PART: usize = 0;

/// Counts the tokens of a text. `id` finds a token by its bytes.
///
/// Each merge leaves one part less and adds at most two candidates to the queue, so the time is bounded by n · log n for any text.
pub fn count_tokens(text: &[u8], id: impl Fn(&[u8]) -> Option<u32>) -> usize {
    let merge =
        |start: usize, end: usize| -> Option<Merge> { Some(Reverse((id(&text[start..end])?, start, end))) };
    let mut ends: Vec<usize> = (1..=text.len()).collect();
    // Of the part before the one that starts here; the first part has none.
    let mut previous: Vec<usize> = (0..text.len()).map(|start| start.saturating_sub(1)).collect();
    let mut queue: BinaryHeap<Merge> = (2..=text.len()).filter_map(|end| merge(end - 2, end)).collect();
    let mut parts = text.len();
    while let Some(Reverse((_, start, end))) = queue.pop() {
        let middle = ends[start];
        // One of the parts has been merged with another one since.
        if middle == NO_PART || ends.get(middle) != Some(&end) {
            continue;
        }
        ends[start] = end;
        ends[middle] = NO_PART;
        parts -= 1;
        if let Some(next_end) = ends.get(end).copied() {
            previous[end] = start;
            queue.extend(merge(start, next_end));
        }
        if start > 0 {
            queue.extend(merge(previous[start], end));
        }
    }
    parts
}
