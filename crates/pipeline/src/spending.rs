//! Station: budgets. What a call may cost at worst is held against every budget on its path until it is settled.

use domain::fault::Fault;
use domain::money::Nanos;
use domain::user_path::UserPath;

use crate::gateway::Gateway;

/// What is spent and held of every budget.
#[derive(Default)]
pub struct Spending {}

/// What a call may cost at worst, held until it is settled. Dropped, it is given back.
pub struct Hold {}

impl Hold {
    /// Another attempt at the call may cost as much again: false when no budget has room for it.
    pub fn extend(&mut self, _more: Nanos) -> bool {
        true
    }

    /// The call is over and has cost so much; nothing when it has no price.
    pub fn settle(self, _cost: Option<Nanos>) {}
}

/// None where no budget applies.
pub fn hold(
    _gateway: &Gateway,
    _tenant: Option<&str>,
    _user_path: &UserPath,
    _worst: impl FnOnce() -> Option<Nanos>,
) -> Result<Option<Hold>, Fault> {
    Ok(None)
}
