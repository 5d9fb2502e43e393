//! CPU time, memory and open files of this process, under the metric names of Prometheus' own clients. Read from
//! `/proc`, so only Linux has them.

use std::fs;

use super::exposition::Reading;

/// Clock ticks per second in `/proc` (`USER_HZ`): 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn readings() -> Vec<Reading> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
    let open = fs::read_dir("/proc/self/fd").map(|entries| entries.count() as f64).ok();
    let cpu = ticks(&stat, 13).zip(ticks(&stat, 14)).map(|(user, system)| user + system);
    let resident = kibibytes(&status, "VmRSS:").map(|kib| kib * 1024.0);
    let started = ticks(&stat, 21).zip(boot_time(&boot)).map(|(since_boot, boot)| boot + since_boot);
    let gauges = [
        ("process_resident_memory_bytes", "Resident memory in bytes", resident),
        ("process_open_fds", "Open file descriptors", open),
        ("process_max_fds", "Most file descriptors that may be open", open_files_limit(&limits)),
        ("process_start_time_seconds", "Start of the process since the epoch in seconds", started),
    ];
    let cpu = cpu.map(|seconds| {
        Reading::counter("process_cpu_seconds", "User and system CPU time in seconds", seconds)
    });
    let gauges =
        gauges.into_iter().filter_map(|(name, help, value)| Some(Reading::gauge(name, help, value?)));
    cpu.into_iter().chain(gauges).collect()
}

/// A field of `/proc/self/stat`, converted from ticks to seconds. The second field is a process name in brackets that
/// may contain spaces, so fields are counted after the closing bracket.
fn ticks(stat: &str, field: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: f64 = rest.split_whitespace().nth(field.checked_sub(2)?)?.parse().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

fn kibibytes(status: &str, name: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// The soft limit on open files; none if it is `unlimited`.
fn open_files_limit(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_read() {
        let mut fields: Vec<String> = (3..=24).map(|number| number.to_string()).collect();
        (fields[11], fields[12], fields[19]) = ("150".into(), "50".into(), "1000".into());
        let stat = format!("77 (a (b) c) {}", fields.join(" "));
        assert_eq!(
            (ticks(&stat, 13), ticks(&stat, 14), ticks(&stat, 21)),
            (Some(1.5), Some(0.5), Some(10.0))
        );
        assert_eq!(kibibytes("VmPeak:\t 9 kB\nVmRSS:\t  2048 kB\n", "VmRSS:"), Some(2048.0));
        assert_eq!(boot_time("cpu 1\nbtime 1700000000\n"), Some(1_700_000_000.0));
        assert_eq!(open_files_limit("Max open files            1024    4096    files\n"), Some(1024.0));
        assert_eq!(open_files_limit("Max open files            unlimited  x files\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_all_of_them() {
        let names: Vec<&str> = readings().iter().map(|reading| reading.name).collect();
        let expected =
            ["process_cpu_seconds", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"];
        assert_eq!(names[..4], expected);
    }
}
