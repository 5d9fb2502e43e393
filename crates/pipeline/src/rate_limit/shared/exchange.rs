//! The exchange with Redis: one script call per batch, and the application of its reply.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use domain::clock::Clock;
use domain::resources::auth_key::RateLimits;
use parking_lot::Mutex;
use redis_client::{Argument, Script, Unavailable};

use super::SharedLimits;
use super::decide::{GrantedRequest, GrantedTokens};
use super::operation::{Action, Asker, Operation, RequestDemand, Slots, TokensDemand};
use super::shared_key::{KnownUsage, RequestLease, SharedKey, TokenLease};
use crate::rate_limit::counts::{Counts, LimitStatus, longest_wait};
use crate::rate_limit::limit_kind::{LimitKind, Unit};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("limits.lua")));

pub const PREFIX: &str = "gatehouse:limits:";
const EPOCH: &str = "gatehouse:limits-epoch";
/// The time for which leases can be used: the script counts them at its end. It runs from before Redis is asked.
const LEASE: Duration = Duration::from_millis(990);

/// The epoch of the counts in Redis, and its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub id: i64,
    pub age: Duration,
}

impl SharedLimits {
    /// Sends a batch and applies the replies. Without a reply, or with one of another epoch, this process counts by itself,
    /// and the calls that wait are decided so.
    pub(super) async fn exchange(&self, batch: Vec<Operation>, clock: &dyn Clock) {
        let known = self.sharing.read().epoch;
        let sent = clock.tick();
        let Ok((epoch, replies)) = self.call(known, &batch).await else {
            self.count_locally(clock.tick());
            // Those who wait need not wait for the time limit.
            self.queue.clear();
            return;
        };
        if epoch.id != known {
            self.begin_epoch(epoch.id, clock.tick());
            self.queue.clear();
            return;
        }
        let now = clock.tick();
        let mut replies = replies.as_slice();
        for operation in batch {
            let Some((reply, rest)) = replies.split_at_checked(operation.reply_length()) else { return };
            replies = rest;
            match operation.action {
                Action::Request(demand) => self.apply_request(&operation.key, demand, reply, (sent, now)),
                Action::Tokens(demand) => self.apply_tokens(&operation.key, demand, reply, (sent, now)),
                _ => {}
            }
        }
    }

    /// Runs the script. If the epoch is not the known one, there are no replies.
    pub(super) async fn call(
        &self,
        known: i64,
        operations: &[Operation],
    ) -> Result<(Epoch, Vec<i64>), Unavailable> {
        let mut keys = vec![EPOCH.to_owned()];
        let mut candidate = [0; 6];
        self.entropy.fill(&mut candidate);
        let candidate = candidate.iter().fold(1, |number, byte| number << 8 | i64::from(*byte));
        let mut arguments = vec![Argument::from(known), candidate.into(), self.replica.as_str().into()];
        for operation in operations {
            keys.push(format!("{PREFIX}{}", operation.key));
            operation.encode(&mut arguments);
        }
        let mut reply = self.redis.run(&SCRIPT, &keys, &arguments).await?;
        let rest = reply.split_off(reply.len().min(2));
        let &[id, age] = reply.as_slice() else { return Err(Unavailable) };
        Ok((Epoch { id, age: micros(age) }, rest))
    }

    /// Redis has lost its counts: this process counts by itself until all replicas have reported theirs.
    fn begin_epoch(&self, id: i64, now: Duration) {
        self.count_locally(now);
        let mut sharing = self.sharing.write();
        if sharing.epoch != id {
            tracing::warn!("the rate limits in Redis are lost; reporting those of this process");
            sharing.epoch = id;
            sharing.unreported_since = Duration::ZERO;
            sharing.is_new_epoch = true;
        }
    }

    fn apply_request(
        &self,
        key: &Arc<str>,
        demand: RequestDemand,
        reply: &[i64],
        (sent, now): (Duration, Duration),
    ) {
        let &[admitted, more, more_places, minute, day, leased_minute, leased_day, ref figures @ ..] = reply
        else {
            return;
        };
        let RequestDemand { limits, units, asker: Asker { counts, segment, waiter }, .. } = demand;
        let mut locked = counts.lock();
        let Some(state) = locked.shared.as_mut().filter(|state| state.segment == segment) else { return };
        if units == 0 {
            state.is_refilling = false;
        }
        if let &[minute_used, minute_reset, minute_wait, day_used, day_reset, day_wait, in_places] = figures {
            state.set_known_usage(
                LimitKind::RequestsPerMinute,
                figure(minute_used, minute_reset, minute_wait, now),
            );
            state.set_known_usage(LimitKind::RequestsPerDay, figure(day_used, day_reset, day_wait, now));
            state.set_known_usage(LimitKind::ParallelRequests, figure(in_places, 0, 0, now));
        }
        if more > 0 {
            let slots = Slots { minute: leased_minute, day: leased_day };
            state.requests.push_back(RequestLease { units: whole(more), expires: sent + LEASE, slots });
        }
        state.free_places += whole(more_places);
        state.spare_places = whole(more_places);
        if state.has_places {
            state.confirmed = now;
        }
        let has_place = limits.max_parallel_requests.is_some();
        let status = (admitted == 0).then(|| refusal(state, &limits, false, now)).flatten();
        if let Some(status) = status {
            state.refuse(status, now);
        }
        if let Some(waiter) = waiter {
            let verdict = match status {
                Some(status) => Err(status),
                None => Ok(GrantedRequest { slots: Slots { minute, day }, has_place, segment }),
            };
            let is_admitted = verdict.is_ok();
            if waiter.send(verdict).is_err() && is_admitted && has_place {
                // The caller is gone.
                state.free_places += 1;
                let kept = state.spare_places;
                self.release_places(key, state, kept);
            }
        }
        self.list(key, state, &counts);
    }

    fn apply_tokens(
        &self,
        key: &Arc<str>,
        demand: TokensDemand,
        reply: &[i64],
        (sent, now): (Duration, Duration),
    ) {
        let &[admitted, more, charged, until_full, wait, day_used, day_reset, day_wait] = reply else {
            return;
        };
        let TokensDemand { limits, estimate, asker: Asker { counts, segment, waiter }, .. } = demand;
        let mut locked = counts.lock();
        let Some(state) = locked.shared.as_mut().filter(|state| state.segment == segment) else { return };
        state.set_known_usage(LimitKind::TokensPerMinute, figure(0, until_full, wait, now));
        state.set_known_usage(LimitKind::TokensPerDay, figure(day_used, day_reset, day_wait, now));
        let replaced = state.expire_tokens(more > 0, now);
        self.queue_token_return(key, limits.tokens_per_minute, replaced);
        if more > 0 {
            state.leased_limit = limits.tokens_per_minute;
            state.tokens = Some(TokenLease {
                tokens: Some(whole(more)),
                today: limits.tokens_per_day.map(|limit| limit.saturating_sub(whole(day_used))),
                expires: sent + LEASE,
                charged,
            });
        }
        let status = (admitted == 0).then(|| refusal(state, &limits, true, now)).flatten();
        if let Some(status) = status {
            state.refuse(status, now);
        }
        if let Some(waiter) = waiter {
            let _ = waiter.send(match status {
                Some(status) => Err(status),
                None => Ok(GrantedTokens { charged, estimate, segment }),
            });
        }
        self.list(key, state, &counts);
    }

    /// Remembers a key with leases or places, which are given back when they are not used. Only the task that exchanges
    /// batches locks the list, so that the order of the locks does not matter.
    fn list(&self, key: &Arc<str>, state: &mut SharedKey, counts: &Arc<Mutex<Counts>>) {
        let has_any = !state.requests.is_empty() || state.tokens.is_some() || state.has_places;
        if has_any && !state.is_listed {
            state.is_listed = true;
            self.listed.lock().push((key.clone(), counts.clone()));
        }
    }
}

/// The limit that refuses a call; `of_tokens` says which ones were asked about.
fn refusal(state: &SharedKey, limits: &RateLimits, of_tokens: bool, now: Duration) -> Option<LimitStatus> {
    let concerned: Vec<LimitStatus> = state
        .statuses(limits, 0, now)
        .filter(|status| (status.bound.unit() == Unit::Tokens) == of_tokens)
        .collect();
    let tightest = || concerned.iter().min_by_key(|status| status.remaining).copied();
    let status = longest_wait(concerned.iter().copied()).or_else(tightest)?;
    Some(LimitStatus { remaining: 0, wait: Some(status.wait.unwrap_or_default()), ..status })
}

fn figure(used: i64, reset: i64, wait: i64, at: Duration) -> KnownUsage {
    KnownUsage { used: whole(used), reset: micros(reset), wait: micros(wait), at }
}

fn whole(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn micros(number: i64) -> Duration {
    Duration::from_micros(whole(number))
}
