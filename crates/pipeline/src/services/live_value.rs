//! A value that can be replaced while others read it, without a lock and without a reference count.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most replacements in the life of a process.
const MOST_REPLACEMENTS: usize = 4096;

/// A value that is read like a plain field and replaced rarely, such as settings. Reading costs one atomic load.
/// Earlier versions stay in memory, so that references to them stay valid: the number of replacements is limited.
pub struct LiveValue<T> {
    first: T,
    later: Box<[OnceLock<Box<T>>]>,
    /// The number of replacements.
    newest: AtomicUsize,
}

/// The value was replaced too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyVersions;

impl<T> LiveValue<T> {
    pub fn new(first: T) -> Self {
        let later = (0..MOST_REPLACEMENTS).map(|_| OnceLock::new()).collect();
        Self { first, later, newest: AtomicUsize::new(0) }
    }

    /// Whether the value can still be replaced.
    pub fn is_replaceable(&self) -> bool {
        self.newest.load(Ordering::Acquire) < self.later.len()
    }

    /// Replaces the value. Readers that hold a reference keep the value they have read.
    pub fn replace(&self, value: T) -> Result<(), TooManyVersions> {
        let mut value = Box::new(value);
        let mut place = self.newest.load(Ordering::Acquire);
        loop {
            let slot = self.later.get(place).ok_or(TooManyVersions)?;
            match slot.set(value) {
                // The write to the slot happens before readers see the number: they find the value there.
                Ok(()) => {
                    self.newest.fetch_max(place + 1, Ordering::Release);
                    return Ok(());
                }
                // Another replacement took this slot: this one is newer.
                Err(given_back) => (value, place) = (given_back, place + 1),
            }
        }
    }
}

impl<T> Deref for LiveValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.newest.load(Ordering::Acquire) {
            0 => &self.first,
            count => self.later[count - 1].get().map_or(&self.first, |value| value),
        }
    }
}

impl<T> From<T> for LiveValue<T> {
    fn from(first: T) -> Self {
        Self::new(first)
    }
}

impl<T: Default> Default for LiveValue<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_outlive_replacements() {
        let value = LiveValue::new(String::from("first"));
        let first: &str = &value;
        value.replace("second".to_owned()).unwrap();
        let second: &str = &value;
        value.replace("third".to_owned()).unwrap();
        assert_eq!((first, second, value.as_str()), ("first", "second", "third"));
    }

    #[test]
    fn replacements_are_limited() {
        let value = LiveValue::new(0);
        for number in 1..=MOST_REPLACEMENTS {
            assert!(value.is_replaceable());
            assert_eq!(value.replace(number), Ok(()));
        }
        assert!(!value.is_replaceable());
        assert_eq!(value.replace(0), Err(TooManyVersions));
        assert_eq!(*value, MOST_REPLACEMENTS);
    }

    #[test]
    fn concurrent_replacements_all_count() {
        let value = LiveValue::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (1..=100).for_each(|number| value.replace(number).unwrap()));
            }
        });
        assert_eq!(value.newest.load(Ordering::Acquire), 400);
        assert!((1..=100).contains(&*value));
    }
}
