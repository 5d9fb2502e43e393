//! The commit gate: an answer is held back until its first real content, so that an error inside a 200 is still an error.

use domain::fault::Fault;
use tokio::time::{Instant, timeout_at};

use crate::stream::Flow;

/// So many pieces without content are taken in at a stretch.
const PATIENCE: u32 = 8;

/// `first` bounds the silence before the first event, `last` everything before content.
pub async fn hold(flow: &mut Flow, first: Instant, last: Instant) -> Result<(), Fault> {
    let begun = Instant::now();
    let (mut limit, mut heard, mut turns) = (first, flow.heard(), 0u32);
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
        // A provider that says nothing as fast as it can must not keep us from seeing that the client has left.
        turns += 1;
        if turns % PATIENCE == 0 {
            tokio::task::yield_now().await;
            if Instant::now() >= limit {
                return Err(flow.silent(begun.elapsed()));
            }
        }
        // Once it has begun to speak, a provider may pause as any stream may.
        if flow.heard() > heard {
            heard = flow.heard();
            limit = last.min(Instant::now() + flow.idle_timeout());
        }
    }
}
