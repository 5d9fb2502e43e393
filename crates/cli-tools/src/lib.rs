//! The configuration of coding agents and command-line tools for use with the gateway: rendering of their files, merging
//! into existing ones, backups and restoration. The admin API and `gatehouse connect` share it.

mod backup;
mod config_file;
mod connection;
mod merge;
mod place;
mod tool;
mod tools;

pub use backup::{Applied, AppliedFile, Reset, apply, preview_files, reset};
pub use config_file::FileError;
pub use connection::{Connection, InvalidConnection};
pub use place::{ConfigPlace, Directories};
pub use tool::{Api, Configuration, Content, ModelField, RenderedFile, Tool};
pub use tools::{SERVED, all, find};
