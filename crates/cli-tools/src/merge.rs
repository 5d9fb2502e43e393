//! Merging of rendered members into the text of an existing file. Other members, comments and order are kept.

mod dotenv;
mod json;
mod toml;

use crate::tool::Content;

/// The text of a file after the merge; the error says why the existing text cannot be changed.
pub fn merge(existing: &str, content: &Content) -> Result<String, String> {
    match content {
        Content::Json(members) => json::merge(existing, members),
        Content::Toml(members) => toml::merge(existing, members),
        Content::Dotenv(variables) => Ok(dotenv::merge(existing, variables)),
        Content::Text { text, .. } => Ok(text.clone()),
    }
}
