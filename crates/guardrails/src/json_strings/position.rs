//! The position in a JSON text: whether the next string is a key.

/// Whether a byte separates tokens.
pub fn is_structural(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}

pub fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Containers that are open, and whether a key is expected.
#[derive(Debug, Default)]
pub struct JsonPosition {
    /// For each open container whether it is an object.
    objects: Vec<bool>,
    expects_key: bool,
}

/// Deeper containers are not told apart: their strings count as values, which are redacted.
const DEEPEST: usize = 1024;

impl JsonPosition {
    pub fn is_key(&self) -> bool {
        self.expects_key
    }

    /// Whether a container is open.
    pub fn is_inside(&self) -> bool {
        !self.objects.is_empty()
    }

    /// Advances over a structural character.
    pub fn advance(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                if self.objects.len() < DEEPEST {
                    self.objects.push(byte == b'{');
                }
                self.expects_key = byte == b'{' && self.objects.len() < DEEPEST;
            }
            b'}' | b']' => {
                self.objects.pop();
                self.expects_key = false;
            }
            b',' => {
                self.expects_key =
                    self.objects.len() < DEEPEST && self.objects.last().is_some_and(|is_object| *is_object)
            }
            b':' => self.expects_key = false,
            _ => {}
        }
    }
}
