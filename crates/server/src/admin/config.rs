//! `/admin/api/v1/config`: the whole configuration as documents, for files in version control: export, plan, apply.

pub mod apply;
mod current;
mod document;
pub mod export;
mod file_resources;
mod key_document;
mod kind;
pub mod plan;
mod planned_change;
mod schema;
mod secret_references;

pub use file_resources::FileResources;
pub use schema::schema;
