//! CPU time and memory of processes, from the kernel's accounting.

use std::fs;
use std::io;
use std::time::Duration;

use serde::Serialize;

/// Sums over several processes; memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// User and system time, in microseconds.
    pub cpu_micros: u64,
    pub rss: u64,
    pub peak_rss: u64,
}

impl Cost {
    pub fn of(pids: &[u32]) -> io::Result<Self> {
        let mut total = Self::default();
        for pid in pids {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let stat = Stat::parse(&stat).ok_or(io::ErrorKind::InvalidData)?;
            total.cpu_micros += stat.ticks * 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
            total.rss += kilobytes(&status, "VmRSS:");
            total.peak_rss += kilobytes(&status, "VmHWM:");
        }
        Ok(total)
    }

    /// The sums over a process and all its descendants (nginx works in its children).
    pub fn of_tree(root: u32) -> io::Result<Self> {
        Self::of(&tree(root)?)
    }

    /// CPU microseconds per request between two readings.
    pub fn cpu_per_request(self, later: Self, requests: u64) -> f64 {
        later.cpu_micros.saturating_sub(self.cpu_micros) as f64 / requests.max(1) as f64
    }
}

/// The process and all its descendants.
pub fn tree(root: u32) -> io::Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may exit while /proc is read.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        parents.extend(Stat::parse(&stat).map(|stat| (pid, stat.parent)));
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, known)| *known == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    Ok(found)
}

/// Waits until the processes have used no CPU for `quiet`, so that work after the responses counts too.
pub async fn settle(pids: &[u32], quiet: Duration) -> io::Result<()> {
    let mut before = Cost::of(pids)?;
    loop {
        tokio::time::sleep(quiet).await;
        let now = Cost::of(pids)?;
        if now.cpu_micros == before.cpu_micros {
            return Ok(());
        }
        before = now;
    }
}

struct Stat {
    parent: u32,
    ticks: u64,
}

impl Stat {
    /// Parses `/proc/<pid>/stat`. The process name, its second field, may contain spaces and parentheses, so the fields
    /// are counted from its last parenthesis.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let user: u64 = fields.get(11)?.parse().ok()?;
        let system: u64 = fields.get(12)?.parse().ok()?;
        Some(Self { parent: fields.get(1)?.parse().ok()?, ticks: user + system })
    }
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_hostile() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 5 1 1";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.ticks), (7, 42));
        assert!(Stat::parse("nonsense").is_none());
    }

    #[test]
    fn work_shows_as_cpu_time() {
        let me = std::process::id();
        let before = Cost::of(&[me]).unwrap();
        let mut value = 1u64;
        let mut rounds = 0;
        while Cost::of(&[me]).unwrap().cpu_micros < before.cpu_micros + 50_000 && rounds < 10_000 {
            (0..100_000).for_each(|step| value = std::hint::black_box(value.wrapping_mul(31) + step));
            rounds += 1;
        }
        let after = Cost::of(&[me]).unwrap();
        assert!(after.cpu_micros >= before.cpu_micros + 50_000);
        assert!(after.rss > 100_000 && after.peak_rss >= after.rss / 2);
        assert!(before.cpu_per_request(after, 10) >= 5_000.0);
    }

    #[test]
    fn children_belong_to_the_tree() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let found = tree(std::process::id()).unwrap();
        assert!(found.contains(&child.id()) && found.contains(&std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
