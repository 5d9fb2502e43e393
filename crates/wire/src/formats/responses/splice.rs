//! Builds the upstream request for a provider of the same format: the client's body with the necessary edits.

use bytes::Bytes;

use crate::codec::{Request, Target};
use crate::json;
use crate::splice::Patch;

/// The upstream body as a chain of slices; nothing the client wrote is re-serialised.
pub fn splice(request: &Request, target: &Target<'_>) -> Vec<Bytes> {
    let mut patch = Patch::new();
    let object = &request.object;
    let mut set = |place: Option<usize>, name: &str, value: String| match place {
        Some(index) => patch.replace(object.members[index].value.clone(), value),
        None => patch.insert_member(object, format!("\"{name}\":{value}")),
    };
    set(request.places.model, "model", json::quote(target.model));
    if target.stream && request.stream != Some(true) {
        set(request.places.stream, "stream", "true".to_owned());
    }
    if let Some(index) = request.places.provider.filter(|_| request.provider_hint.is_some()) {
        patch.remove_member(object, index);
    }
    for name in target.vendor.quirks.dropped {
        if let Some(index) = object.position(&request.body, name) {
            patch.remove_member(object, index);
        }
    }
    patch.apply(&request.body)
}
