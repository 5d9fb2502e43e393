//! The current rate limits and budgets of a caller.

use domain::principal::Principal;

use super::into_view;
use super::view::{BudgetRoom, LimitView};
use crate::budgets::{self, BudgetScope};
use crate::gateway::Gateway;
use crate::rate_limit;

/// The limits of the caller's key, and every budget on its path. Nothing is consumed. The figures of budgets above the
/// caller's own path are left out.
pub fn limits_and_budgets(gateway: &Gateway, principal: &Principal) -> (Vec<LimitView>, Vec<BudgetRoom>) {
    let limits = rate_limit::preview(&gateway.limiter, principal, gateway.clock.tick());
    let limits = limits.map(|preview| preview.statuses.iter().map(into_view::limit).collect());
    let user_path = principal.own_path().cloned().unwrap_or_default();
    let scope = BudgetScope::new(principal, user_path, gateway.clock.now(), None);
    let (budgets, _) = budgets::look(&gateway.budgets, &scope, None, gateway.clock.now());
    let budgets = budgets.iter().map(|room| {
        into_view::budget(room, budgets::is_visible(&gateway.capabilities, principal, &room.status.rule.key))
    });
    (limits.unwrap_or_default(), budgets.collect())
}
