//! Orders the targets of a pool or combo in which they are tried: a pure function of their live state and a seed.

mod measure;
#[cfg(test)]
mod properties;
mod ranked_member;
mod reason;
mod splitmix64;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace;
mod warm;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::call::Target;
use domain::strategy::Strategy;
use reason::Reason;
use splitmix64::SplitMix64;

use crate::routing::health::Health;
use crate::routing::member_calls::MemberCalls;

/// A target, as far as the selection needs it.
pub trait Candidate {
    fn health(&self) -> &Health;

    /// Worst-case cost of this call in nano-dollars; `None` if no price is known.
    fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<i64>;

    fn is_target(&self, target: &Target) -> bool;

    /// Whether input from the provider's prompt cache costs less than other input. Also true if no price is known, as of a
    /// server of one's own, where the cache saves time.
    fn saves_cached_input(&self) -> bool;
}

#[derive(Clone, Debug)]
pub enum Choice<L> {
    One(L),
    Among(Group<L>),
}

#[derive(Clone, Debug)]
pub struct Group<L> {
    pub name: Arc<str>,
    /// Whether it is a pool or combo; otherwise it is made of the instances that serve a model.
    pub is_configured: bool,
    pub strategy: Strategy,
    /// Whether members whose breaker is open or that cool down are tried last.
    pub health_aware: bool,
    pub turn: Arc<RoundRobinCursor>,
    /// The calls of its members, if it is a pool.
    pub calls: Option<Arc<MemberCalls>>,
    pub members: Vec<Member<L>>,
}

#[derive(Clone, Debug)]
pub struct Member<L> {
    pub weight: f64,
    pub choice: Choice<L>,
}

/// The position of a round robin; carried across snapshots.
#[derive(Debug, Default)]
pub struct RoundRobinCursor(AtomicU64);

#[derive(Clone, Debug)]
pub struct SelectionContext {
    pub now: Duration,
    pub seed: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub mode: SelectionMode,
    /// The target whose prompt cache may hold the conversation of the call.
    pub warm: Option<Target>,
}

/// Whether the selection counts as a call. The order is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionMode {
    /// Round-robin cursors are advanced.
    Live,
    /// Round-robin cursors are only read, and the reasons are given in full: for explanations, token counts and the
    /// like.
    DryRun,
}

#[derive(Clone, Debug)]
pub struct Ranked<L> {
    pub choice: L,
    /// The figure that the innermost group ranks by: calls in flight, milliseconds, dollars, or the adaptive score.
    pub score: Option<f64>,
    /// The reason for its position. An explanation includes figures and group names; a live call avoids the allocation.
    pub reason: Cow<'static, str>,
}

/// Ranks the targets in the order in which they are tried. A target that occurs twice is listed twice.
///
/// The order does not depend on the mode: an explanation shows what a call would do.
pub fn rank<L: Candidate + Clone>(choice: &Choice<L>, selection: &SelectionContext) -> Vec<Ranked<L>> {
    match choice {
        Choice::One(target) => {
            vec![Ranked { choice: target.clone(), score: None, reason: Reason::Only.in_short() }]
        }
        Choice::Among(group) => {
            let mut ranking =
                Ranking { selection, order: Vec::with_capacity(group.members.len()), used: Vec::new() };
            let mut random = SplitMix64::new(selection.seed);
            ranking.expand(group, &mut random, selection.mode == SelectionMode::Live, None);
            ranking.order
        }
    }
}

struct Ranking<'a, L> {
    selection: &'a SelectionContext,
    order: Vec<Ranked<L>>,
    /// Cursors of inner groups that were advanced, and their values before: the same pool may be named twice.
    used: Vec<(*const RoundRobinCursor, u64)>,
}

/// The enclosing groups, for explanations.
#[derive(Clone, Copy)]
struct EnclosingGroups<'a> {
    outer: Option<&'a EnclosingGroups<'a>>,
    name: &'a str,
    reason: Reason,
}

impl<L: Candidate + Clone> Ranking<'_, L> {
    /// `moves` advances this group's cursor. Of the inner groups, only the first in the order advances its own: if all
    /// did, nested round robins would keep in step, and some members would never come first.
    fn expand(
        &mut self,
        group: &Group<L>,
        random: &mut SplitMix64,
        moves: bool,
        outer: Option<&EnclosingGroups<'_>>,
    ) {
        let turn = self.turn(group, moves, outer.is_some());
        let mut inner_random = random.fork();
        for (place, standing) in
            ranked_member::order(group, turn, self.selection, random).into_iter().enumerate()
        {
            let around = EnclosingGroups { outer, name: &group.name, reason: standing.reason };
            match &group.members[standing.member].choice {
                Choice::One(target) => self.order.push(Ranked {
                    choice: target.clone(),
                    score: standing.score,
                    reason: if self.selection.mode == SelectionMode::Live {
                        standing.reason.in_short()
                    } else {
                        Cow::Owned(around.in_full())
                    },
                }),
                Choice::Among(inner) => {
                    self.expand(inner, &mut inner_random, moves && place == 0, Some(&around));
                }
            }
        }
    }

    fn turn(&mut self, group: &Group<L>, moves: bool, inside: bool) -> u64 {
        let own = Arc::as_ptr(&group.turn);
        if let Some((_, turn)) = self.used.iter().find(|(used, _)| *used == own) {
            return *turn;
        }
        let moves = moves && group.strategy == Strategy::RoundRobin;
        let turn = group.turn.look(moves);
        if moves && inside {
            self.used.push((own, turn));
        }
        turn
    }
}

impl EnclosingGroups<'_> {
    fn in_full(&self) -> String {
        let here = format!("{}: {}", self.name, self.reason);
        match self.outer {
            Some(outer) => format!("{}; {here}", outer.in_full()),
            None => here,
        }
    }
}

impl RoundRobinCursor {
    fn look(&self, moves: bool) -> u64 {
        // Relaxed: calls only need different positions, and no other memory depends on the cursor.
        if moves { self.0.fetch_add(1, Ordering::Relaxed) } else { self.0.load(Ordering::Relaxed) }
    }
}

impl<L> Choice<L> {
    /// Visits the call counts of every pool.
    pub fn each_pool(&self, visit: &mut impl FnMut(&Arc<MemberCalls>)) {
        if let Self::Among(group) = self {
            group.calls.iter().for_each(&mut *visit);
            group.members.iter().for_each(|member| member.choice.each_pool(visit));
        }
    }

    /// Visits every target, in the order named.
    pub fn each(&self, visit: &mut impl FnMut(&L)) {
        match self {
            Self::One(target) => visit(target),
            Self::Among(group) => group.members.iter().for_each(|member| member.choice.each(visit)),
        }
    }
}
