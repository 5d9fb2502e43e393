//! Limits failed logins per account and client address, per account and per address.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;

const WINDOW: Duration = Duration::from_secs(15 * 60);
/// The limit of an account from one address.
const MOST_PER_PAIR: u32 = 10;
/// The limit of an account from all addresses: high, so that others cannot easily keep its user out.
const MOST_PER_ACCOUNT: u32 = 100;
const MOST_PER_ADDRESS: u32 = 50;
/// Entries of each kind beyond which the oldest ones are removed.
const MOST_ENTRIES: usize = 10_000;
/// The share of entries that is removed at once, so that not every attempt has to search for the oldest.
const REMOVED_SHARE: usize = 10;

type Address = Option<IpAddr>;

#[derive(Default)]
pub struct LoginThrottle(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    pairs: HashMap<(String, Address), Failures>,
    accounts: HashMap<String, Failures>,
    addresses: HashMap<Address, Failures>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    since: Duration,
}

impl Failures {
    /// The time until the next attempt is allowed, if there were too many.
    fn left(self, most: u32, now: Duration) -> Option<Duration> {
        let left = WINDOW.checked_sub(now.saturating_sub(self.since))?;
        (self.count >= most && !left.is_zero()).then_some(left)
    }
}

impl LoginThrottle {
    /// Counts an attempt as failed before it is made, or returns the time until the next one is allowed. Attempts at the
    /// same time cannot exceed the limit this way; a success is taken back by `succeeded`.
    pub fn attempt(&self, account: &str, address: Option<IpAddr>, now: Duration) -> Result<(), Duration> {
        let mut counts = self.0.lock();
        let (account, address) = (account.to_owned(), network(address));
        let pair = (account.clone(), address);
        let found = [
            (counts.pairs.get(&pair), MOST_PER_PAIR),
            (counts.accounts.get(&account), MOST_PER_ACCOUNT),
            (counts.addresses.get(&address), MOST_PER_ADDRESS),
        ];
        let left = found.into_iter().filter_map(|(failures, most)| failures?.left(most, now));
        if let Some(left) = left.max() {
            return Err(left);
        }
        count(&mut counts.pairs, pair, now);
        count(&mut counts.accounts, account, now);
        count(&mut counts.addresses, address, now);
        Ok(())
    }

    /// Takes back the attempt of a login that succeeded, and forgets the failures of the account at this address. Those
    /// of the account elsewhere and of the address stay.
    pub fn succeeded(&self, account: &str, address: Option<IpAddr>) {
        let mut counts = self.0.lock();
        let address = network(address);
        counts.pairs.remove(&(account.to_owned(), address));
        if let Some(failures) = counts.accounts.get_mut(account) {
            failures.count = failures.count.saturating_sub(1);
        }
        if let Some(failures) = counts.addresses.get_mut(&address) {
            failures.count = failures.count.saturating_sub(1);
        }
    }
}

/// Counts a failure, after the oldest entries have made room for a new one.
fn count<K: Eq + Hash>(entries: &mut HashMap<K, Failures>, key: K, now: Duration) {
    if entries.len() >= MOST_ENTRIES && !entries.contains_key(&key) {
        let mut times: Vec<Duration> = entries.values().map(|failures| failures.since).collect();
        let (_, last, _) = times.select_nth_unstable(MOST_ENTRIES / REMOVED_SHARE);
        let last = *last;
        let mut room = MOST_ENTRIES / REMOVED_SHARE;
        entries.retain(|_, failures| {
            let is_old = failures.since <= last && room > 0;
            room -= usize::from(is_old);
            !is_old
        });
    }
    let failures = entries.entry(key).or_insert(Failures { count: 0, since: now });
    if now.saturating_sub(failures.since) >= WINDOW {
        *failures = Failures { count: 0, since: now };
    }
    failures.count = failures.count.saturating_add(1);
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
    fn an_account_is_limited_at_each_address_and_recovers() {
        let throttle = LoginThrottle::default();
        for _ in 0..MOST_PER_PAIR {
            throttle.attempt("a", FROM, Duration::ZERO).unwrap();
        }
        let left = throttle.attempt("a", FROM, Duration::from_secs(60)).unwrap_err();
        assert_eq!(left, WINDOW - Duration::from_secs(60));
        throttle.attempt("a", None, Duration::from_secs(60)).unwrap();
        throttle.attempt("b", FROM, Duration::from_secs(60)).unwrap();
        throttle.attempt("a", FROM, WINDOW).unwrap();
    }

    #[test]
    fn an_account_is_limited_over_all_addresses() {
        let throttle = LoginThrottle::default();
        let from = |number: u32| Some(IpAddr::from(std::net::Ipv4Addr::from(number)));
        for number in 0..MOST_PER_ACCOUNT {
            throttle.attempt("a", from(number), Duration::ZERO).unwrap();
        }
        assert!(throttle.attempt("a", from(MOST_PER_ACCOUNT), Duration::ZERO).is_err());
        throttle.attempt("b", from(MOST_PER_ACCOUNT), Duration::ZERO).unwrap();
    }

    #[test]
    fn a_success_resets_the_account_but_not_the_address() {
        let throttle = LoginThrottle::default();
        for number in 0..MOST_PER_ADDRESS {
            throttle.attempt(&format!("u{number}"), FROM, Duration::ZERO).unwrap();
        }
        assert!(throttle.attempt("new", FROM, Duration::ZERO).is_err());
        let other = Some("2001:db8::1".parse().unwrap());
        for _ in 0..MOST_PER_PAIR {
            throttle.attempt("good", other, Duration::ZERO).unwrap();
        }
        let neighbour = Some("2001:db8::2".parse().unwrap());
        assert!(throttle.attempt("good", neighbour, Duration::ZERO).is_err(), "one /64 is one address");
        throttle.succeeded("good", other);
        throttle.attempt("good", neighbour, Duration::ZERO).unwrap();
        assert!(throttle.attempt("new", FROM, Duration::ZERO).is_err());
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let throttle = LoginThrottle::default();
        for number in 0..MOST_ENTRIES as u32 + 1 {
            let address = Some(IpAddr::from(std::net::Ipv4Addr::from(number)));
            throttle.attempt(&format!("u{number}"), address, Duration::from_millis(number.into())).unwrap();
        }
        let counts = throttle.0.lock();
        assert_eq!(counts.accounts.len(), MOST_ENTRIES - MOST_ENTRIES / REMOVED_SHARE + 1);
        assert!(!counts.accounts.contains_key("u0") && counts.accounts.contains_key("u9999"));
    }
}
