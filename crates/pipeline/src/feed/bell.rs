//! A bell that costs the one who rings it the same, however many are listening: it wakes one, who wakes the others.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Default)]
pub struct Bell {
    /// Somebody has been called and has not woken the others yet.
    rung: AtomicBool,
    first: Notify,
    others: Notify,
}

impl Bell {
    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.first.notify_one();
        }
    }

    pub fn wake_all(&self) {
        self.others.notify_waiters();
    }

    /// Hears every ring from the moment of this call, not only from when it is first waited for.
    pub fn listen(&self) -> impl Future<Output = ()> + '_ {
        let (first, others) = (self.first.notified(), self.others.notified());
        async move {
            // In this order: a call for the first is answered, or passed on by its drop, but never lost.
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
