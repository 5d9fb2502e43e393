//! Building blocks of `gatehouse bench`: mock upstream, baseline proxy, load generator, process statistics, nginx and
//! report.

pub mod baseline_proxy;
pub mod histogram;
pub mod load;
pub mod mock;
pub mod nginx;
pub mod process;
pub mod report;
