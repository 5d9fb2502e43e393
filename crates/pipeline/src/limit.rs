//! Station: a key's rate limits. What is taken here is given back, or corrected, when the call is settled.

use domain::caller::Caller;
use domain::fault::Fault;
use http::HeaderMap;

use crate::gateway::Gateway;
use crate::reserve::Reservation;

/// The live counts of every limited key.
#[derive(Default)]
pub struct Limiter {}

/// A call's place within its key's limits, held until the call is settled.
pub struct Permit {}

impl Permit {
    /// What the client is told of its limits, on success and on refusal alike.
    pub fn headers(&self, _headers: &mut HeaderMap) {}

    /// The call is over and has consumed so many tokens.
    pub fn settle(self, _tokens: u64) {}
}

/// None for a caller without limits.
pub fn admit(
    _gateway: &Gateway,
    _caller: &Caller,
    _reservation: &Reservation,
) -> Result<Option<Permit>, Fault> {
    Ok(None)
}
