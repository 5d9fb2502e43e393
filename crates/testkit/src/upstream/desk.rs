//! A request at the door of a dialect, and what the dialect makes of it.

use http::HeaderMap;

use super::asked::Asked;
use super::dialect::Voice;
use super::memory::Memory;

pub(super) struct Visit<'a> {
    pub headers: &'a HeaderMap,
    pub query: &'a str,
    pub raw: &'a [u8],
    /// The answer's.
    pub id: String,
    pub created: u64,
    pub memory: &'a Memory,
}

/// A request that was read and not refused.
pub(super) struct Desk<'a> {
    pub asked: Asked,
    pub voice: Box<dyn Voice + 'a>,
}

impl Visit<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().filter(|value| !value.trim().is_empty())
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
    }
}
