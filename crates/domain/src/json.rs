//! The parts of JSON that several crates need: the search for the special bytes of a string, and escapes, read and written.

mod escape;
mod special_bytes;
mod write;

pub use escape::{Escape, read_escape};
pub use special_bytes::{BLOCK, next_special, plain_prefix, special_bits};
pub use write::{Quoted, push_escaped, push_number, push_string, quote};
