//! Worker threads that serve connections, each with a single-threaded runtime.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use futures_util::FutureExt as _;
use store::ShardId;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// The worker threads. A connection, the calls it carries and their upstream connections stay on one thread: no event
/// has to wake a second thread, as it would in a work-stealing runtime.
pub struct Workers(Vec<Worker>);

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// The number of worker threads: one per core.
    pub fn for_this_machine() -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    pub fn start(count: usize) -> io::Result<Self> {
        (0..count).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// No workers: connections are served by the runtime that accepts them.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// The runtimes of the workers, and the one that accepts connections, on which this must be called.
    pub(crate) fn runtimes(&self) -> Vec<Handle> {
        self.0.iter().map(|worker| worker.runtime.clone()).chain([Handle::current()]).collect()
    }

    /// Spawns the same task on every worker.
    pub fn each<F: Future<Output = ()> + Send + 'static>(&self, tracker: &TaskTracker, work: impl Fn() -> F) {
        for worker in &self.0 {
            tracker.spawn_on(work(), &worker.runtime);
        }
    }

    /// Runs a connection on the worker with the fewest connections.
    pub(crate) fn serve(&self, tracker: &TaskTracker, connection: impl Future<Output = ()> + Send + 'static) {
        // Relaxed is enough: the counts only balance the load, and a stale one is harmless.
        let Some(worker) = self.0.iter().min_by_key(|worker| worker.connections.load(Ordering::Relaxed))
        else {
            tracker.spawn(connection);
            return;
        };
        let slot = WorkerSlot::take(&worker.connections);
        // Not an async block: it would store the connection twice, as captured and as awaited.
        tracker.spawn_on(connection.map(|()| drop(slot)), &worker.runtime);
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (leave, left) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
            ShardId::of_worker(number).assign_to_this_thread();
            let _ = runtime.block_on(left);
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, connections: Arc::default(), leave: Some(leave), thread: Some(thread) })
    }
}

/// Stops all workers before joining any. Tasks that still run are dropped on their own thread.
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

/// Counts one connection of a worker until it is dropped.
struct WorkerSlot(Arc<AtomicUsize>);

impl WorkerSlot {
    fn take(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
