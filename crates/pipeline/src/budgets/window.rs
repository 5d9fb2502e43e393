//! A time window of a budget: from the start of a period, or a reset in it, to the end of the period.

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::Anchors;

use super::lease::Lease;
use super::rules::Rule;

#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    pub start: Timestamp,
    /// The start of what counts: `start`, or a later reset.
    pub from: Timestamp,
    pub end: Timestamp,
    /// The sum in the ledger, as far as it was read or reported as booked.
    pub ledger: Nanos,
    /// Settled by this process and not in the ledger yet.
    pub unbooked: Nanos,
    /// Settled by this process and never booked, because accounting is off.
    pub unkept: Nanos,
    pub reserved: Nanos,
    /// The number of thresholds already reported.
    pub alerted: usize,
    /// The lease of this process, if replicas share the budget.
    pub lease: Option<Box<Lease>>,
}

impl Window {
    pub fn around(rule: &Rule, anchors: &Anchors, at: Timestamp) -> Self {
        let (start, end) = rule.key.period.around(at, anchors);
        let from = rule.last_reset_at.map_or(start, |reset| start.max(reset));
        let zero = Nanos::ZERO;
        Self {
            start,
            from,
            end,
            ledger: zero,
            unbooked: zero,
            unkept: zero,
            reserved: zero,
            alerted: 0,
            lease: None,
        }
    }

    pub fn spent(&self) -> Nanos {
        self.ledger + self.unbooked + self.unkept
    }

    /// The amount that this process has held or settled and that is not in the ledger: its lease has to cover it.
    pub fn used(&self) -> Nanos {
        self.unbooked + self.unkept + self.reserved
    }

    /// The rest of the lease; negative if more is used. Without a lease there is nothing.
    pub fn free(&self) -> Nanos {
        let granted = self.lease.as_ref().map_or(Nanos::ZERO, |lease| lease.granted);
        Nanos(granted.0.saturating_sub(self.used().0))
    }

    /// The amount that a call can hold without asking for more.
    pub fn available(&self) -> Nanos {
        let is_usable = self.lease.as_ref().is_some_and(|lease| !lease.is_overcommitted);
        if is_usable { self.free() } else { Nanos::ZERO }
    }

    /// The rest for all replicas, as far as this one knows; `None` if the budget is not shared or it was not asked for.
    pub fn shared_left(&self) -> Option<Nanos> {
        let rest = self.lease.as_ref()?.rest?;
        Some(Nanos(rest.0.saturating_add(self.free().0.max(0)).max(0)))
    }

    /// The shared amounts that are spent, and that are held or leased by any replica, as far as this one knows.
    pub fn shared_use(&self, amount: Nanos) -> (Nanos, Nanos) {
        let spent = self.spent();
        let Some(left) = self.shared_left() else { return (spent, self.reserved) };
        let reserved = amount.0.saturating_sub(left.0).saturating_sub(spent.0);
        (spent, Nanos(reserved.max(self.reserved.0)))
    }

    pub fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.end
    }

    /// Whether a time is within the period, before or after a reset.
    pub fn spans(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    pub fn is_same(&self, other: &Self) -> bool {
        (self.from, self.end) == (other.from, other.end)
    }
}

/// The window of the wall clock and the one that was current before it: calls that arrived in that one may still be in
/// flight. After the clock was set back, `previous` is the later one.
#[derive(Clone, Debug)]
pub struct Windows {
    pub current: Window,
    pub previous: Option<Window>,
}

/// The change of the current window. After any change the ledger has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Unchanged,
    /// Returned to the previous window.
    Back,
    /// Turned to a new window: held and unbooked amounts in it have to be counted.
    New,
}

impl Windows {
    pub fn new(current: Window) -> Self {
        Self { current, previous: None }
    }

    pub fn at(&mut self, at: Timestamp) -> Option<&mut Window> {
        if self.current.holds(at) {
            return Some(&mut self.current);
        }
        self.previous.as_mut().filter(|window| window.holds(at))
    }

    /// Turns to the window that contains this time, in either direction.
    pub fn turn(&mut self, at: Timestamp, make: impl FnOnce() -> Window) -> Turn {
        if self.current.spans(at) {
            return Turn::Unchanged;
        }
        let known = self.previous.take_if(|window| window.spans(at));
        let made = known.is_none();
        let turned = known.unwrap_or_else(make);
        self.previous = Some(std::mem::replace(&mut self.current, turned));
        if made { Turn::New } else { Turn::Back }
    }

    /// Turns to the window of a call's arrival, if that is a later one. An earlier arrival changes nothing: the body of
    /// the call may have taken long.
    pub fn turn_forward(&mut self, at: Timestamp, make: impl FnOnce() -> Window) -> Turn {
        if at < self.current.end { Turn::Unchanged } else { self.turn(at, make) }
    }

    pub fn each(&mut self) -> impl Iterator<Item = &mut Window> {
        std::iter::once(&mut self.current).chain(self.previous.as_mut())
    }

    /// Takes over the known windows after a change of the rules.
    pub fn inherit(&mut self, known: Self) {
        if known.current.is_same(&self.current) {
            *self = known;
        } else if known.current.end <= self.current.start {
            self.previous = Some(known.current);
        }
    }
}
