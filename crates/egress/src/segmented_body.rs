//! A request body in parts: sent as one frame of known length, written vectored, cheap to send again.

use std::convert::Infallible;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};

#[derive(Clone, Debug)]
pub(crate) struct Rope {
    parts: Arc<[Bytes]>,
    part: usize,
    offset: usize,
    remaining: usize,
}

impl Rope {
    pub(crate) fn new(parts: Vec<Bytes>) -> Self {
        let remaining = parts.iter().map(Bytes::len).sum();
        Self { parts: parts.into(), part: 0, offset: 0, remaining }
    }

    /// The same bytes between two others.
    pub(crate) fn enclosed(mut self, before: Bytes, after: Bytes) -> Self {
        let rest = self.copy_to_bytes(self.remaining);
        Self::new(vec![before, rest, after])
    }

    pub(crate) fn into_body(self) -> RopeBody {
        RopeBody { rope: (self.remaining > 0).then_some(self) }
    }
}

impl Buf for Rope {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        let mut offset = self.offset;
        for part in self.parts.get(self.part..).unwrap_or_default() {
            match part.get(offset..) {
                Some(rest) if !rest.is_empty() => return rest,
                _ => offset = 0,
            }
        }
        &[]
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        let mut offset = self.offset;
        for part in self.parts.get(self.part..).unwrap_or_default() {
            let rest = part.get(offset..).unwrap_or_default();
            offset = 0;
            if rest.is_empty() {
                continue;
            }
            let Some(slice) = slices.get_mut(filled) else { break };
            *slice = IoSlice::new(rest);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, mut count: usize) {
        count = count.min(self.remaining);
        self.remaining -= count;
        while let Some(part) = self.parts.get(self.part) {
            let rest = part.len() - self.offset;
            if count < rest {
                self.offset += count;
                return;
            }
            count -= rest;
            self.part += 1;
            self.offset = 0;
        }
    }
}

pub(crate) struct RopeBody {
    rope: Option<Rope>,
}

impl Body for RopeBody {
    type Data = Rope;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Rope>, Infallible>>> {
        Poll::Ready(self.rope.take().map(|rope| Ok(Frame::data(rope))))
    }

    fn is_end_stream(&self) -> bool {
        self.rope.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rope.as_ref().map_or(0, |rope| rope.remaining as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_as_the_parts_in_order(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9),
            steps in proptest::collection::vec(1usize..7, 0..80),
        ) {
            let whole = parts.concat();
            let mut rope = Rope::new(parts.into_iter().map(Bytes::from).collect());
            let mut read = Vec::new();
            let mut steps = steps.into_iter().chain(std::iter::repeat(3));
            while rope.has_remaining() {
                prop_assert!(!rope.chunk().is_empty());
                let mut slices = [IoSlice::new(&[]); 16];
                let filled = rope.chunks_vectored(&mut slices);
                let gathered: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                prop_assert_eq!(&gathered[..], &whole[read.len()..]);
                let step = steps.next().unwrap().min(rope.remaining());
                read.extend_from_slice(&gathered[..step]);
                rope.advance(step);
            }
            prop_assert_eq!(read, whole);
            prop_assert!(rope.chunk().is_empty());
        }
    }
}
