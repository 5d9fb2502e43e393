//! A budget has crossed a threshold: told once in its window, on the console and to the webhook, whichever replica sees it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use store::{Alert, StoreError};

use super::books::Status;
use crate::console::Notice;
use crate::gateway::Gateway;
use crate::webhooks::{self, Webhooks};

/// What receivers know it by.
pub const EVENT: &str = "budget.threshold";
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Crossing {
    pub status: Status,
    pub threshold: f64,
}

/// As the console and receivers are told; US dollars.
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

/// Tells what has been crossed since the last time; what cannot be told now is kept.
pub async fn tell(gateway: &Gateway, webhooks: &Webhooks) -> Result<(), StoreError> {
    let mut crossings = gateway.spending.books.lock().take_crossings().into_iter();
    while let Some(crossing) = crossings.next() {
        if let Err(error) = tell_one(gateway, webhooks, &crossing).await {
            let rest = std::iter::once(crossing).chain(crossings).collect();
            gateway.spending.books.lock().give_back(rest);
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
            "a budget has crossed a threshold"
        );
        gateway.console.say(alert.at, Notice::Budget(Box::new(crossed)));
    }
    Ok(())
}

pub async fn keep_telling(gateway: Arc<Gateway>, webhooks: Webhooks) {
    loop {
        gateway.spending.crossed.notified().await;
        while let Err(error) = tell(&gateway, &webhooks).await {
            tracing::debug!(%error, "a threshold that was crossed cannot be noted yet");
            tokio::time::sleep(RETRY).await;
        }
    }
}
