//! Builds the upstream request for a provider of the same format: only the gateway's own hint is removed.

use bytes::Bytes;

use crate::codec::Request;
use crate::splice::Patch;

pub fn splice(request: &Request) -> Vec<Bytes> {
    let mut patch = Patch::new();
    if let (Some(_), Some(place)) = (&request.provider_hint, request.places.provider) {
        patch.remove_member(&request.object, place);
    }
    patch.apply(&request.body)
}
