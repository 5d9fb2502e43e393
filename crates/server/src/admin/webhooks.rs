//! `/admin/api/v1/webhooks`: messages and their delivery, test messages, repeated delivery.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::fault;
use http::StatusCode;
use serde::Serialize;
use store::OutboxEntry;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Read, Webhooks, Write};
use crate::body::{EmptyBody, OptionalBody};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct WebhookDelivery {
    pub id: String,
    pub event: String,
    pub created_at: String,
    /// pending, delivered or failed
    pub status: &'static str,
    pub attempts: u32,
    /// Only while it is pending
    pub next_attempt_at: Option<String>,
    pub delivered_at: Option<String>,
    pub failed_at: Option<String>,
    /// The reason of the last failed attempt; never contains the URL
    pub last_error: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct WebhookDeliveryList {
    pub entries: Vec<WebhookDelivery>,
    /// Value of `before` for the next page; absent on the last page
    pub next: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct WebhookTest {
    /// The id of the message, as in its header X-Gatehouse-Delivery
    pub id: String,
    pub ok: bool,
    pub error: Option<String>,
    pub duration_ms: u64,
}

/// List the messages of webhooks, newest first, with the state of their delivery.
#[utoipa::path(get, path = "/admin/api/v1/webhooks/deliveries", tag = "webhooks", operation_id = "list_deliveries",
    params(("limit" = Option<i64>, Query, description = "1 to 200, default 50"),
        ("before" = Option<String>, Query, description = "Only messages before the one with this id")),
    responses((status = 200, description = "The messages", body = WebhookDeliveryList),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:webhooks:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Webhooks>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<WebhookDeliveryList>, Problem> {
    let limit = query::integer(&pairs, "limit", 1..=200)?.unwrap_or(50);
    let entries = app.refresher.store().outbox().list(query::text(&pairs, "before"), limit).await?;
    let is_full = entries.len() as i64 == limit;
    let next = entries.last().filter(|_| is_full).map(|entry| entry.id.clone());
    Ok(Json(WebhookDeliveryList { entries: entries.into_iter().map(view).collect(), next }))
}

/// Send a test message to the configured webhook and wait for its answer. It is sent once and not stored.
#[utoipa::path(post, path = "/admin/api/v1/webhooks/test", tag = "webhooks", operation_id = "test_webhook",
    responses((status = 200, description = "The result", body = WebhookTest), (status = 401, description = "Unauthorized"),
        (status = 409, description = "No webhook is configured")),
    security(("bearer" = ["admin:webhooks:write"])))]
pub async fn test(
    State(app): State<Arc<App>>,
    _: Authorized<Write<Webhooks>>,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Json<WebhookTest>, Problem> {
    let Some(result) = app.refresher.webhooks().test().await? else {
        let message = "No webhook is configured: set WEBHOOKS_URL and WEBHOOKS_SECRET, or webhook_url in the budget settings.";
        return Err(fault::conflict(message).into());
    };
    Ok(Json(WebhookTest {
        id: result.id,
        ok: result.error.is_none(),
        error: result.error,
        duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
    }))
}

/// Deliver a message again that was delivered or given up.
#[utoipa::path(post, path = "/admin/api/v1/webhooks/deliveries/{id}/replay", tag = "webhooks", operation_id = "replay_delivery",
    params(("id" = String, Path, description = "The message")),
    responses((status = 202, description = "It is due again", body = WebhookDelivery), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such message"), (status = 409, description = "It is still being delivered")),
    security(("bearer" = ["admin:webhooks:write"])))]
pub async fn replay(
    State(app): State<Arc<App>>,
    _: Authorized<Write<Webhooks>>,
    Named(id): Named,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<(StatusCode, Json<WebhookDelivery>), Problem> {
    let is_due = app.refresher.webhooks().replay(&id).await?;
    let Some(entry) = app.refresher.store().outbox().find(&id).await? else {
        return Err(fault::not_found(format!("There is no webhook message '{id}'.")).into());
    };
    match is_due {
        true => Ok((StatusCode::ACCEPTED, Json(view(entry)))),
        false => {
            let message = format!("The webhook message '{id}' is still being delivered.");
            Err(fault::conflict(message).into())
        }
    }
}

fn view(entry: OutboxEntry) -> WebhookDelivery {
    let status = match (entry.delivered_at, entry.failed_at) {
        (Some(_), _) => "delivered",
        (None, Some(_)) => "failed",
        (None, None) => "pending",
    };
    WebhookDelivery {
        id: entry.id,
        event: entry.event,
        created_at: record::time(entry.created_at),
        status,
        attempts: entry.attempts,
        next_attempt_at: (status == "pending").then(|| record::time(entry.next_at)),
        delivered_at: entry.delivered_at.map(record::time),
        failed_at: entry.failed_at.map(record::time),
        last_error: entry.last_error,
    }
}
