//! The shape of a request in this format, and its output limit.

use crate::codec::Request;
use crate::codec::shape::{RequestShape, set_top_level};
use crate::splice::Patch;

pub fn shape(request: &Request) -> RequestShape<'_> {
    RequestShape::of(request)
}

pub fn limit_output(request: &Request, limit: u64) -> Patch {
    set_top_level(request, "max_tokens", limit)
}
