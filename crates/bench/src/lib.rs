//! The pieces of `gatehouse bench`: a mock upstream, a bare proxy as the floor, load, process figures, nginx, a report.

pub mod floor;
pub mod histogram;
pub mod load;
pub mod mock;
pub mod nginx;
pub mod process;
pub mod report;
