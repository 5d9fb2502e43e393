//! Ids of answers and of what is in them, made from one seed that is given.

use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Mint {
    seed: Arc<str>,
    count: u32,
}

impl Mint {
    /// The seed is unique to the call and made of letters and digits.
    pub fn new(seed: impl Into<Arc<str>>) -> Self {
        Self { seed: seed.into(), count: 0 }
    }

    /// The answer's own id.
    pub fn answer(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.seed)
    }

    /// A new id for something inside the answer.
    pub fn item(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}{:02x}", self.seed, self.count)
    }
}
