//! The threads that serve connections: each has a runtime of its own and keeps what it is given.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// A connection stays on one thread for life, and so do the calls it carries and the connections they use upstream:
/// no event wakes a second thread, as events do in one runtime that shares its work among threads.
pub struct Workers(Vec<Worker>);

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    pub fn start(count: usize) -> io::Result<Self> {
        (0..count).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// None: connections are served by the runtime that accepts them.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Starts the same work on every thread.
    pub fn each<F: Future<Output = ()> + Send + 'static>(&self, tracker: &TaskTracker, work: impl Fn() -> F) {
        for worker in &self.0 {
            tracker.spawn_on(work(), &worker.runtime);
        }
    }

    /// Runs a connection on the thread that has the fewest of them.
    pub(crate) fn serve(&self, tracker: &TaskTracker, connection: impl Future<Output = ()> + Send + 'static) {
        let Some(worker) = self.0.iter().min_by_key(|worker| worker.connections.load(Ordering::Relaxed))
        else {
            tracker.spawn(connection);
            return;
        };
        let place = Place::take(&worker.connections);
        // Not an async block: that would have room for the connection twice, before and while it is awaited.
        tracker.spawn_on(connection.map(|()| drop(place)), &worker.runtime);
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (leave, left) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
            let _ = runtime.block_on(left);
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, connections: Arc::default(), leave: Some(leave), thread: Some(thread) })
    }
}

/// The threads end when nobody needs them any more; what still runs on them is dropped there.
impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            drop(worker.leave.take());
        }
        for worker in &mut self.0 {
            let _ = worker.thread.take().map(JoinHandle::join);
        }
    }
}

/// One more connection, as long as this lives.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
