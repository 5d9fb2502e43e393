//! A notifier that costs the sender the same for any number of listeners: it wakes one, which wakes the others.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Default)]
pub struct Notifier {
    /// Whether a listener was notified and has not woken the others yet.
    rung: AtomicBool,
    first: Notify,
    others: Notify,
}

impl Notifier {
    pub fn ring(&self) {
        // Pairs with the swap in `listen`: either this sees `false` and notifies, or the listener that resets the flag
        // afterwards sees everything that was published before this call.
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.first.notify_one();
        }
    }

    pub fn wake_all(&self) {
        self.others.notify_waiters();
    }

    /// Completes at the next ring after this call, even if that is before the first poll.
    pub fn listen(&self) -> impl Future<Output = ()> + '_ {
        let (first, others) = (self.first.notified(), self.others.notified());
        async move {
            // `first` is polled before `others`: a permit for it is taken here or, if the future is dropped, passed on
            // to another listener, but never lost.
            tokio::select! {
                biased;
                () = first => {
                    self.rung.swap(false, Ordering::AcqRel);
                    self.wake_all();
                }
                () = others => {}
            }
        }
    }
}
