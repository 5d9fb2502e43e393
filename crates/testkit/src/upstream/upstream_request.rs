//! A received request, and the same request parsed by its format.

use http::HeaderMap;

use super::dialect::ResponseRenderer;
use super::memory::Memory;
use super::parsed_request::ParsedRequest;

pub(super) struct UpstreamRequest<'a> {
    pub headers: &'a HeaderMap,
    pub query: &'a str,
    pub raw: &'a [u8],
    /// The id of the answer.
    pub id: String,
    pub created: u64,
    pub memory: &'a Memory,
}

/// A parsed and accepted request.
pub(super) struct AcceptedRequest<'a> {
    pub parsed: ParsedRequest,
    pub renderer: Box<dyn ResponseRenderer + 'a>,
}

impl UpstreamRequest<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().filter(|value| !value.trim().is_empty())
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
    }
}
