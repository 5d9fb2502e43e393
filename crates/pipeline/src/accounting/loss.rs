//! The cost of a response that was lost.

use domain::usage::Usage;

/// A response that a provider began and that did not reach the client.
#[derive(Debug, Default, PartialEq)]
pub struct Loss {
    /// The usage that the provider reported, if it got that far.
    pub usage: Option<Usage>,
    pub content_bytes: u64,
}
