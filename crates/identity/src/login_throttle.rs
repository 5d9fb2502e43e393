//! Limits failed logins per client address and per account.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;

const WINDOW: Duration = Duration::from_secs(15 * 60);
const MOST_PER_ACCOUNT: u32 = 10;
const MOST_PER_ADDRESS: u32 = 50;
/// Entries beyond which expired ones are removed. If none is expired, further addresses and accounts share one entry.
const MOST_ENTRIES: usize = 10_000;

#[derive(Default)]
pub struct LoginThrottle(Mutex<HashMap<Subject, Failures>>);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    Account(String),
    Address(Option<IpAddr>),
    /// All that are beyond the limit of entries.
    Rest,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    since: Duration,
}

impl LoginThrottle {
    /// Counts an attempt as failed before it is made, or returns the time until the next one is allowed. Attempts at the
    /// same time cannot exceed the limit this way; a success is taken back by `succeeded`.
    pub fn attempt(&self, account: &str, address: Option<IpAddr>, now: Duration) -> Result<(), Duration> {
        let mut entries = self.0.lock();
        if entries.len() >= MOST_ENTRIES {
            entries.retain(|_, failures| now.saturating_sub(failures.since) < WINDOW);
        }
        let limits = [
            (Subject::Account(account.to_owned()), MOST_PER_ACCOUNT),
            (Subject::Address(network(address)), MOST_PER_ADDRESS),
        ];
        let known =
            |entries: &HashMap<Subject, Failures>, subject: Subject| match entries.contains_key(&subject) {
                false if entries.len() >= MOST_ENTRIES => Subject::Rest,
                _ => subject,
            };
        for (subject, most) in &limits {
            let subject = known(&entries, subject.clone());
            if let Some(failures) = entries.get(&subject)
                && failures.count >= *most
                && let Some(left) = WINDOW.checked_sub(now.saturating_sub(failures.since))
                && !left.is_zero()
            {
                return Err(left);
            }
        }
        for (subject, _) in limits {
            let subject = known(&entries, subject);
            let failures = entries.entry(subject).or_insert(Failures { count: 0, since: now });
            if now.saturating_sub(failures.since) >= WINDOW {
                *failures = Failures { count: 0, since: now };
            }
            failures.count = failures.count.saturating_add(1);
        }
        Ok(())
    }

    /// Takes back the attempt of a login that succeeded. The failures of the account before it stay for its address.
    pub fn succeeded(&self, account: &str, address: Option<IpAddr>) {
        let mut entries = self.0.lock();
        entries.remove(&Subject::Account(account.to_owned()));
        if let Some(failures) = entries.get_mut(&Subject::Address(network(address))) {
            failures.count = failures.count.saturating_sub(1);
        }
    }
}

/// An IPv6 client usually has a whole /64.
fn network(address: Option<IpAddr>) -> Option<IpAddr> {
    address.map(|address| match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));

    #[test]
    fn an_account_is_limited_and_recovers() {
        let throttle = LoginThrottle::default();
        for _ in 0..MOST_PER_ACCOUNT {
            throttle.attempt("a", FROM, Duration::ZERO).unwrap();
        }
        let left = throttle.attempt("a", None, Duration::from_secs(60)).unwrap_err();
        assert_eq!(left, WINDOW - Duration::from_secs(60));
        throttle.attempt("b", FROM, Duration::from_secs(60)).unwrap();
        throttle.attempt("a", FROM, WINDOW).unwrap();
    }

    #[test]
    fn a_success_resets_the_account_but_not_the_address() {
        let throttle = LoginThrottle::default();
        for number in 0..MOST_PER_ADDRESS {
            throttle.attempt(&format!("u{number}"), FROM, Duration::ZERO).unwrap();
        }
        assert!(throttle.attempt("new", FROM, Duration::ZERO).is_err());
        let other = Some("2001:db8::1".parse().unwrap());
        for _ in 0..MOST_PER_ACCOUNT - 1 {
            throttle.attempt("good", other, Duration::ZERO).unwrap();
        }
        throttle.succeeded("good", other);
        let neighbour = Some("2001:db8::2".parse().unwrap());
        throttle.attempt("good", neighbour, Duration::ZERO).unwrap();
        assert!(throttle.attempt("new", FROM, Duration::ZERO).is_err());
    }
}
