//! A thread that owns a SQLite connection and runs jobs on it, one after the other.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;

/// Added to the nice value of a thread of low priority: a busy worker gets about three times its CPU time.
const NICE: i32 = 5;

/// How long a thread with much to do sleeps after each part of it.
const PAUSE: Duration = Duration::from_micros(50);

/// Lets other threads run. The scheduler would leave a busy thread on its core for milliseconds, while a worker that was woken for a
/// call waits; work that takes longer than a fraction of a millisecond calls this in between. Not in async code: it blocks.
pub(crate) fn pause() {
    thread::sleep(PAUSE);
}

/// A connection that only its thread uses, so that the lock is always free.
pub(super) type OwnConnection = Arc<Mutex<Connection>>;

/// A job decides whether the thread goes on; if not, the connection is closed.
type Job = Box<dyn FnOnce(&OwnConnection) -> ControlFlow<()> + Send>;

/// The handle of the thread. The thread ends when the handle is dropped.
pub(super) struct ConnectionThread {
    jobs: mpsc::Sender<Job>,
    /// Resolves when the connection is closed.
    closed: oneshot::Receiver<()>,
}

/// How a thread differs from others.
pub(super) struct ThreadOptions {
    pub name: &'static str,
    pub low_priority: bool,
    /// How long the thread waits for a job before it asks whether it may end.
    pub idle: Option<Duration>,
}

impl ConnectionThread {
    /// Starts a thread, which opens its connection. `may_end` is asked when the thread has been idle.
    pub async fn start(
        ThreadOptions { name, low_priority, idle }: ThreadOptions,
        open: impl FnOnce() -> rusqlite::Result<Connection> + Send + 'static,
        may_end: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let (opened, open_result) = oneshot::channel();
        let (closing, closed) = oneshot::channel::<()>();
        let run = move || {
            // Dropped after the connection.
            let _closing = closing;
            if low_priority && let Err(error) = rustix::process::nice(NICE) {
                tracing::debug!(%error, "lowering the priority of the database writer failed");
            }
            match open() {
                Ok(connection) => {
                    // Without a receiver the queue is closed as well.
                    _ = opened.send(Ok(()));
                    serve(&Arc::new(Mutex::new(connection)), &queue, idle, &may_end);
                }
                Err(error) => _ = opened.send(Err(error)),
            }
        };
        thread::Builder::new()
            .name(name.into())
            .spawn(run)
            .map_err(|error| StoreError::Unavailable(format!("a thread could not be started: {error}")))?;
        open_result.await.map_err(|_| ended())??;
        Ok(Self { jobs, closed })
    }

    /// A sender of jobs to this thread.
    pub fn sender(&self) -> JobSender {
        JobSender(self.jobs.clone())
    }

    /// Closes the connection after the jobs that wait.
    pub async fn end(self) {
        drop(self.jobs);
        _ = self.closed.await;
    }
}

/// Sends jobs to a thread.
pub(crate) struct JobSender(mpsc::Sender<Job>);

impl JobSender {
    /// Adds a job; it is dropped if the thread has ended.
    pub fn send(&self, job: impl FnOnce(&OwnConnection) -> ControlFlow<()> + Send + 'static) {
        _ = self.0.send(Box::new(job));
    }

    /// Runs a job and returns its result. If the caller does not wait for it, the job runs all the same.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OwnConnection) -> (Result<T, StoreError>, ControlFlow<()>) + Send + 'static,
    ) -> Result<T, StoreError> {
        let (send, receive) = oneshot::channel();
        self.send(move |connection| {
            let (result, flow) = work(connection);
            _ = send.send(result);
            flow
        });
        receive.await.map_err(|_| ended())?
    }
}

fn ended() -> StoreError {
    StoreError::Unavailable("the thread of a database connection has ended".into())
}

fn serve(
    connection: &OwnConnection,
    queue: &Receiver<Job>,
    idle: Option<Duration>,
    may_end: &dyn Fn() -> bool,
) {
    loop {
        let job = match idle {
            Some(idle) => queue.recv_timeout(idle),
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let flow = match job {
            Ok(job) => job(connection),
            Err(RecvTimeoutError::Timeout) if !may_end() => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        if flow.is_break() {
            return;
        }
    }
}
