//! The calls, errors and times to the first byte of a target in each of the last minutes, for the status page.

use std::time::Duration;

/// Minutes that are kept.
pub const MINUTES: usize = 60;
const SECONDS: u64 = 60;

/// The last minutes. They are kept under the lock that an outcome takes anyway.
#[derive(Default)]
pub struct Minutes {
    /// A ring, allocated with the first call.
    ring: Option<Box<[Minute; MINUTES]>>,
    pub last_success: Option<Duration>,
}

#[derive(Clone, Copy, Default)]
struct Minute {
    /// The number of the minute since the start of the clock.
    number: u64,
    calls: u32,
    errors: u32,
    timed: u32,
    first_byte_us: u64,
}

/// The sums of one or more targets by minute, oldest first; the last one is the current minute.
pub type MinuteSums = [MinuteSum; MINUTES];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinuteSum {
    pub calls: u64,
    pub errors: u64,
    timed: u64,
    first_byte_us: u64,
}

impl MinuteSum {
    /// The mean time to the first byte; `None` without a successful call.
    pub fn first_byte(&self) -> Option<Duration> {
        (self.timed > 0).then(|| Duration::from_micros(self.first_byte_us / self.timed))
    }
}

impl Minutes {
    pub fn succeeded(&mut self, now: Duration, first_byte: Duration) {
        self.last_success = Some(now);
        let minute = self.at(now);
        minute.calls = minute.calls.saturating_add(1);
        minute.timed = minute.timed.saturating_add(1);
        let micros = u64::try_from(first_byte.as_micros()).unwrap_or(u64::MAX);
        minute.first_byte_us = minute.first_byte_us.saturating_add(micros);
    }

    /// Counts a call without a time; `is_error` if the target is to blame or has refused it for its load.
    pub fn ended(&mut self, now: Duration, is_error: bool) {
        let minute = self.at(now);
        minute.calls = minute.calls.saturating_add(1);
        minute.errors = minute.errors.saturating_add(u32::from(is_error));
    }

    /// Counts the error of a call that was counted as a success: its stream broke off.
    pub fn broke_off(&mut self, now: Duration) {
        let minute = self.at(now);
        minute.errors = minute.errors.saturating_add(1);
    }

    /// Adds the minutes that are still in the range to the sums.
    pub fn add_to(&self, sums: &mut MinuteSums, now: Duration) {
        let current = number(now);
        for minute in self.ring.iter().flat_map(|minutes| minutes.iter()) {
            let age = current.checked_sub(minute.number).and_then(|age| usize::try_from(age).ok());
            let Some(age) = age.filter(|age| *age < MINUTES) else { continue };
            let sum = &mut sums[MINUTES - 1 - age];
            sum.calls += u64::from(minute.calls);
            sum.errors += u64::from(minute.errors);
            sum.timed += u64::from(minute.timed);
            sum.first_byte_us = sum.first_byte_us.saturating_add(minute.first_byte_us);
        }
    }

    fn at(&mut self, now: Duration) -> &mut Minute {
        let number = number(now);
        let minutes = self.ring.get_or_insert_with(|| Box::new([Minute::default(); MINUTES]));
        let minute = &mut minutes[(number % MINUTES as u64) as usize];
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        minute
    }
}

/// The time since the start of the current minute.
pub fn since_minute(now: Duration) -> Duration {
    now.saturating_sub(Duration::from_secs(number(now) * SECONDS))
}

fn number(now: Duration) -> u64 {
    now.as_secs() / SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(minutes: &Minutes, now: u64) -> MinuteSums {
        let mut sums = [MinuteSum::default(); MINUTES];
        minutes.add_to(&mut sums, Duration::from_secs(now));
        sums
    }

    #[test]
    fn outcomes_are_counted_by_minute_and_forgotten_after_an_hour() {
        let mut minutes = Minutes::default();
        assert_eq!(sums(&minutes, 0), [MinuteSum::default(); MINUTES]);
        let at = Duration::from_secs;
        minutes.succeeded(at(61), Duration::from_millis(300));
        minutes.succeeded(at(119), Duration::from_millis(500));
        minutes.ended(at(119), true);
        minutes.ended(at(119), false);
        minutes.broke_off(at(125));
        let seen = sums(&minutes, 130);
        assert_eq!((seen[58].calls, seen[58].errors), (4, 1));
        assert_eq!(seen[58].first_byte(), Some(Duration::from_millis(400)));
        assert_eq!((seen[59].calls, seen[59].errors, seen[59].first_byte()), (0, 1, None));
        let later = sums(&minutes, 60 * 60 + 59);
        assert_eq!((later[0].calls, later[1].errors), (4, 1));
        assert!(sums(&minutes, 60 * 63).iter().all(|sum| sum.calls == 0 && sum.errors == 0));
        // The place of a minute is used again.
        minutes.ended(at(60 * 61 + 5), false);
        assert_eq!(sums(&minutes, 60 * 61 + 5)[59].calls, 1);
        assert_eq!(since_minute(at(125)), at(5));
    }
}
