//! Admission of a call: its reservation, and its share of the budgets on its path.

pub(crate) mod afford;
pub mod reserve;
