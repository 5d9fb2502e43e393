//! The commit gate: holds a stream back until its first real content, so that an error inside a 200 response is still
//! an error.

use domain::fault::Fault;
use tokio::time::{Instant, timeout_at};

use crate::streaming::UpstreamStream;

/// Events without content that are read before yielding to the scheduler.
const PATIENCE: u32 = 8;

/// Waits for the first content. `first` limits the time before the first event, `last` everything before the content.
pub async fn hold(flow: &mut UpstreamStream, first: Instant, last: Instant) -> Result<(), Fault> {
    let begun = Instant::now();
    let (mut limit, mut events, mut turns) = (first, flow.events(), 0u32);
    loop {
        if flow.has_opened() {
            return Ok(());
        }
        if let Some(fault) = flow.fault() {
            return Err(fault.clone());
        }
        if timeout_at(limit, flow.advance()).await.is_err() {
            return Err(flow.silent(begun.elapsed()));
        }
        // `advance` never waits if the provider sends events without content fast enough. Yielding lets the task be
        // cancelled when the client disconnects; the timeout is then checked explicitly.
        turns += 1;
        if turns % PATIENCE == 0 {
            tokio::task::yield_now().await;
            if Instant::now() >= limit {
                return Err(flow.silent(begun.elapsed()));
            }
        }
        // After the first event, the idle timeout of streams applies.
        if flow.events() > events {
            events = flow.events();
            limit = last.min(Instant::now() + flow.idle_timeout());
        }
    }
}
