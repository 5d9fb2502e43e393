//! A thread of low scheduling priority.

use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::StoreError;

/// Added to the nice value: a busy worker gets about three times the CPU time of a thread with this priority.
const NICE: i32 = 5;

/// Runs a future on a thread of low priority. Threads that it starts inherit the priority: the thread of a SQLite
/// connection that is opened here does not delay the threads that serve calls.
pub(super) async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let failed = |reason: String| StoreError::Unavailable(format!("a thread could not be started: {reason}"));
    let runtime = Handle::current();
    let (send, receive) = oneshot::channel();
    let run = move || {
        if let Err(error) = rustix::process::nice(NICE) {
            tracing::debug!(%error, "lowering the priority of the database writer failed");
        }
        _ = send.send(runtime.block_on(work));
    };
    thread::Builder::new()
        .name("open-database".into())
        .spawn(run)
        .map_err(|error| failed(error.to_string()))?;
    receive.await.map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nice() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[tokio::test]
    async fn threads_started_by_the_work_have_a_low_priority_and_ours_does_not() {
        let before = nice();
        let inside = run(async { thread::spawn(nice).join().unwrap() }).await.unwrap();
        assert_eq!((inside, nice()), ((before + NICE).min(19), before));
    }
}
