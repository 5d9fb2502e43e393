//! How the cost of a call grows with a second worker thread, at the same load.

use std::io;
use std::path::PathBuf;

use bench::report::Row;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Plan;
use super::rows::{compare, scratch};
use super::stage::Actor;

/// Two workers then make at least 1.85 times the calls of one.
const MOST: f64 = 2.0 / 1.85;

/// Compares the same calls with one worker and with two, in turns, for the gateway and for nginx, whose figure shows what the
/// machine adds. None on a machine with one core.
pub async fn measure(plan: &Plan) -> io::Result<Vec<Row>> {
    if sched_getaffinity(None)?.count() < 2 {
        return Ok(Vec::new());
    }
    let mock = Actor::mock()?;
    let actors = [start(&mock, 1)?, start(&mock, 2)?];
    let name = "CPU-µs with two workers, times that with one";
    let mut rows = vec![compare(plan, actors, name, Some(MOST)).await?];
    if let Some(actors) = start_nginx(&mock).await? {
        rows.push(compare(plan, actors, "the same of nginx", None).await?);
    }
    Ok(rows)
}

/// Starts nginx with one worker and with two; `None` if it is not installed.
async fn start_nginx(mock: &Actor) -> io::Result<Option<[(Actor, PathBuf); 2]>> {
    let start = |workers| -> io::Result<(Actor, PathBuf)> {
        let directory = scratch(&format!("nginx-workers-{workers}"))?;
        Ok((Actor::nginx(mock, &directory, true, workers)?, directory))
    };
    let one = match start(1) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        one => one?,
    };
    let actors = [one, start(2)?];
    for (actor, _) in &actors {
        actor.listening().await?;
    }
    Ok(Some(actors))
}

/// Starts the gateway on as many cores as it shall have workers; afterwards its threads may run on all cores.
fn start(mock: &Actor, workers: usize) -> io::Result<(Actor, PathBuf)> {
    let directory = scratch(&format!("workers-{workers}"))?;
    let all = sched_getaffinity(None)?;
    let mut few = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).take(workers) {
        few.set(cpu);
    }
    sched_setaffinity(None, &few)?;
    let started = Actor::gateway(mock, &directory);
    sched_setaffinity(None, &all)?;
    let actor = started?;
    for pid in actor.pids()? {
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let id = task?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // A thread may end meanwhile.
            let _ = sched_setaffinity(id, &all);
        }
    }
    Ok((actor, directory))
}
