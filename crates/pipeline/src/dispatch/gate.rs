//! The commit gate: an answer is held back until its first real content, so that an error inside a 200 is still an error.

use domain::fault::Fault;
use tokio::time::{Instant, timeout_at};

use crate::gateway::Policy;
use crate::stream::Flow;

pub async fn hold(mut flow: Flow, policy: &Policy) -> Result<Flow, Fault> {
    let mut limit = policy.first_event_timeout;
    let mut deadline = Instant::now() + limit;
    loop {
        if flow.has_opened() {
            return Ok(flow);
        }
        if let Some(fault) = flow.fault() {
            return Err(fault.clone());
        }
        if timeout_at(deadline, flow.advance()).await.is_err() {
            return Err(flow.silent(limit));
        }
        // Once it has begun to speak, a provider may pause as any stream may.
        limit = policy.stream_idle_timeout;
        deadline = Instant::now() + limit;
    }
}
