//! The request as a provider of the same format gets it: the client's body with the few edits that must be made.

use bytes::Bytes;

use crate::codec::{Request, Target};
use crate::json;
use crate::splice::Patch;

pub fn splice(request: &Request, target: &Target<'_>) -> Vec<Bytes> {
    let mut patch = Patch::new();
    let mut set = |place: Option<usize>, name: &str, value: String| match place {
        Some(index) => patch.replace(request.object.members[index].value.clone(), value),
        None => patch.insert_member(&request.object, format!("\"{name}\":{value}")),
    };
    set(request.places.model, "model", json::quote(target.model));
    if target.stream && request.stream != Some(true) {
        set(request.places.stream, "stream", "true".to_owned());
    }
    if let (Some(_), Some(index)) = (&request.provider_hint, request.places.provider) {
        patch.remove_member(&request.object, index);
    }
    patch.apply(&request.body)
}
