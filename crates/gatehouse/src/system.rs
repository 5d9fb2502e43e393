//! The system clock, the system's random numbers and the name of the machine: the only place that reads them.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::ids::Entropy;
use rustix::time::{ClockId, clock_gettime};

/// The clocks of the kernel, read directly: a call reads them about twenty times, and the subtraction that the types of the
/// standard library need for it costs more than the reading.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let time = clock_gettime(ClockId::Realtime);
        Timestamp(time.tv_sec * 1_000_000 + time.tv_nsec / 1_000)
    }

    fn tick(&self) -> Duration {
        static START: OnceLock<Duration> = OnceLock::new();
        let uptime = uptime();
        uptime.saturating_sub(*START.get_or_init(|| uptime))
    }
}

/// The time since the machine started.
fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The name of this machine or container, as Linux tells it.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned()
}

/// Random bytes from the kernel, fetched in blocks because every request needs an id.
pub struct SystemEntropy;

const BLOCK: usize = 1024;

thread_local! {
    static POOL: RefCell<([u8; BLOCK], usize)> = const { RefCell::new(([0; BLOCK], BLOCK)) };
}

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        POOL.with_borrow_mut(|(pool, used)| {
            for byte in bytes {
                if *used == BLOCK {
                    refill(pool);
                    *used = 0;
                }
                *byte = pool[*used];
                // Used bytes are cleared, so that they cannot be found in memory afterwards.
                pool[*used] = 0;
                *used += 1;
            }
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the randomness that everyone else is given")]
fn refill(pool: &mut [u8]) {
    // Without randomness there are no safe keys and no unique ids: abort.
    if getrandom::fill(pool).is_err() {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn randomness_differs_and_crosses_blocks() {
        let mut first = vec![0u8; 3000];
        let mut second = vec![0u8; 3000];
        SystemEntropy.fill(&mut first);
        SystemEntropy.fill(&mut second);
        assert_ne!(first, second);
        assert!(first.iter().filter(|byte| **byte == 0).count() < 100);
    }
}
