//! The search for the end of a message head that arrives in pieces.

use memchr::memchr_iter;

/// Progress in a buffer that may contain a message head.
#[derive(Default)]
pub struct HeadScan {
    /// The number of bytes in the buffer that do not contain the end of the head.
    scanned: usize,
}

impl HeadScan {
    /// Whether the buffer contains a whole head, or its first bytes, which may already be invalid. A head that arrives
    /// byte by byte is thus not parsed again for each of them.
    pub fn is_worth_parsing(&mut self, buffer: &[u8]) -> bool {
        let first = self.scanned == 0 && !buffer.is_empty();
        let from = self.scanned.saturating_sub(3);
        let ends = || {
            memchr_iter(b'\n', &buffer[from..]).any(|at| {
                let rest = &buffer[from + at + 1..];
                rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
            })
        };
        let is_worth_parsing = first || (buffer.len() > self.scanned && ends());
        self.scanned = buffer.len();
        is_worth_parsing
    }

    /// Starts again after a head was taken out of the buffer.
    pub fn reset(&mut self) {
        self.scanned = 0;
    }
}
