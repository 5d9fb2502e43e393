//! Budget alerts: each threshold is reported once per window, to the console and the webhooks, by whichever replica is
//! first.

use domain::clock::Clock;
use store::{Alert, StoreError};

use super::Budgets;
use super::state::Status;
use crate::services::console::{Console, Crossed, Notice};
use crate::services::webhooks::{self, WebhookEvent, Webhooks};

#[derive(Clone, Debug)]
pub struct Crossing {
    pub status: Status,
    pub threshold: f64,
}

fn describe(crossing: &Crossing) -> Crossed {
    let Crossing { status, threshold } = crossing;
    let key = &status.rule.key;
    let (amount, spent) = (status.rule.amount.usd(), status.spent.usd());
    Crossed {
        user_path: key.user_path.as_str().to_owned(),
        tenant_id: key.tenant.clone(),
        run_id: status.rule.run.as_deref().map(str::to_owned),
        period_label: key.period.label(),
        period_seconds: key.period.seconds(),
        amount,
        spent,
        usage_ratio: spent / amount,
        threshold: *threshold,
        period_start: webhooks::time(status.period_start),
        period_end: webhooks::time(status.period_end),
    }
}

/// Sends alerts for the thresholds crossed since the last call; on an error, the remaining ones are kept.
pub async fn send(
    budgets: &Budgets,
    clock: &dyn Clock,
    console: &Console,
    webhooks: &Webhooks,
) -> Result<(), StoreError> {
    // Taken out, because the lock cannot be held across the awaits below.
    let mut crossings = budgets.state.lock().take_crossings().into_iter();
    while let Some(crossing) = crossings.next() {
        if let Err(error) = send_one(&crossing, clock, console, webhooks).await {
            let rest = std::iter::once(crossing).chain(crossings).collect();
            budgets.state.lock().give_back(rest);
            return Err(error);
        }
    }
    Ok(())
}

async fn send_one(
    crossing: &Crossing,
    clock: &dyn Clock,
    console: &Console,
    webhooks: &Webhooks,
) -> Result<(), StoreError> {
    let crossed = describe(crossing);
    let alert = Alert {
        budget: crossing.status.rule.name(),
        window_start: crossing.status.counted_from,
        threshold: crossing.threshold,
        at: clock.now(),
    };
    if webhooks.alert(&alert, WebhookEvent::BudgetThreshold, &crossed).await? {
        tracing::warn!(
            user_path = crossed.user_path,
            period = crossed.period_label,
            threshold = crossed.threshold,
            spent = crossed.spent,
            amount = crossed.amount,
            "budget threshold crossed"
        );
        console.notice(alert.at, Notice::Budget(Box::new(crossed)));
    }
    Ok(())
}
