//! Money as integer nano-dollars, so that sums are exact.

use serde::{Deserialize, Serialize};

/// An amount in nano-dollars (10⁻⁹ USD).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    pub const ZERO: Self = Self(0);

    /// Decimal USD for responses; exact for every amount below nine million dollars.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The exact amount in USD, with nine decimals.
    pub fn decimal(self) -> String {
        const WHOLE: u64 = 1_000_000_000;
        let amount = self.0.unsigned_abs();
        let mut text = String::with_capacity(24);
        if self.0 < 0 {
            text.push('-');
        }
        // Without the formatter for amounts below ten dollars: one is in nearly every response.
        match amount / WHOLE {
            digit @ 0..=9 => text.push(char::from(b'0' + digit as u8)),
            dollars => text.push_str(&dollars.to_string()),
        }
        text.push('.');
        let mut unit = WHOLE / 10;
        while unit > 0 {
            text.push(char::from(b'0' + (amount / unit % 10) as u8));
            unit /= 10;
        }
        text
    }

    pub fn from_usd(usd: f64) -> Option<Self> {
        let nanos = (usd * 1e9).round();
        (nanos.is_finite() && nanos.abs() < 9.2e18).then_some(Self(nanos as i64))
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A price: nano-dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub i64);

impl Rate {
    /// Converts USD per million tokens, as in price lists.
    pub fn from_usd_per_mtok(usd: f64) -> Option<Self> {
        Nanos::from_usd(usd).map(|nanos| Self(nanos.0))
    }

    pub fn usd_per_mtok(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Σ tokens × rate, in nano-dollars × 10⁶: rounded once, at the end, by [`Sum::total`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(i128);

impl Sum {
    pub fn add(&mut self, tokens: u64, rate: Rate) {
        // Most kinds of tokens are absent in most calls.
        if tokens == 0 {
            return;
        }
        self.0 = self.0.saturating_add(i128::from(tokens) * i128::from(rate.0));
    }

    pub fn add_nanos(&mut self, nanos: Nanos) {
        self.add_units(1, nanos);
    }

    pub fn add_units(&mut self, count: u64, each: Nanos) {
        if count == 0 || each.0 == 0 {
            return;
        }
        let product = i128::from(count) * i128::from(each.0);
        self.0 = self.0.saturating_add(product.saturating_mul(1_000_000));
    }

    /// The rounded total: half away from zero, saturating.
    pub fn total(self) -> Nanos {
        let half = if self.0 < 0 { -500_000 } else { 500_000 };
        let scaled = self.0.saturating_add(half);
        // The costs of nearly all calls fit into the processor's own division.
        let nanos = match i64::try_from(scaled) {
            Ok(scaled) => i128::from(scaled / 1_000_000),
            Err(_) => scaled / 1_000_000,
        };
        Nanos(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }
}

/// The cost of a call, split into input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub input: Nanos,
    pub output: Nanos,
}

impl std::ops::Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { input: self.input + other.input, output: self.output + other.output }
    }
}

impl Cost {
    pub fn total(self) -> Nanos {
        self.input + self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for nanos in [0, 1, 42, 999_999_999, 1_000_000_000, 9_999_999_999, 10_000_000_000, i64::MAX] {
            let expected = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            assert_eq!(Nanos(nanos).decimal(), expected);
            assert_eq!(Nanos(-nanos).decimal().trim_start_matches('-'), expected);
        }
    }

    #[test]
    fn products_are_rounded_once() {
        let mut sum = Sum::default();
        let rate = Rate::from_usd_per_mtok(0.0375).unwrap();
        sum.add(1, rate);
        sum.add(1, rate);
        assert_eq!(sum.total(), Nanos(75));
    }

    #[test]
    fn absurd_token_counts_saturate() {
        let mut sum = Sum::default();
        sum.add(u64::MAX, Rate(i64::MAX));
        assert_eq!(sum.total(), Nanos(i64::MAX));
        sum.add_units(u64::MAX, Nanos(i64::MAX));
        assert_eq!(sum.total(), Nanos(i64::MAX));
    }
}
