//! Accounting of a call: its receipt, its usage, and settlement.

pub mod audit_tap;
mod background_call;
pub mod estimate;
pub mod holds;
mod journey_record;
pub mod loss;
pub mod pricing;
mod prior_usage;
pub mod receipt_builder;
mod request_log;
pub mod reservation;
mod settlement;
pub mod stored_response;
pub mod ticket;
