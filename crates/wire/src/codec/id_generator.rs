//! Generates the ids of answers and of their items from a given seed.

use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct IdGenerator {
    seed: Arc<str>,
    count: u32,
}

impl IdGenerator {
    /// Creates a generator. The seed is unique to the call and consists of letters and digits.
    pub fn new(seed: impl Into<Arc<str>>) -> Self {
        Self { seed: seed.into(), count: 0 }
    }

    /// The id of the answer.
    pub fn answer(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.seed)
    }

    /// A new id for an item of the answer.
    pub fn item(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}{:02x}", self.seed, self.count)
    }
}
