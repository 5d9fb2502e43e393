//! Rewrites the output limit of a request whose format has it at the top level.

use super::names::OUTPUT_LIMITS;
use crate::codec::Request;
use crate::splice::Patch;

/// Sets the limit under every name that the request uses, because the provider decides which one it reads; without
/// one, under the format's `own` name.
pub fn set_top_level(request: &Request, own: &str, limit: u64) -> Patch {
    let (object, body) = (&request.object, &request.body);
    let mut patch = Patch::new();
    let mut given = OUTPUT_LIMITS.iter().filter_map(|name| object.value(body, name)).peekable();
    if given.peek().is_some() {
        given.for_each(|value| patch.replace(value, limit.to_string()));
    } else if let Some(null) = object.get(body, own) {
        patch.replace(null.value.clone(), limit.to_string());
    } else {
        patch.insert_member(object, format!("\"{own}\":{limit}"));
    }
    patch
}
