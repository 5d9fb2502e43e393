//! Behaviour over real sockets: scripted servers on loopback, one file per concern.

mod answers;
mod cancel;
mod destinations;
mod multiplexed;
mod pooling;
mod proxies;
mod secure;
mod streamed;
mod upstream;
