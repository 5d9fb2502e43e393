//! One window of one budget: from its beginning, or its reset, until the next begins.

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::Anchors;

use super::rules::Rule;

#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    pub start: Timestamp,
    /// What counts: the start, or the reset after it.
    pub from: Timestamp,
    pub end: Timestamp,
    /// What the ledger holds, as far as it was read and heard.
    pub ledger: Nanos,
    /// Settled by this process and not in the ledger yet.
    pub unbooked: Nanos,
    /// Settled by this process, and never booked by anybody.
    pub unkept: Nanos,
    pub reserved: Nanos,
    /// So many thresholds were crossed and handed on.
    pub told: usize,
}

impl Window {
    pub fn around(rule: &Rule, anchors: &Anchors, at: Timestamp) -> Self {
        let (start, end) = rule.key.period.around(at, anchors);
        let from = rule.last_reset_at.map_or(start, |reset| start.max(reset));
        let zero = Nanos::ZERO;
        Self { start, from, end, ledger: zero, unbooked: zero, unkept: zero, reserved: zero, told: 0 }
    }

    pub fn spent(&self) -> Nanos {
        self.ledger + self.unbooked + self.unkept
    }

    pub fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.end
    }

    /// Within the period, whether before or after a reset.
    pub fn spans(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    pub fn is_same(&self, other: &Self) -> bool {
        (self.from, self.end) == (other.from, other.end)
    }
}

/// The window of the wall clock and the one that was in force before it: calls that arrived before the turn may still be
/// under way. After the clock was put back, the latter is the later one.
#[derive(Clone, Debug)]
pub struct Windows {
    pub current: Window,
    pub previous: Option<Window>,
}

/// What became of the current window. Whenever it changes, the ledger has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Unchanged,
    /// To a window that is known.
    Back,
    /// To a new window: what is held and settled in it has to be counted.
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

    /// Turns to the window of a call's arrival, if that is a later one. A call from before the turn changes nothing: its
    /// body may have taken long.
    pub fn turn_forward(&mut self, at: Timestamp, make: impl FnOnce() -> Window) -> Turn {
        if at < self.current.end { Turn::Unchanged } else { self.turn(at, make) }
    }

    pub fn each(&mut self) -> impl Iterator<Item = &mut Window> {
        std::iter::once(&mut self.current).chain(self.previous.as_mut())
    }

    /// What is known goes on where the rules have changed.
    pub fn inherit(&mut self, known: Self) {
        if known.current.is_same(&self.current) {
            *self = known;
        } else if known.current.end <= self.current.start {
            self.previous = Some(known.current);
        }
    }
}
