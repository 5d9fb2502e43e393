//! The error for a call that does not fit into a budget.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;

use super::state::Exceeded;

/// Describes the budget; with its amounts only if the caller may see them.
pub fn exceeded(exceeded: &Exceeded, now: Timestamp, with_figures: bool) -> Fault {
    let Exceeded { rule, spent, reserved, worst, end, .. } = exceeded;
    let again = jiff::Timestamp::from_microsecond(end.micros()).unwrap_or_default();
    let run = rule.run.as_deref().map(|run| format!(" for run '{run}'")).unwrap_or_default();
    let budget = format!("the {} budget of '{}'{run}", rule.key.period.label(), rule.key.user_path.as_str());
    let left = Nanos(rule.amount.0.saturating_sub((*spent + *reserved).0).max(0));
    let worst = cents(*worst, true);
    let figures = match with_figures {
        false => format!("this call reserves up to {worst}, more than is left of {budget}"),
        true => {
            let held = if *reserved > Nanos::ZERO {
                format!(" ({} is reserved by calls under way)", cents(*reserved, true))
            } else {
                String::new()
            };
            format!("this call reserves up to {worst} and {} is left of {budget}{held}", cents(left, false))
        }
    };
    let message = format!(
        "Budget would be exceeded: {figures}. Lower `max_tokens`, raise the budget, or retry after {again}."
    );
    let wait = end.micros().saturating_sub(now.micros()).max(0);
    fault::budget_exceeded(message).retry_after(Duration::from_micros(wait as u64))
}

/// Rounds to whole cents; amounts below a cent keep all digits.
fn cents(amount: Nanos, round_up: bool) -> String {
    const CENT: i64 = 10_000_000;
    if amount.0 < CENT {
        return dollars(amount);
    }
    let up = i64::from(round_up && amount.0 % CENT != 0);
    dollars(Nanos((amount.0 / CENT + up).saturating_mul(CENT)))
}

/// Formats an amount with all significant digits, and at least cents.
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
        assert_eq!(cents(Nanos(1_695_360_000), true), "$1.70");
        assert_eq!(cents(Nanos(419_999_999), false), "$0.41");
        assert_eq!(cents(Nanos(12_345), true), "$0.000012345");
    }
}
