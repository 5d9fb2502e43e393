//! Memory mappings: files that are written through memory, and the mapping of the program's own code.
//!
//! The only crate with `unsafe` code.

mod code_pages;
mod mapped_file;

pub use code_pages::release_code_pages;
pub use mapped_file::MappedFile;
