//! A whole answer from the provider: the same as a stream of one event.

use domain::canon::{Collector, Reply};
use domain::fault::{self, Fault};

use super::follow::Follower;
use crate::codec::{Decoder as _, Decoding};

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    let mut follower = Follower::new(decoding.clone());
    let mut events = Vec::new();
    follower.take(body, &mut events)?;
    if follower.close(&mut events).is_err() {
        let reason = "no candidate says why it ended";
        return Err(fault::upstream_invalid_response(&decoding.provider, reason));
    }
    decoding.mint = follower.decoding.mint;
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    Ok(collector.finish())
}
