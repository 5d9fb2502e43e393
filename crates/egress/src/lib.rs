//! The gateway's client for outgoing HTTP: destinations, connection pools, TLS, proxies, and response bodies that merge
//! frames.

mod address;
mod base_url;
mod body;
mod client;
mod config;
mod destination;
mod dial;
mod error;
mod http1;
mod http2;
mod http2_demand;
mod http2_pool;
mod http2_stream;
mod idle;
mod origin;
mod outgoing;
mod proxy;
mod request;
mod segmented_body;
#[cfg(test)]
mod tests;
mod tls;
mod transport;

pub use address::Trust;
pub use body::InboundBody;
pub use client::{Egress, Inbound};
pub use config::{EgressConfig, ProxySettings};
pub use destination::Destination;
pub use error::{EgressError, EgressErrorKind};
pub use http1::HeadScan;
pub use outgoing::{BodyError, OutboundBody, StreamedBody};
pub use request::{Headers, Outbound};
