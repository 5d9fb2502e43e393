//! Tests over real sockets: scripted servers on loopback, one file per topic.

mod answers;
mod cancel;
mod destinations;
mod multiplexed;
mod pooling;
mod proxies;
mod secure;
mod streamed;
mod upstream;
