//! Accounting of a call: its receipt, its usage, and settlement.

pub mod audit_tap;
pub mod estimate;
pub mod loss;
pub mod reservation;
pub mod settle;
pub mod stored_response;
