//! The operations of the script, as its arguments.

use std::sync::Arc;

use domain::resources::auth_key::RateLimits;
use parking_lot::Mutex;
use redis_client::Argument;
use tokio::sync::oneshot;

use super::decide::{GrantedRequest, GrantedTokens};
use crate::rate_limit::counts::{Counts, LimitStatus, UnreportedTokens};

/// The time that counts in Redis live without a call: longer than any window.
const LIFETIME_OF_MINUTES: i64 = 180_000;
const LIFETIME_OF_DAYS: i64 = 90_000_000;

/// An operation on the limits of one key.
pub struct Operation {
    pub key: Arc<str>,
    pub lifetime: i64,
    pub action: Action,
}

pub enum Action {
    Request(RequestDemand),
    Tokens(TokensDemand),
    /// Requests that do not count after all.
    GiveBack {
        slots: Slots,
        units: u64,
    },
    /// The difference of a call's tokens to its estimate, and its tokens of the day.
    Correct {
        per_minute: Option<u64>,
        difference: i64,
        charged: i64,
        today: u64,
    },
    /// All places that this replica holds.
    SetPlaces(u64),
    ReleasePlaces(u64),
    /// What this process has counted by itself, each amount with its age.
    ReportWindow {
        window: &'static str,
        amounts: Vec<(u64, u64)>,
    },
    ReportTokens {
        tokens: UnreportedTokens,
        may_leave_debt: bool,
    },
}

pub struct RequestDemand {
    pub limits: RateLimits,
    /// 1 for a call, 0 to add to a lease.
    pub units: u64,
    /// Units and places to lease besides.
    pub want: u64,
    pub want_places: u64,
    pub asker: Asker<GrantedRequest>,
}

pub struct TokensDemand {
    pub limits: RateLimits,
    pub estimate: u64,
    pub want: u64,
    pub asker: Asker<GrantedTokens>,
}

/// The counts that a reply concerns, and the call that waits for it.
pub struct Asker<T> {
    pub counts: Arc<Mutex<Counts>>,
    pub segment: u64,
    pub waiter: Option<oneshot::Sender<Result<T, LimitStatus>>>,
}

/// The slots of the windows that a request is counted in; -1 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub minute: i64,
    pub day: i64,
}

impl Slots {
    pub const NONE: Self = Self { minute: -1, day: -1 };
}

impl Operation {
    /// An operation on a key with these limits.
    pub fn new(key: &Arc<str>, limits: &RateLimits, action: Action) -> Self {
        let has_day = limits.requests_per_day.is_some() || limits.tokens_per_day.is_some();
        let lifetime = if has_day { LIFETIME_OF_DAYS } else { LIFETIME_OF_MINUTES };
        Self { key: key.clone(), lifetime, action }
    }

    /// An operation on a key whose limits are not at hand.
    pub fn of_any(key: &Arc<str>, action: Action) -> Self {
        Self { key: key.clone(), lifetime: LIFETIME_OF_DAYS, action }
    }

    /// The number of integers in the reply.
    pub fn reply_length(&self) -> usize {
        match &self.action {
            Action::Request(_) => 14,
            Action::Tokens(_) => 8,
            _ => 0,
        }
    }

    /// Appends the letter and the arguments of the operation.
    pub fn encode(&self, arguments: &mut Vec<Argument>) {
        let mut push = |letter: &str, numbers: &[i64]| {
            arguments.push(letter.into());
            arguments.push(self.lifetime.into());
            arguments.extend(numbers.iter().copied().map(Argument::from));
        };
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let limit = |limit: Option<u64>| limit.map_or(-1, |limit| whole(limit).min(LARGEST));
        match &self.action {
            Action::Request(RequestDemand { limits, units, want, want_places, .. }) => push(
                "R",
                &[
                    limit(limits.requests_per_minute),
                    limit(limits.requests_per_day),
                    limit(limits.max_parallel_requests),
                    whole(*units),
                    whole(*want),
                    whole(*want_places),
                ],
            ),
            Action::Tokens(TokensDemand { limits, estimate, want, .. }) => push(
                "T",
                &[
                    limit(limits.tokens_per_minute),
                    limit(limits.tokens_per_day),
                    whole(*estimate),
                    whole(*want),
                ],
            ),
            Action::GiveBack { slots, units } => push("U", &[slots.minute, slots.day, whole(*units)]),
            Action::Correct { per_minute, difference, charged, today } => {
                push("C", &[limit(*per_minute), *difference, *charged, whole(*today)]);
            }
            Action::SetPlaces(count) => push("P", &[whole(*count)]),
            Action::ReleasePlaces(count) => push("D", &[whole(*count)]),
            Action::ReportWindow { window, amounts } => {
                push("S", &[]);
                arguments.push((*window).into());
                arguments.push(whole(amounts.len() as u64).into());
                for (age, amount) in amounts {
                    arguments.extend([Argument::from(whole(*age)), whole(*amount).into()]);
                }
            }
            Action::ReportTokens { tokens: UnreportedTokens { limit, tokens }, may_leave_debt } => {
                let debt = i64::from(*may_leave_debt);
                push("B", &[whole(*limit).min(LARGEST), whole(*tokens).min(LARGEST), debt]);
            }
        }
    }
}

/// Lua has floating-point numbers, which are exact up to here.
const LARGEST: i64 = 1 << 53;
