//! Webhook events about configuration and keys: follows the change log of all replicas, and searches for keys that
//! expire soon. Messages have fixed ids, so that only one replica reports each.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use serde::Serialize;
use serde_json::Value;
use store::{Change, DEFAULT_TENANT, Store, StoreError};

use super::Gateway;
use crate::services::webhooks::{self, WebhookEvent, Webhooks};

const POLL: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_secs(1);
/// Keys are reported this long before they expire.
const SOON: Duration = Duration::from_secs(7 * 24 * 3600);
const SEARCH_INTERVAL: Duration = Duration::from_secs(3600);
const PAGE: i64 = 200;

/// Data of `config.changed`.
#[derive(Serialize)]
struct ChangedDocument<'a> {
    revision: i64,
    kind: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    action: &'a str,
    actor: &'a str,
    at: String,
}

/// Data of `key.created`, `key.revoked` and `key.expiring`.
#[derive(Serialize)]
struct KeyData<'a> {
    id: &'a str,
    name: &'a str,
    user_path: Option<&'a str>,
    expires_at: Option<String>,
    /// The caller who made the change; absent for `key.expiring`.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
}

/// Stores the events that calls and handlers of this process report.
pub async fn keep_storing_events(gateway: Arc<Gateway>, webhooks: Webhooks) {
    loop {
        while let Some(pending) = gateway.webhook_events.next() {
            if let Err(error) = webhooks.send(pending.event, pending.at, &pending.data).await {
                tracing::debug!(%error, "webhook event could not be stored; retrying");
                gateway.webhook_events.give_back(pending);
                tokio::time::sleep(RETRY).await;
            }
        }
        gateway.webhook_events.arrived().await;
    }
}

/// Reports changes of the configuration from now on, and keys that expire soon.
pub async fn keep_following_changes(gateway: Arc<Gateway>, store: Store, webhooks: Webhooks) {
    let mut reported = gateway.snapshot().revision;
    let mut searched: Option<Duration> = None;
    loop {
        tokio::time::sleep(POLL).await;
        match report_changes(&gateway, &store, &webhooks, reported).await {
            Ok(newest) => reported = newest,
            Err(error) => tracing::debug!(%error, "changes could not be reported; retrying"),
        }
        let now = gateway.clock.tick();
        if searched.is_none_or(|searched| now.saturating_sub(searched) >= SEARCH_INTERVAL) {
            match report_expiring_keys(&gateway, &store, &webhooks).await {
                Ok(()) => searched = Some(now),
                Err(error) => tracing::debug!(%error, "expiring keys could not be reported; retrying"),
            }
        }
    }
}

/// Reports the changes after a revision, oldest first. Returns the newest revision that was reported.
pub async fn report_changes(
    gateway: &Gateway,
    store: &Store,
    webhooks: &Webhooks,
    reported: i64,
) -> Result<i64, StoreError> {
    if gateway.snapshot().revision <= reported {
        return Ok(reported);
    }
    let changes = store.documents().changes_since(reported, PAGE).await?;
    for change in &changes {
        report_change(webhooks, change).await?;
    }
    Ok(changes.last().map_or(reported, |newest| newest.revision))
}

async fn report_change(webhooks: &Webhooks, change: &Change) -> Result<(), StoreError> {
    let Change { revision, at, actor, kind, name, action, tenant, .. } = change;
    let tenant_id = Some(&**tenant).filter(|tenant| *tenant != DEFAULT_TENANT);
    let (revision, at_text) = (*revision, webhooks::time(*at));
    let data = ChangedDocument { revision, kind, name, tenant_id, action, actor, at: at_text };
    webhooks.send_once(&format!("evt_change_{revision}"), WebhookEvent::ConfigChanged, *at, &data).await?;
    if *kind != AuthKey::KIND {
        return Ok(());
    }
    let read = |text: &Option<String>| -> Value {
        text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    let (old, new) = (read(&change.before), read(&change.after));
    let is_revoked = |document: &Value| !document["deactivated_at"].is_null();
    let event = match (old.is_null(), new.is_null()) {
        (true, false) => WebhookEvent::KeyCreated,
        (false, true) if !is_revoked(&old) => WebhookEvent::KeyRevoked,
        (false, false) if is_revoked(&new) && !is_revoked(&old) => WebhookEvent::KeyRevoked,
        _ => return Ok(()),
    };
    let shown = if new.is_null() { &old } else { &new };
    let data = KeyData {
        id: name,
        name: shown["name"].as_str().unwrap_or_default(),
        user_path: shown["user_path"].as_str(),
        expires_at: shown["expires_at"].as_i64().map(|micros| webhooks::time(Timestamp(micros))),
        actor: Some(actor),
    };
    webhooks.send_once(&format!("evt_key_{revision}"), event, *at, &data).await
}

/// Reports active keys that expire within a week, each once for its expiry.
pub async fn report_expiring_keys(
    gateway: &Gateway,
    store: &Store,
    webhooks: &Webhooks,
) -> Result<(), StoreError> {
    if gateway.webhook_events.receiver_of(WebhookEvent::KeyExpiring).is_none() {
        return Ok(());
    }
    let now = gateway.clock.now();
    let end = Timestamp(now.micros().saturating_add(SOON.as_micros() as i64));
    for stored in store.collection::<AuthKey>().all().await? {
        let key = stored.value;
        let Some(expires_at) = key.expires_at.filter(|at| *at <= end && key.active(now)) else { continue };
        let data = KeyData {
            id: &key.id,
            name: &key.name,
            user_path: key.user_path.as_deref(),
            expires_at: Some(webhooks::time(expires_at)),
            actor: None,
        };
        let id = format!("evt_expiring_{}_{}", key.id, expires_at.micros());
        webhooks.send_once(&id, WebhookEvent::KeyExpiring, now, &data).await?;
    }
    Ok(())
}
