//! Limits on request bodies: the bytes that the whole process holds, and the large bodies that it processes at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use domain::fault::{self, Fault};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use wire::json::ELEMENT_LIMIT;

/// Bodies up to this size are not counted: the number of connections bounds what they take.
pub const SMALL_BODY: usize = 16 * 1024;

/// Bodies from this size on are scanned, parsed and translated off the threads that serve connections.
pub const LARGE_BODY: usize = 128 * 1024;

/// Most bodies that are parsed at the same time: a parsed body takes many times its length.
const MOST_SLOTS: usize = 4;

/// The memory held by bodies, and the slots for work on large ones. One per process.
pub struct BodyWork {
    held: Arc<AtomicU64>,
    slots: Arc<Semaphore>,
    /// Elements of the bodies that are parsed into trees now. Their number decides the memory that a tree takes, so that
    /// bodies with very many are parsed one after another, however many cores there are.
    elements: Arc<Semaphore>,
    /// Slots for classifiers of texts.
    classifier_slots: Arc<Semaphore>,
}

impl Default for BodyWork {
    fn default() -> Self {
        // Half of the cores stay free for the threads that serve connections.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let slots = || Arc::new(Semaphore::new((cores / 2).clamp(1, MOST_SLOTS)));
        Self {
            held: Arc::default(),
            slots: slots(),
            elements: Arc::new(Semaphore::new(ELEMENT_LIMIT)),
            classifier_slots: slots(),
        }
    }
}

impl BodyWork {
    /// An empty lease on the memory for bodies. The memory is given back when the lease, or the body it is attached to,
    /// is dropped.
    pub fn lease(&self, limit: u64) -> BodyLease {
        BodyLease { held: self.held.clone(), bytes: 0, limit }
    }

    /// Bytes of the bodies that are held now.
    pub fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Runs CPU-heavy work on a thread that serves no connection, once a slot is free.
    pub async fn run<T: Send + 'static>(
        &self,
        tasks: &TaskTracker,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        self.run_on_tree(tasks, 0, work).await
    }

    /// As [`run`](Self::run), for work that parses a body of so many elements into a tree.
    pub async fn run_on_tree<T: Send + 'static>(
        &self,
        tasks: &TaskTracker,
        elements: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let elements = elements.min(ELEMENT_LIMIT) as u32;
        let closed = |_| fault::internal_error();
        let tree = self.elements.clone().acquire_many_owned(elements).await.map_err(closed)?;
        let slot = self.slots.clone().acquire_owned().await.map_err(closed)?;
        run_holding((tree, slot), tasks, work).await
    }

    /// As [`run`](Self::run), for work in which a classifier scores texts. It has slots of its own, so that large bodies
    /// do not wait for it.
    pub async fn run_classifier<T: Send + 'static>(
        &self,
        tasks: &TaskTracker,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let slot = self.classifier_slots.clone().acquire_owned().await;
        run_holding(slot.map_err(|_| fault::internal_error())?, tasks, work).await
    }
}

/// Runs work on a blocking thread. Such a task cannot be cancelled: its slots stay taken until the work ends, even if the
/// caller is gone.
async fn run_holding<S: Send + 'static, T: Send + 'static>(
    slots: S,
    tasks: &TaskTracker,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let job = tasks.spawn_blocking(move || {
        let _slots = slots;
        work()
    });
    match job.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(result) => Ok(result),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime is being shut down.
        Err(Err(_)) => Err(fault::internal_error()),
    }
}

/// The share of one body in the memory for all bodies.
pub struct BodyLease {
    held: Arc<AtomicU64>,
    bytes: u64,
    limit: u64,
}

impl BodyLease {
    /// Counts further bytes; fails if all bodies together exceed the limit.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Fault> {
        // Added before the check, so that concurrent leases cannot all pass it; dropping a refused lease subtracts the
        // bytes again. Relaxed: the counter orders no other memory.
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        match before + bytes > self.limit {
            true => Err(fault::overloaded(self.limit)),
            false => Ok(()),
        }
    }

    /// Counts a whole body, unless it is small or counted already.
    pub fn cover(&mut self, bytes: u64) -> Result<(), Fault> {
        match bytes > SMALL_BODY as u64 && self.bytes == 0 {
            true => self.grow(bytes),
            false => Ok(()),
        }
    }

    /// Counts a body that has grown to this size, unless it is small.
    pub fn cover_up_to(&mut self, bytes: u64) -> Result<(), Fault> {
        match bytes > SMALL_BODY as u64 && bytes > self.bytes {
            true => self.grow(bytes - self.bytes),
            false => Ok(()),
        }
    }

    /// An empty lease on the same memory.
    pub fn another(&self) -> Self {
        Self { held: self.held.clone(), bytes: 0, limit: self.limit }
    }

    /// Attaches the lease to the body: it ends when the last copy of the body is dropped.
    pub fn attach(self, body: Bytes) -> Bytes {
        match self.bytes {
            0 => body,
            _ => Bytes::from_owner(LeasedBody { body, _lease: self }),
        }
    }
}

impl Drop for BodyLease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

struct LeasedBody {
    body: Bytes,
    _lease: BodyLease,
}

impl AsRef<[u8]> for LeasedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_copy_of_a_body_ends_its_lease() {
        let work = BodyWork::default();
        let mut lease = work.lease(100);
        lease.grow(60).unwrap();
        let body = lease.attach(Bytes::from(vec![0; 60]));
        let slice = body.slice(10..20);
        drop(body);
        assert_eq!(work.held_bytes(), 60);
        drop(slice);
        assert_eq!(work.held_bytes(), 0);
    }

    #[test]
    fn bodies_beyond_the_limit_are_refused_and_count_no_longer() {
        let work = BodyWork::default();
        let (mut first, mut second) = (work.lease(100), work.lease(100));
        first.grow(70).unwrap();
        let fault = second.grow(31).unwrap_err();
        assert_eq!((fault.status, fault.code.as_str()), (503, "overloaded"));
        assert!(fault.retry_after.is_some());
        drop(second);
        assert_eq!(work.held_bytes(), 70);
        work.lease(100).grow(30).unwrap();
    }

    #[test]
    fn a_growing_body_is_counted_once() {
        let work = BodyWork::default();
        let mut lease = work.lease(1 << 20);
        for bytes in [0, SMALL_BODY, SMALL_BODY + 1, 40_000, 40_000, 30_000, 60_000] {
            lease.cover_up_to(bytes as u64).unwrap();
        }
        assert_eq!(work.held_bytes(), 60_000);
        drop(lease);
        assert_eq!(work.held_bytes(), 0);
    }

    #[tokio::test]
    async fn work_runs_one_after_another_when_slots_are_short() {
        let work = Arc::new(BodyWork { slots: Arc::new(Semaphore::new(1)), ..BodyWork::default() });
        let (tasks, running) = (TaskTracker::new(), Arc::new(AtomicU64::new(0)));
        let jobs = (0..8).map(|_| {
            let running = running.clone();
            work.run(&tasks, move || {
                let others = running.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(2));
                running.fetch_sub(1, Ordering::SeqCst);
                others
            })
        });
        let others: Vec<u64> = futures_util::future::try_join_all(jobs).await.unwrap();
        assert_eq!(others, [0; 8]);
    }
}
