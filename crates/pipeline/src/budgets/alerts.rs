//! Budget alerts: each threshold is reported once per window, to the console and the webhooks, by whichever replica is
//! first.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use store::{Alert, StoreError};

use super::state::Status;
use crate::gateway::Gateway;
use crate::services::console::Notice;
use crate::services::webhooks::{self, Webhooks};

/// The event name in webhooks.
pub const EVENT: &str = "budget.threshold";
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Crossing {
    pub status: Status,
    pub threshold: f64,
}

/// The alert as the console and webhooks receive it; amounts in US dollars.
#[derive(Clone, Debug, Serialize)]
pub struct Crossed {
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub period_label: String,
    pub period_seconds: i64,
    pub amount: f64,
    pub spent: f64,
    pub usage_ratio: f64,
    pub threshold: f64,
    pub period_start: String,
    pub period_end: String,
}

impl Crossed {
    fn new(crossing: &Crossing) -> Self {
        let Crossing { status, threshold } = crossing;
        let key = &status.rule.key;
        let (amount, spent) = (status.rule.amount.usd(), status.spent.usd());
        Self {
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
}

/// Sends alerts for the thresholds crossed since the last call; on an error, the remaining ones are kept.
pub async fn tell(gateway: &Gateway, webhooks: &Webhooks) -> Result<(), StoreError> {
    // Taken out, because the lock cannot be held across the awaits below.
    let mut crossings = gateway.budgets.state.lock().take_crossings().into_iter();
    while let Some(crossing) = crossings.next() {
        if let Err(error) = tell_one(gateway, webhooks, &crossing).await {
            let rest = std::iter::once(crossing).chain(crossings).collect();
            gateway.budgets.state.lock().give_back(rest);
            return Err(error);
        }
    }
    Ok(())
}

async fn tell_one(gateway: &Gateway, webhooks: &Webhooks, crossing: &Crossing) -> Result<(), StoreError> {
    let crossed = Crossed::new(crossing);
    let alert = Alert {
        budget: crossing.status.rule.name(),
        window_start: crossing.status.counted_from,
        threshold: crossing.threshold,
        at: gateway.clock.now(),
    };
    if webhooks.alert(&alert, EVENT, &crossed).await? {
        tracing::warn!(
            user_path = crossed.user_path,
            period = crossed.period_label,
            threshold = crossed.threshold,
            spent = crossed.spent,
            amount = crossed.amount,
            "budget threshold crossed"
        );
        gateway.console.say(alert.at, Notice::Budget(Box::new(crossed)));
    }
    Ok(())
}

pub async fn keep_telling(gateway: Arc<Gateway>, webhooks: Webhooks) {
    loop {
        // `notify_one` keeps a permit, so that a crossing during `tell` wakes this loop again.
        gateway.budgets.crossed.notified().await;
        while let Err(error) = tell(&gateway, &webhooks).await {
            tracing::debug!(%error, "budget alert could not be stored; retrying");
            tokio::time::sleep(RETRY).await;
        }
    }
}
