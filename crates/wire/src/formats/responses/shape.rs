//! The shape of a request in this format, and its output limit.

use crate::codec::Request;
use crate::codec::shape::{RequestShape, set_top_level};
use crate::splice::Patch;

/// `prompt` names a template that the provider stores.
pub fn shape(request: &Request) -> RequestShape<'_> {
    let shape = RequestShape::of(request);
    let template = request.object.position(&request.body, "prompt").is_some();
    RequestShape { stored_context: template || shape.stored_context, ..shape }
}

pub fn limit_output(request: &Request, limit: u64) -> Patch {
    set_top_level(request, "max_output_tokens", limit)
}
