//! What a call is told for which no budget has room.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;

use super::books::Exceeded;

pub fn exceeded(exceeded: &Exceeded, now: Timestamp) -> Fault {
    let Exceeded { rule, spent, reserved, worst, end } = exceeded;
    let again = jiff::Timestamp::from_microsecond(end.micros()).unwrap_or_default();
    let held = if *reserved > Nanos::ZERO {
        format!(" and {} held for calls under way", dollars(*reserved))
    } else {
        String::new()
    };
    let message = format!(
        "The {} budget of '{}' has no room for this call, which may cost {}: {} of {} are spent{held}. It begins anew at {again}.",
        rule.key.period.label(),
        rule.key.user_path.as_str(),
        dollars(*worst),
        dollars(*spent),
        dollars(rule.amount),
    );
    let wait = end.micros().saturating_sub(now.micros()).max(0);
    fault::budget_exceeded(message).retry_after(Duration::from_micros(wait as u64))
}

/// All digits that count, and at least cents.
pub fn dollars(amount: Nanos) -> String {
    let (sign, nanos) = if amount.0 < 0 { ("-", amount.0.unsigned_abs()) } else { ("", amount.0 as u64) };
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let digits = format!("{part:09}");
    let digits = digits.trim_end_matches('0');
    format!("{sign}${whole}.{digits:0<2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_written_in_full() {
        let shown = |nanos: i64| dollars(Nanos(nanos));
        assert_eq!(shown(10_000_000_000), "$10.00");
        assert_eq!(shown(1_500_000_000), "$1.50");
        assert_eq!(shown(12_345), "$0.000012345");
        assert_eq!(shown(-1_000_000_000), "-$1.00");
    }
}
