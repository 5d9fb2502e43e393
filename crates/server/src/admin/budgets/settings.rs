//! `/admin/api/v1/budgets/settings`: start times of named periods, and the webhook for crossed thresholds.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::resources::Resource as _;
use domain::resources::budget_settings::{self, BudgetSettings};
use domain::resources::provider::ProviderSource;
use domain::secret::Secret;
use http::{HeaderMap, StatusCode};
use pipeline::services::webhooks;
use serde::{Deserialize, Deserializer, Serialize};
use store::{Collection, DEFAULT_TENANT, Stored, Write as Writing};
use utoipa::ToSchema;

use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Budgets, Read, Write};
use crate::body::Strict;
use crate::fault::Problem;

/// Settings to change; absent fields keep their value. Times are UTC.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct SettingsBody {
    pub daily_reset_hour: Option<u8>,
    pub daily_reset_minute: Option<u8>,
    /// 0 is Sunday.
    pub weekly_reset_weekday: Option<u8>,
    pub weekly_reset_hour: Option<u8>,
    pub weekly_reset_minute: Option<u8>,
    /// 1 to 31; the last day in shorter months.
    pub monthly_reset_day: Option<u8>,
    pub monthly_reset_hour: Option<u8>,
    pub monthly_reset_minute: Option<u8>,
    /// Fractions of the amount, each above 0.
    pub thresholds: Option<Vec<f64>>,
    /// Null disables the webhook.
    #[serde(deserialize_with = "sent")]
    #[schema(value_type = Option<String>)]
    pub webhook_url: Option<Option<String>>,
    /// Signs webhooks; null generates a new one.
    #[serde(deserialize_with = "sent")]
    #[schema(value_type = Option<String>)]
    pub webhook_secret: Option<Option<Secret>>,
    /// Read-only.
    #[serde(rename = "webhook_secret_set")]
    pub _webhook_secret_set: Option<bool>,
    /// Read-only.
    #[serde(rename = "webhook_secret_last4")]
    pub _webhook_secret_last4: Option<String>,
    /// Read-only; a stale value is accepted.
    #[serde(rename = "updated_at")]
    pub _updated_at: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct SettingsView {
    pub daily_reset_hour: u8,
    pub daily_reset_minute: u8,
    /// 0 is Sunday.
    pub weekly_reset_weekday: u8,
    pub weekly_reset_hour: u8,
    pub weekly_reset_minute: u8,
    pub monthly_reset_day: u8,
    pub monthly_reset_hour: u8,
    pub monthly_reset_minute: u8,
    pub thresholds: Vec<f64>,
    pub webhook_url: Option<String>,
    pub webhook_secret_set: bool,
    pub webhook_secret_last4: Option<String>,
    /// Returned only by the request that generated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<String>,
    /// Null until the settings are changed for the first time.
    pub updated_at: Option<String>,
}

/// Distinguishes null from an absent field.
fn sent<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Get the start times of budget periods and the webhook settings.
#[utoipa::path(get, path = "/admin/api/v1/budgets/settings", tag = "budgets", operation_id = "read_settings",
    responses((status = 200, description = "The settings", body = SettingsView), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not in this edition"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Budgets>>,
) -> Result<Response, Problem> {
    let settings =
        app.refresher.find_effective::<BudgetSettings>(DEFAULT_TENANT, budget_settings::NAME).await?;
    let (etag, mut shown) = match &settings {
        Some(settings) => (settings.etag(), view(&settings.value, stored(settings))),
        None => ("\"0\"".to_owned(), view(&BudgetSettings::default(), None)),
    };
    if authorized.principal.is_confined() {
        // Webhook URLs of chat services contain credentials.
        (shown.webhook_url, shown.webhook_secret_last4) = (None, None);
    }
    Ok(record::answer(StatusCode::OK, &etag, shown))
}

/// Change the settings; absent fields keep their value.
#[utoipa::path(put, path = "/admin/api/v1/budgets/settings", tag = "budgets", operation_id = "replace_settings",
    request_body = SettingsBody,
    responses((status = 200, description = "The settings", body = SettingsView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition"),
        (status = 412, description = "Changed in the meantime"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Budgets>>,
    headers: HeaderMap,
    Strict(body): Strict<SettingsBody>,
) -> Result<Response, Problem> {
    authorized.principal.require_no_subtree()?;
    let _turn = app.naming.lock().await;
    let known = effective(&app).await?;
    // The ETag "0" matches when nothing is stored yet.
    let has_stored = known.as_ref().and_then(stored).is_some();
    let if_match = record::if_match(&headers).filter(|tag| has_stored || *tag != "\"0\"");
    let mut settings = body.over(known.map(|known| known.value).unwrap_or_default());
    settings.validate()?;
    if let Some(url) = &settings.webhook_url {
        webhooks::check("webhook_url", url, &app.gateway.egress, app.refresher.trust(ProviderSource::Admin))?;
    }
    let made = (settings.webhook_url.is_some() && settings.webhook_secret.is_none()).then(|| make(&app));
    if let Some(secret) = &made {
        settings.webhook_secret = Some(secret.clone());
    }
    let stored =
        collection(&app).put(&settings, Writing::Upsert, authorized.principal.actor(), if_match).await?;
    app.refresher.refresh().await?;
    let shown = SettingsView {
        webhook_secret: made.map(|secret| secret.reveal().to_owned()),
        ..view(&stored.value, Some(&stored))
    };
    Ok(record::answer(StatusCode::OK, &stored.etag(), shown))
}

/// The settings in force: the stored ones, else those of the configuration file, else the defaults.
pub(super) async fn current(app: &App) -> Result<BudgetSettings, Problem> {
    Ok(effective(app).await?.map(|settings| settings.value).unwrap_or_default())
}

/// The stored settings, else those of the configuration file; unreadable ones count as none, so that they can be
/// replaced.
async fn effective(app: &App) -> Result<Option<Stored<BudgetSettings>>, Problem> {
    let stored = collection(app).get_readable(budget_settings::NAME).await?;
    Ok(stored.or_else(|| app.refresher.configured_document(budget_settings::NAME)))
}

/// The settings if they are in storage; those of the configuration file have the revision 0.
fn stored(settings: &Stored<BudgetSettings>) -> Option<&Stored<BudgetSettings>> {
    (settings.revision > 0).then_some(settings)
}

fn collection(app: &App) -> Collection<BudgetSettings> {
    app.refresher.store().collection()
}

fn make(app: &App) -> Secret {
    let mut random = [0u8; 32];
    app.gateway.entropy.fill(&mut random);
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Secret::new(format!("whsec_{hex}"))
}

impl SettingsBody {
    pub(in crate::admin) fn over(self, known: BudgetSettings) -> BudgetSettings {
        let url = self.webhook_url.map(|url| url.filter(|url| !url.trim().is_empty()));
        BudgetSettings {
            daily_reset_hour: self.daily_reset_hour.unwrap_or(known.daily_reset_hour),
            daily_reset_minute: self.daily_reset_minute.unwrap_or(known.daily_reset_minute),
            weekly_reset_weekday: self.weekly_reset_weekday.unwrap_or(known.weekly_reset_weekday),
            weekly_reset_hour: self.weekly_reset_hour.unwrap_or(known.weekly_reset_hour),
            weekly_reset_minute: self.weekly_reset_minute.unwrap_or(known.weekly_reset_minute),
            monthly_reset_day: self.monthly_reset_day.unwrap_or(known.monthly_reset_day),
            monthly_reset_hour: self.monthly_reset_hour.unwrap_or(known.monthly_reset_hour),
            monthly_reset_minute: self.monthly_reset_minute.unwrap_or(known.monthly_reset_minute),
            thresholds: self.thresholds.unwrap_or(known.thresholds),
            webhook_url: url.unwrap_or(known.webhook_url),
            webhook_secret: self.webhook_secret.unwrap_or(known.webhook_secret),
        }
    }
}

fn view(settings: &BudgetSettings, stored: Option<&Stored<BudgetSettings>>) -> SettingsView {
    SettingsView {
        daily_reset_hour: settings.daily_reset_hour,
        daily_reset_minute: settings.daily_reset_minute,
        weekly_reset_weekday: settings.weekly_reset_weekday,
        weekly_reset_hour: settings.weekly_reset_hour,
        weekly_reset_minute: settings.weekly_reset_minute,
        monthly_reset_day: settings.monthly_reset_day,
        monthly_reset_hour: settings.monthly_reset_hour,
        monthly_reset_minute: settings.monthly_reset_minute,
        thresholds: settings.thresholds.clone(),
        webhook_url: settings.webhook_url.clone(),
        webhook_secret_set: settings.webhook_secret.is_some(),
        webhook_secret_last4: settings.webhook_secret.as_ref().and_then(Secret::last4).map(str::to_owned),
        webhook_secret: None,
        updated_at: stored.map(|stored| record::time(stored.updated_at)),
    }
}
