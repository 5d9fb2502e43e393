//! Masks secrets in a body that passes in chunks, also where a secret is split between two of them.

use std::sync::Arc;

use aho_corasick::AhoCorasick;
use bytes::{Bytes, BytesMut};

/// The secrets that a [`Masker`] looks for.
#[derive(Clone)]
pub(super) struct SecretSet(Arc<Inner>);

struct Inner {
    finder: AhoCorasick,
    /// Sorted by bytes, so that secrets with a common prefix are adjacent.
    sorted: Vec<String>,
    longest: usize,
    /// The bytes that a secret starts with.
    first: [bool; 256],
}

impl SecretSet {
    /// `sorted` holds no empty strings.
    pub(super) fn new(finder: AhoCorasick, sorted: Vec<String>) -> Self {
        let longest = sorted.iter().map(String::len).max().unwrap_or(0);
        let mut first = [false; 256];
        for secret in &sorted {
            if let Some(byte) = secret.bytes().next() {
                first[usize::from(byte)] = true;
            }
        }
        Self(Arc::new(Inner { finder, sorted, longest, first }))
    }

    /// Whether `text` is a proper prefix of a secret.
    fn continues(&self, text: &[u8]) -> bool {
        let sorted = &self.0.sorted;
        let from = sorted.partition_point(|secret| secret.as_bytes() <= text);
        sorted.get(from).is_some_and(|secret| secret.as_bytes().starts_with(text))
    }

    /// The offset from which the end of `text` could be the start of a secret; the length of `text` if there is none.
    fn open_end(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.0.longest.saturating_sub(1));
        let begins = |at: &usize| self.0.first[usize::from(text[*at])] && self.continues(&text[*at..]);
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// Masks the secrets in one body, chunk by chunk. The length is kept, because `Content-Length` may have been sent
/// already.
pub struct Masker {
    secrets: Option<SecretSet>,
    /// The end of the last chunk, if it could be the start of a secret.
    held: Bytes,
}

impl Masker {
    pub(super) fn new(secrets: Option<SecretSet>) -> Self {
        Self { secrets, held: Bytes::new() }
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the part that may be sent now; with the `last` chunk, all of it.
    pub fn mask(&mut self, chunk: Bytes, last: bool) -> Bytes {
        let Some(secrets) = &self.secrets else { return chunk };
        let mut text = join(std::mem::take(&mut self.held), chunk);
        let mut until = if last { text.len() } else { secrets.open_end(&text) };
        let mut found = Vec::new();
        for secret in secrets.0.finder.find_iter(&text) {
            if secret.start() < until && secret.end() > until {
                // It could be the start of a longer secret.
                until = secret.start();
            }
            found.push(secret.range());
        }
        self.held = text.split_off(until);
        found.retain(|range| range.end <= until);
        if found.is_empty() {
            return text;
        }
        let mut masked = BytesMut::from(text);
        found.into_iter().for_each(|range| masked[range].fill(b'*'));
        masked.freeze()
    }
}

fn join(held: Bytes, chunk: Bytes) -> Bytes {
    match (held.is_empty(), chunk.is_empty()) {
        (true, _) => chunk,
        (_, true) => held,
        _ => [&held[..], &chunk[..]].concat().into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::services::audit::Scrubber;

    fn streamed(scrubber: &Scrubber, pieces: &[&[u8]]) -> Vec<u8> {
        let mut masker = scrubber.masker();
        let mut out = Vec::new();
        for piece in pieces {
            out.extend_from_slice(&masker.mask(piece.to_vec().into(), false));
        }
        out.extend_from_slice(&masker.mask(Default::default(), true));
        out
    }

    #[test]
    fn a_secret_is_masked_wherever_it_is_split() {
        let scrubber = Scrubber::new(["sk-12345678", "sk-12345678-long", "78-78-78-x"]);
        let text = b"a sk-12345678. sk-12345678-long! sk-1234567 78-78-78-78-x sk-";
        let whole = scrubber.mask(text.to_vec().into());
        for one in 0..text.len() {
            for other in one..text.len() {
                let pieces = [&text[..one], &text[one..other], &text[other..]];
                assert_eq!(streamed(&scrubber, &pieces), whole, "at {one} and {other}");
            }
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(streamed(&scrubber, &single), whole);
    }

    #[test]
    fn text_that_cannot_become_a_secret_is_not_buffered() {
        let mut masker = Scrubber::new(["sk-12345678"]).masker();
        assert_eq!(masker.mask("data: {}\n\n".into(), false), "data: {}\n\n");
        assert_eq!(masker.mask("key sk-1".into(), false), "key ");
        assert_eq!((masker.held(), masker.mask("x".into(), false)), (4, "sk-1x".into()));
        assert_eq!(Scrubber::default().masker().mask("sk-".into(), false), "sk-");
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_result(text in "[ab]{0,60}", cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let scrubber = Scrubber::new(["abababab", "ababababb", "bbabababab", "aaaaaaaa"]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
            prop_assert_eq!(streamed(&scrubber, &pieces), scrubber.mask(text.clone().into()).to_vec());
        }
    }
}
