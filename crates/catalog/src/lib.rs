//! The model catalogue: prices, context windows, abilities and token counting. No I/O; data is parsed on first use.

mod bound;
mod family;
mod guess;
mod lookup;
mod price;
mod table;
mod tokens;

pub use bound::{Incurs, bound};
pub use family::family;
pub use guess::likely_mode;
pub use lookup::{facts, models};
pub use price::{Billable, cost, cost_of, prompt_cache_savings};
pub use tokens::{count_tokens, estimate_tokens_from_bytes, has_public_vocabulary, vocabulary_is_loaded};
