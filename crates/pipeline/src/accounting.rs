//! Accounting of a call: its receipt, its usage, and settlement.

pub mod estimate;
pub mod settle;
