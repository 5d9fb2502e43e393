//! Usage of a call in disjoint token buckets; each API format derives its own totals from them.

use serde::{Deserialize, Serialize};

use crate::money::Nanos;

/// Declares the token buckets of each side. Everything that lists buckets derives from this declaration: `Tokens`, the
/// journal, and the columns of the ledger and of its sums. The number of a bucket identifies it in journal records: it
/// is permanent, from 1 to 31, and not used again when the bucket is removed.
macro_rules! declare_buckets {
    (
        input { $($(#[$input_doc:meta])* $input:ident = $input_number:literal,)* }
        output { $($(#[$output_doc:meta])* $output:ident = $output_number:literal,)* }
    ) => {
        /// Token counts in disjoint buckets: each token is counted in exactly one.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Tokens {
            $($(#[$input_doc])* pub $input: u64,)*
            $($(#[$output_doc])* pub $output: u64,)*
        }

        impl Tokens {
            /// The names of the input buckets.
            pub const INPUT: &[&str] = &[$(stringify!($input)),*];
            /// The names of the output buckets.
            pub const OUTPUT: &[&str] = &[$(stringify!($output)),*];
            /// The names of all buckets, in the order of `counts`.
            pub const BUCKETS: [&str; Self::INPUT.len() + Self::OUTPUT.len()] =
                [$(stringify!($input),)* $(stringify!($output)),*];
            /// The numbers of all buckets in journal records, in the order of `counts`.
            pub const NUMBERS: [u8; Self::BUCKETS.len()] = [$($input_number,)* $($output_number),*];

            /// The count of the bucket with this number in journal records.
            pub fn by_number(&mut self, number: u8) -> Option<&mut u64> {
                match number {
                    $($input_number => Some(&mut self.$input),)*
                    $($output_number => Some(&mut self.$output),)*
                    _ => None,
                }
            }

            pub fn counts(&self) -> [u64; Self::BUCKETS.len()] {
                [$(self.$input,)* $(self.$output),*]
            }

            /// The tokens with these counts, in the order of `BUCKETS`.
            pub fn from_counts(counts: [u64; Self::BUCKETS.len()]) -> Self {
                let [$($input,)* $($output),*] = counts;
                Self { $($input,)* $($output),* }
            }
        }
    };
}

declare_buckets! {
    input {
        /// Text input that was neither read from nor written to a prompt cache.
        input = 1,
        cache_read = 2,
        cache_write_5m = 3,
        cache_write_1h = 4,
        audio_input = 5,
    }
    output {
        /// Output that is neither reasoning nor audio.
        output = 6,
        reasoning = 7,
        audio_output = 8,
    }
}

impl Tokens {
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    pub fn total_input(&self) -> u64 {
        sum(&self.counts()[..Self::INPUT.len()])
    }

    pub fn total_output(&self) -> u64 {
        sum(&self.counts()[Self::INPUT.len()..])
    }

    pub fn total(&self) -> u64 {
        sum(&self.counts())
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        let (counts, more) = (self.counts(), other.counts());
        *self = Self::from_counts(std::array::from_fn(|bucket| counts[bucket].saturating_add(more[bucket])));
    }
}

/// The sides of a call whose usage the provider did not report, or not plausibly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    pub input: bool,
    pub output: bool,
}

/// The usage of one call, and its reliability.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub tokens: Tokens,
    /// Generated images.
    #[serde(skip_serializing_if = "is_zero")]
    pub images: u64,
    /// True if the provider reported no final usage and the gateway estimated it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The sides that the provider did not report and the gateway has to count.
    #[serde(skip)]
    pub untold: Untold,
    /// The cost reported by the provider; takes precedence over the price list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_cost: Option<Nanos>,
    /// The reason why the figures may be unreliable, e.g. a negative count that was clamped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Fills in the sides that the provider did not report. `input` is called only if the input side is missing.
    pub fn fill(&mut self, input: impl FnOnce() -> u64, output: u64) {
        let untold = std::mem::take(&mut self.untold);
        if untold.output && output > 0 {
            self.tokens.output = self.tokens.output.saturating_add(output);
            self.estimated = true;
        }
        if untold.input {
            self.tokens.input = self.tokens.input.saturating_add(input());
            self.estimated = true;
        }
    }
}
