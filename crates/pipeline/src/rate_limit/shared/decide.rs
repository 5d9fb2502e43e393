//! Decisions about calls: from leases if there are any, otherwise by asking Redis.

use std::sync::Arc;
use std::time::Duration;

use domain::principal::KeyFacts;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::operation::{Action, Asker, Operation, RequestDemand, Slots, TokensDemand};
use super::shared_key::{RequestLease, SharedKey, TokenLease};
use super::{DecisionCounts, SharedLimits};
use crate::rate_limit::counts::{Counts, LimitStatus};

/// A decision, or the promise of one.
pub enum Decision<T> {
    Made(Result<T, LimitStatus>),
    Asked(oneshot::Receiver<Result<T, LimitStatus>>),
}

/// A request that Redis counts.
#[derive(Clone, Copy, Debug)]
pub struct GrantedRequest {
    pub slots: Slots,
    /// Whether the call has a place among the parallel requests.
    pub has_place: bool,
    pub segment: u64,
}

/// The tokens of a call that Redis counts.
#[derive(Clone, Copy, Debug)]
pub struct GrantedTokens {
    /// The end of the charge in the bucket.
    pub charged: i64,
    pub estimate: u64,
    pub segment: u64,
}

/// A request that Redis has not decided yet. Places are not reported meanwhile: a free one cannot be told from one that
/// the request is about to take.
pub struct PendingRequest(Arc<Mutex<Counts>>);

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(state) = &mut self.0.lock().shared {
            state.pending = state.pending.saturating_sub(1);
        }
    }
}

impl SharedLimits {
    /// Decides about a request.
    pub fn decide_request(
        &self,
        key: &KeyFacts,
        counts: &Arc<Mutex<Counts>>,
        segment: u64,
        now: Duration,
    ) -> (Decision<GrantedRequest>, Option<PendingRequest>) {
        let limits = &key.rate_limits;
        let has_place = limits.max_parallel_requests.is_some();
        let granted = |slots| GrantedRequest { slots, has_place, segment };
        if limits.requests_per_minute.is_none() && limits.requests_per_day.is_none() && !has_place {
            return (Decision::Made(Ok(granted(Slots::NONE))), None);
        }
        let mut locked = counts.lock();
        let under_way = locked.under_way();
        let state = state_in(&mut locked, segment);
        if has_place && !state.has_places {
            state.has_places = true;
            // Redis may still have those of an earlier segment.
            self.queue.push(Operation::new(&key.id, limits, Action::SetPlaces(under_way)));
        }
        state.calls.add(1, now);
        self.give_back(key, state.expire_requests(now));
        if let Some(status) = state.refused(false, limits, now) {
            return (Decision::Made(Err(status)), None);
        }
        let want = state.wanted();
        let demand = |units, waiter| RequestDemand {
            limits: limits.clone(),
            units,
            want,
            want_places: want,
            asker: Asker { counts: counts.clone(), segment, waiter },
        };
        if let Some(slots) = state.take_request(limits, now) {
            DecisionCounts::add(&self.decisions.leased);
            // Before the lease is used up, so that no call has to wait.
            if state.leased_units() < want / 2 && !state.is_refilling && slots != Slots::NONE {
                state.is_refilling = true;
                self.queue.push(Operation::new(&key.id, limits, Action::Request(demand(0, None))));
            }
            return (Decision::Made(Ok(granted(slots))), None);
        }
        state.pending += 1;
        let pending = PendingRequest(counts.clone());
        let (sender, receiver) = oneshot::channel();
        self.queue.push(Operation::new(&key.id, limits, Action::Request(demand(1, Some(sender)))));
        (Decision::Asked(receiver), Some(pending))
    }

    /// Decides about the tokens of a call.
    pub fn decide_tokens(
        &self,
        key: &KeyFacts,
        counts: &Arc<Mutex<Counts>>,
        estimate: u64,
        segment: u64,
        now: Duration,
    ) -> Decision<GrantedTokens> {
        let limits = &key.rate_limits;
        if limits.tokens_per_minute.is_none() && limits.tokens_per_day.is_none() {
            return Decision::Made(Ok(GrantedTokens { charged: 0, estimate, segment }));
        }
        let mut locked = counts.lock();
        let state = state_in(&mut locked, segment);
        if limits.requests_per_minute.is_none() && limits.requests_per_day.is_none() {
            state.calls.add(1, now);
        }
        state.token_use.add(estimate, now);
        if let Some(status) = state.refused(true, limits, now) {
            return Decision::Made(Err(status));
        }
        if let Some(charged) = state.take_tokens(estimate, now) {
            DecisionCounts::add(&self.decisions.leased);
            return Decision::Made(Ok(GrantedTokens { charged, estimate, segment }));
        }
        let expired = state.expire_tokens(true, now);
        self.give_tokens_back(key, expired);
        let (sender, receiver) = oneshot::channel();
        let demand = TokensDemand {
            limits: limits.clone(),
            estimate,
            want: state.wanted_tokens(),
            asker: Asker { counts: counts.clone(), segment, waiter: Some(sender) },
        };
        self.queue.push(Operation::new(&key.id, limits, Action::Tokens(demand)));
        Decision::Asked(receiver)
    }

    /// Takes back a request that does not count after all.
    pub fn uncount_request(&self, key: &KeyFacts, granted: &GrantedRequest) {
        if granted.slots != Slots::NONE {
            let action = Action::GiveBack { slots: granted.slots, units: 1 };
            self.queue.push(Operation::new(&key.id, &key.rate_limits, action));
        }
    }

    /// Frees the place of a call that has ended, which `counts` no longer has.
    pub fn release_place(&self, key: &KeyFacts, counts: &mut Counts, segment: u64) {
        let Some(state) = counts.shared.as_mut().filter(|state| state.segment == segment) else { return };
        state.free_places += 1;
        let kept = state.spare_places;
        self.release_places(&key.id, state, kept);
    }

    /// Gives back all free places but `kept`.
    pub(super) fn release_places(&self, key: &Arc<str>, state: &mut SharedKey, kept: u64) {
        if let Some(surplus) = state.free_places.checked_sub(kept).filter(|surplus| *surplus > 0) {
            state.free_places = kept;
            self.queue.push(Operation::of_any(key, Action::ReleasePlaces(surplus)));
        }
    }

    /// Reports the actual tokens of a call: their difference to the estimate, and those that are added to the day's.
    pub fn correct_tokens(
        &self,
        key: &KeyFacts,
        counts: &mut Counts,
        (GrantedTokens { charged, estimate, .. }, consumed): (GrantedTokens, u64),
        today: u64,
    ) {
        let limits = &key.rate_limits;
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let difference = signed(consumed).saturating_sub(signed(estimate));
        let lease = counts.shared.as_mut().and_then(|state| state.tokens.as_mut());
        if let Some(left) = lease.and_then(|lease| lease.today.as_mut()) {
            *left = left.saturating_sub(today);
        }
        let per_minute = limits.tokens_per_minute;
        if (difference != 0 && per_minute.is_some()) || today > 0 {
            let action = Action::Correct { per_minute, difference, charged, today };
            self.queue.push(Operation::new(&key.id, limits, action));
        }
    }

    fn give_back(&self, key: &KeyFacts, leases: Vec<RequestLease>) {
        for RequestLease { units, slots, .. } in leases {
            self.queue.push(Operation::new(&key.id, &key.rate_limits, Action::GiveBack { slots, units }));
        }
    }

    fn give_tokens_back(&self, key: &KeyFacts, lease: Option<TokenLease>) {
        let per_minute = key.rate_limits.tokens_per_minute;
        self.queue_token_return(&key.id, per_minute, lease);
    }

    pub(super) fn queue_token_return(
        &self,
        key: &Arc<str>,
        per_minute: Option<u64>,
        lease: Option<TokenLease>,
    ) {
        if let Some(action) = lease.and_then(|lease| lease.into_return(per_minute)) {
            self.queue.push(Operation::of_any(key, action));
        }
    }
}

/// The state of a key in a segment; what it had in an earlier one is void.
fn state_in(counts: &mut Counts, segment: u64) -> &mut SharedKey {
    let state = counts.shared.get_or_insert_default();
    if state.segment != segment {
        state.begin_segment(segment);
    }
    state
}
