//! A time limit that a pause of this process does not use up.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// The number of parts of a time limit.
const PARTS: u32 = 10;

/// Waits for an answer at most for a time limit; `None` without one. Of a time in which this process is stopped, or gets no
/// CPU time, only a fifth of the limit counts: then the answer may be there and not read yet, or Redis may have been stopped
/// as well.
pub async fn within<T>(limit: Duration, answer: impl Future<Output = T>) -> Option<T> {
    let mut answer = pin!(answer);
    let part = (limit / PARTS).max(Duration::from_millis(1));
    let mut left = limit;
    while !left.is_zero() {
        let begun = Instant::now();
        if let Ok(answer) = timeout(part.min(left), &mut answer).await {
            return Some(answer);
        }
        left = left.saturating_sub(begun.elapsed().min(2 * part));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_waited_for_as_long_as_the_limit() {
        let begun = Instant::now();
        assert_eq!(within(LIMIT, pending::<()>()).await, None);
        assert!(begun.elapsed() >= LIMIT, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_pause_of_the_process_does_not_end_the_limit() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let answering = async {
            // Nothing else runs on this thread meanwhile.
            std::thread::sleep(LIMIT + LIMIT / 2);
            tokio::time::sleep(LIMIT / 4).await;
            let _ = sender.send(());
        };
        let (answer, ()) = tokio::join!(within(LIMIT, receiver), answering);
        assert_eq!(answer, Some(Ok(())));
    }
}
