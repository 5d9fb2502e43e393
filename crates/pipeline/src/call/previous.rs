//! The response that a call continues, with its earlier turns.

use std::borrow::Cow;

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};
use wire::codec::Request;
use wire::formats;
use wire::formats::responses as format;

use crate::call::receive::Call;
use crate::routing::routes::Deployment;

/// The response that a call continues.
pub struct Previous {
    /// The provider that stores it under the same id.
    pub at_provider: Option<String>,
    /// The id is not recorded here; only a provider may know it.
    pub unknown: bool,
    /// The earlier turns, oldest first, as stored JSON arrays of items.
    pub items: Vec<Bytes>,
    /// An earlier turn is missing, so the items are not the whole conversation.
    pub broken: bool,
}

impl Previous {
    /// The size of the earlier turns.
    pub fn byte_count(&self) -> usize {
        self.items.iter().map(Bytes::len).sum()
    }
}

/// Whether this provider can continue by itself: the call continues nothing, or the provider stores the previous
/// response.
pub fn goes_on_here(call: &Call, deployment: &Deployment) -> bool {
    match &call.previous {
        None => true,
        Some(previous) => {
            previous.unknown || previous.at_provider.as_deref() == Some(&*deployment.target.instance)
        }
    }
}

/// Whether the complete history is known, so that any provider can continue.
pub fn history_is_known(call: &Call) -> bool {
    !call.previous.as_ref().is_some_and(|previous| previous.unknown || previous.broken)
}

/// The request with all earlier turns prepended, for a provider that does not store them.
pub fn with_history(call: &Call) -> Result<Cow<'_, Request>, Fault> {
    match &call.previous {
        None => Ok(Cow::Borrowed(&call.request)),
        Some(previous) if previous.unknown => {
            let message = "The previous response is not known here, and this provider keeps none.";
            Err(fault::not_found(message).param("previous_response_id"))
        }
        Some(previous) if previous.broken => {
            let message = "An earlier response of this conversation is no longer kept, and this provider has none of it.";
            Err(fault::not_found(message).param("previous_response_id"))
        }
        Some(previous) => {
            let body = format::with_history(&call.request.body, &previous.items);
            formats::client(Format::Responses).peek(body).map(Cow::Owned)
        }
    }
}
