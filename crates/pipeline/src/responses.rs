//! Stored responses of the Responses API: kept for their owner, and continued on any provider.

pub mod background;
mod lifecycle;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::{Action, Scope};
use domain::usage::Usage;
use store::{Found, Owner, OwnerFilter, Responses, StoredResponse};
use wire::formats;
use wire::json;

use crate::accounting::stored_response::Keeping;
use crate::accounting::ticket::Ticket;
use crate::call::previous::Previous;
use crate::call::receive::Call;

pub(crate) use lifecycle::unsupported;
pub use lifecycle::{Items, ResponseLookup};

/// The usage of a complete response, parsed and raw. Also records the size of its content.
pub(crate) fn read_usage<'a>(ticket: &mut Ticket, body: &'a [u8]) -> (Option<Usage>, &'a [u8]) {
    let codec = formats::upstream(Format::Responses);
    ticket.receipt.produced(codec.read_answer(body).map_or(0, |answer| answer.content_bytes as u64));
    let raw = json::value_at(body, &["usage"]).map(|range| &body[range]).unwrap_or_default();
    (codec.read_usage(raw, None), raw)
}

/// Looks up the previous response of a call, and records how this one is stored.
pub async fn follow_up(call: &mut Call, principal: &Principal, ticket: &mut Ticket) -> Result<(), Fault> {
    if call.surface != Surface::Converse(Format::Responses) {
        return Ok(());
    }
    // Boxed, because most calls do not need this future and should not carry its size.
    let keeping =
        Box::pin(look_back(call, principal, ticket.context.owner().clone(), &ticket.gateway().responses))
            .await?;
    ticket.keep(keeping);
    Ok(())
}

/// Adds the previous response to the call. Returns how the new one is stored.
pub async fn look_back(
    call: &mut Call,
    principal: &Principal,
    owner: Owner,
    responses: &Responses,
) -> Result<Keeping, Fault> {
    let request = &call.request;
    let value = |name| request.object.value(&request.body, name);
    let store = match value("store").map(|range| &request.body[range]) {
        None | Some(b"true") => true,
        Some(b"false") => false,
        Some(_) => return Err(fault::invalid_parameter("store", "'store' must be true or false.")),
    };
    let previous = match value("previous_response_id") {
        None => None,
        Some(range) => {
            Some(json::string_at(&request.body, &range).map(|id| id.into_owned()).ok_or_else(|| {
                fault::invalid_parameter("previous_response_id", "'previous_response_id' must be a string.")
            })?)
        }
    };
    if let Some(id) = &previous {
        call.previous = Some(find(id, principal, &owner, responses).await?);
    }
    let input = request.object.value(&request.body, "input");
    Ok(Keeping { owner, previous, store, input })
}

async fn find(
    id: &str,
    principal: &Principal,
    owner: &Owner,
    responses: &Responses,
) -> Result<Previous, Fault> {
    let gone = || {
        let message = format!("The previous response '{id}' was not found, or is not kept.");
        fault::not_found(message).param("previous_response_id")
    };
    match responses.find_owned(id, visible_to(principal, owner, Action::Read).as_ref()).await? {
        Found::NotYours => Err(gone()),
        Found::Unknown if reaches_all(principal, Action::Read) => {
            Ok(Previous { at_provider: None, unknown: true, items: Vec::new(), broken: false })
        }
        Found::Unknown => Err(gone()),
        Found::Yours(response) if !response.usable => Err(gone()),
        Found::Yours(response) => {
            let turns = responses.history(id).await?;
            let at_provider = (!response.upstream_id.is_empty()).then(|| response.provider.clone());
            let broken = turns.first().is_none_or(|first| first.previous.is_some());
            Ok(Previous {
                at_provider,
                unknown: false,
                items: turns.iter().flat_map(items).collect(),
                broken,
            })
        }
    }
}

/// The owners whose responses a caller may access: itself; with admin scope and without a tenant all owners (`None`), or
/// those of the subtree that its key is bound to.
pub fn visible_to(principal: &Principal, owner: &Owner, action: Action) -> Option<OwnerFilter> {
    if !principal.may(Scope::Admin(None, action)) || principal.tenant().is_some() {
        return Some(OwnerFilter::Exact(owner.clone()));
    }
    principal.subtree().cloned().map(OwnerFilter::Subtree)
}

/// Whether the caller may access the responses of all owners, including unrecorded ones.
pub fn reaches_all(principal: &Principal, action: Action) -> bool {
    principal.may(Scope::Admin(None, action)) && !principal.is_confined()
}

fn items(turn: &StoredResponse) -> [Bytes; 2] {
    [turn.input.clone(), turn.output.clone()]
}
