//! Memory: files that are written through mappings, the mapping of the program's own code, and the allocator.
//!
//! The only crate with `unsafe` code.

mod allocator;
mod code_pages;
mod mapped_file;

pub use allocator::Allocator;
pub use code_pages::release_code_pages;
pub use mapped_file::MappedFile;
