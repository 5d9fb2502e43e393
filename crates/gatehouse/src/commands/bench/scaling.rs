//! How the cost of a call grows with a second worker thread, at the same load.

use std::io;
use std::path::Path;

use bench::report::{Against, Figures, Row};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Plan;
use super::rows::{SHAPES, cpu_per_request, median, scratch};
use super::stage::Actor;

/// Two workers then make at least 1.85 times the calls of one.
const MOST: f64 = 2.0 / 1.85;

/// Compares the same calls with one worker and with two, in turns. None on a machine with one core.
pub async fn measure(plan: &Plan) -> io::Result<Option<Row>> {
    if sched_getaffinity(None)?.count() < 2 {
        return Ok(None);
    }
    let mock = Actor::mock()?;
    let mut actors = Vec::new();
    for workers in [1, 2] {
        let directory = scratch(&format!("workers-{workers}"))?;
        actors.push((start(&mock, &directory, workers)?, directory));
    }
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        one.push(cpu_per_request(plan, &actors[0].0, &SHAPES[0]).await?);
        two.push(cpu_per_request(plan, &actors[1].0, &SHAPES[0]).await?);
    }
    for (actor, directory) in actors {
        drop(actor);
        std::fs::remove_dir_all(directory)?;
    }
    let (one, two) = (median(one).unwrap_or_default(), median(two).unwrap_or_default());
    let ratio = Figures { gateway: Some(two / one), ..Figures::default() };
    let name = "CPU-µs with two workers, times that with one";
    let row = Row::judge(name, ratio, Against::Itself, Some(MOST), Some(MOST));
    Ok(Some(Row { gateway: Some(two), direct: Some(one), ..row }))
}

/// Starts the gateway on as many cores as it shall have workers; afterwards its threads may run on all cores.
fn start(mock: &Actor, directory: &Path, workers: usize) -> io::Result<Actor> {
    let all = sched_getaffinity(None)?;
    let mut few = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).take(workers) {
        few.set(cpu);
    }
    sched_setaffinity(None, &few)?;
    let started = Actor::gateway(mock, directory);
    sched_setaffinity(None, &all)?;
    let actor = started?;
    for pid in actor.pids()? {
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let id = task?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // A thread may end meanwhile.
            let _ = sched_setaffinity(id, &all);
        }
    }
    Ok(actor)
}
