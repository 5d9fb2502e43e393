//! The waker of an inline connection: suppresses wake-ups that a task would send itself while it is polling.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Wake-up state between a connection and the task that polls it. Hyper's connection and body communicate through
/// channels that wake each other; here one task polls both, so without suppression each frame would schedule the task
/// once more for nothing.
#[derive(Default)]
pub(crate) struct Signal {
    task: AtomicWaker,
    polling: AtomicBool,
    missed: AtomicBool,
    received: AtomicBool,
}

impl Signal {
    /// Starts a poll: until `leave`, wake-ups are only recorded.
    pub(crate) fn enter(&self, context: &Context<'_>) {
        // Register before muting: a wake-up that still sees `polling == false` must reach the current task.
        self.task.register(context.waker());
        self.polling.store(true, Ordering::SeqCst);
    }

    /// Clears recorded wake-ups. Called right before the connection is polled, which handles their cause.
    pub(crate) fn forget_missed(&self) {
        self.missed.store(false, Ordering::SeqCst);
    }

    /// Ends a poll. `parked` is true if the task returns pending, so that recorded wake-ups must wake it.
    pub(crate) fn leave(&self, parked: bool) {
        // Unmute first, then look at `missed`. `wake_by_ref` stores `missed` and then loads `polling`. In the single
        // order of SeqCst operations, either this swap sees the flag, or the waker sees `polling == false` and wakes
        // the task itself. Weaker orderings would allow both sides to miss each other, and the task would hang.
        self.polling.store(false, Ordering::SeqCst);
        if self.missed.swap(false, Ordering::SeqCst) && parked {
            self.task.wake();
        }
    }

    /// Drops the registered waker, so that an idle connection does not keep a task alive.
    pub(crate) fn detach(&self) {
        drop(self.task.take());
    }

    /// Records that bytes arrived. Relaxed: the flag is only read by the task that drives the connection.
    pub(crate) fn note_received(&self) {
        self.received.store(true, Ordering::Relaxed);
    }

    pub(crate) fn clear_received(&self) {
        self.received.store(false, Ordering::Relaxed);
    }

    pub(crate) fn has_received(&self) -> bool {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.polling.load(Ordering::SeqCst) {
            return self.task.wake();
        }
        self.missed.store(true, Ordering::SeqCst);
        // The poll may have ended between the load and the store, in which case `leave` has not seen the flag.
        if !self.polling.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_wake_while_polling_is_held_until_the_task_parks() {
        let counter = Arc::new(Counter::default());
        let task = Waker::from(Arc::clone(&counter));
        let context = Context::from_waker(&task);
        let signal = Arc::new(Signal::default());

        signal.enter(&context);
        signal.waker().wake();
        assert_eq!(counter.0.load(Ordering::SeqCst), 0);
        signal.leave(true);
        assert_eq!(counter.0.load(Ordering::SeqCst), 1);

        signal.enter(&context);
        signal.waker().wake();
        signal.leave(false);
        assert_eq!(counter.0.load(Ordering::SeqCst), 1);

        signal.enter(&context);
        signal.leave(true);
        signal.waker().wake();
        assert_eq!(counter.0.load(Ordering::SeqCst), 2);
    }
}
