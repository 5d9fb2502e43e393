//! The waker of an inline connection: mutes the wake-ups a task would give itself while it is polling.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Hyper's connection and body talk through channels that wake each other; here both are polled by one task, so
/// without the mute each frame would schedule that task once more for nothing.
#[derive(Default)]
pub(crate) struct Signal {
    task: AtomicWaker,
    polling: AtomicBool,
    missed: AtomicBool,
    received: AtomicBool,
}

impl Signal {
    /// From here to `leave`, wake-ups are only remembered.
    pub(crate) fn enter(&self, context: &Context<'_>) {
        self.task.register(context.waker());
        self.polling.store(true, Ordering::SeqCst);
    }

    pub(crate) fn forget_missed(&self) {
        self.missed.store(false, Ordering::SeqCst);
    }

    /// `parked`: the task is about to sleep, so what was missed must wake it.
    pub(crate) fn leave(&self, parked: bool) {
        self.polling.store(false, Ordering::SeqCst);
        if self.missed.swap(false, Ordering::SeqCst) && parked {
            self.task.wake();
        }
    }

    /// An idle connection keeps no task alive.
    pub(crate) fn detach(&self) {
        drop(self.task.take());
    }

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
        // The poll may have ended between the two lines above.
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
