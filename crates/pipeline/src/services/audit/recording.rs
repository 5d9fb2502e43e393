//! Records the beginning of a body while it is forwarded.

use parking_lot::Mutex;

/// Shared by the stream that forwards the body and the ticket that settles the call.
pub struct Recording {
    max: usize,
    taken: Mutex<RecordedBytes>,
}

#[derive(Default)]
struct RecordedBytes {
    bytes: Vec<u8>,
    cut: bool,
}

impl Recording {
    pub fn new(max: usize) -> Self {
        Self { max, taken: Mutex::default() }
    }

    pub fn add(&self, bytes: &[u8]) {
        let mut taken = self.taken.lock();
        let room = self.max - taken.bytes.len();
        taken.cut |= bytes.len() > room;
        taken.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Takes the recorded bytes, and whether the body was longer.
    pub fn take(&self) -> (Vec<u8>, bool) {
        let RecordedBytes { bytes, cut } = std::mem::take(&mut *self.taken.lock());
        (bytes, cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_allowed() {
        let recording = Recording::new(5);
        for piece in ["ab", "cd", "e"] {
            recording.add(piece.as_bytes());
        }
        assert_eq!(recording.take(), (b"abcde".to_vec(), false));
        recording.add(b"abcdef");
        recording.add(b"g");
        assert_eq!(recording.take(), (b"abcde".to_vec(), true));
    }
}
