//! `/admin/api/v1/settings`: the settings of the process, and those that were changed through the admin API.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::setting_values::{self, SettingValues};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};
use store::{StoreError, Stored, Write as Writing};
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Read, Settings, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::nearest;
use crate::runtime_settings::{SettingFault, SettingState};

#[derive(Serialize, ToSchema)]
pub struct SettingList {
    /// In the order of docs/settings.md
    pub settings: Vec<SettingState>,
    /// Names of the settings whose value waits for a restart
    #[schema(value_type = Vec<String>)]
    pub restart_required: Vec<&'static str>,
}

/// Number of retries of a change that loses a race against another replica.
const ATTEMPTS: usize = 5;
/// The ETag of the settings before the first change.
const NO_CHANGES: &str = "\"0\"";

/// List all settings with their values, defaults and sources.
#[utoipa::path(get, path = "/admin/api/v1/settings", tag = "settings", operation_id = "list_settings",
    responses((status = 200, description = "The settings", body = SettingList), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:settings:read"])))]
pub async fn list(State(app): State<Arc<App>>, _: Authorized<Read<Settings>>) -> Result<Response, Problem> {
    let stored = stored(&app).await?;
    Ok(answer(&app, stored.as_ref()))
}

/// Change settings. Members are names of settings, e.g. `log.level`; null removes the stored value. Settings that can
/// change without a restart are applied at once.
#[utoipa::path(patch, path = "/admin/api/v1/settings", tag = "settings", operation_id = "change_settings",
    request_body(content = Object, example = json!({"log.level": "debug", "cache.ttl": null})),
    responses((status = 200, description = "All settings", body = SettingList),
        (status = 400, description = "An unknown name or an invalid value"), (status = 401, description = "Unauthorized"),
        (status = 409, description = "The environment sets this setting, or it cannot be changed here"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:settings:write"])))]
pub async fn change(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Settings>>,
    headers: HeaderMap,
    Strict(members): Strict<Map<String, Value>>,
) -> Result<Response, Problem> {
    let known = app.settings.list();
    let mut edits =
        members.iter().map(|(name, value)| edit(&known, name, value)).collect::<Result<Vec<_>, _>>()?;
    // Addresses first: a credential that is sent along belongs to the new one.
    edits.sort_by_key(|(setting, _)| credential_of(setting.name).is_none());
    let _turn = app.naming.lock().await;
    for _ in 0..ATTEMPTS {
        let before = stored(&app).await?;
        record::expect(&headers, Some(&etag(before.as_ref())))?;
        let known_values = before.as_ref().map(|stored| stored.value.clone()).unwrap_or_default();
        let values = edited(&known_values, &edits);
        if values == known_values {
            return Ok(answer(&app, before.as_ref()));
        }
        app.settings.check(&values).map_err(refused)?;
        match put(&app, authorized.principal.actor(), &values, before.as_ref()).await {
            Err(StoreError::PreconditionFailed | StoreError::Conflict { .. })
                if record::if_match(&headers).is_none() => {}
            written => {
                let written = written?;
                app.refresher.refresh().await?;
                apply(&app).await?;
                return Ok(answer(&app, Some(&written)));
            }
        }
    }
    Err(fault::conflict("The settings are being changed by others: try again.").into())
}

/// The values after the edits.
fn edited(known: &SettingValues, edits: &[(&SettingState, Option<String>)]) -> SettingValues {
    let mut values = known.clone();
    for (setting, value) in edits {
        if value.as_deref() != known.get(setting.name) {
            forget_credential(&mut values, setting.name);
        }
        values.set(setting.name, setting.secret, value.clone());
    }
    values
}

/// The setting whose value is sent as a credential to the address in another one.
pub(super) fn credential_of(address: &str) -> Option<&'static str> {
    (address == "telemetry.otlp_endpoint").then_some("telemetry.otlp_headers")
}

/// Removes the credential of an address that changes, so that it is never sent to another one.
fn forget_credential(values: &mut SettingValues, address: &str) {
    if let Some(credential) = credential_of(address) {
        values.set(credential, true, None);
    }
}

/// The stored values; unreadable ones count as none, so that they can be replaced.
pub(super) async fn stored(app: &App) -> Result<Option<Stored<SettingValues>>, StoreError> {
    app.refresher.store().collection::<SettingValues>().get_readable(setting_values::NAME).await
}

/// Writes the values in place of those that were read. Fails if another replica wrote meanwhile.
async fn put(
    app: &App,
    actor: &str,
    values: &SettingValues,
    before: Option<&Stored<SettingValues>>,
) -> Result<Stored<SettingValues>, StoreError> {
    let store = app.refresher.store();
    let found = store.documents().find(SettingValues::KIND, setting_values::NAME).await?;
    let (writing, etag) = match (before, found) {
        (None, None) => (Writing::Create, None),
        (Some(before), _) => (Writing::Upsert, Some(before.etag())),
        // Another replica has stored the first values meanwhile.
        (None, Some(_)) if stored(app).await?.is_some() => return Err(StoreError::PreconditionFailed),
        // Values that cannot be read are replaced, unless others replace them first.
        (None, Some(unreadable)) => (Writing::Upsert, Some(format!("\"{}\"", unreadable.revision))),
    };
    store.collection::<SettingValues>().put(values, writing, actor, etag.as_deref()).await
}

/// Applies the stored values. They are stored at this point, and were checked before.
pub(super) async fn apply(app: &App) -> Result<(), Fault> {
    app.settings.reload().await.map_err(|reason| {
        tracing::error!(%reason, "settings stored but not applied");
        fault::feature_unavailable(format!("The settings are stored and could not be applied: {reason}."))
    })
}

fn etag(stored: Option<&Stored<SettingValues>>) -> String {
    stored.map_or_else(|| NO_CHANGES.to_owned(), Stored::etag)
}

fn answer(app: &App, stored: Option<&Stored<SettingValues>>) -> Response {
    let settings = app.settings.list();
    let pending = settings.iter().filter(|setting| setting.restart_pending).map(|setting| setting.name);
    let list = SettingList { restart_required: pending.collect(), settings };
    record::answer(StatusCode::OK, &etag(stored), list)
}

/// The setting that a member names, and its new value.
pub(super) fn edit<'a>(
    known: &'a [SettingState],
    name: &str,
    value: &Value,
) -> Result<(&'a SettingState, Option<String>), Fault> {
    let Some(setting) = known.iter().find(|setting| setting.name == name) else {
        let by_variable = known.iter().find(|setting| setting.env == name).map(|setting| setting.name);
        let names = known.iter().map(|setting| setting.name);
        return Err(fault::unknown_parameter(name, by_variable.or_else(|| nearest::nearest(name, names))));
    };
    if let Some(reason) = setting.locked_reason.as_ref().filter(|_| setting.locked) {
        return Err(fault::conflict(format!("'{name}' cannot be changed here: {reason}.")).param(name));
    }
    let value = match value {
        Value::Null => None,
        value => Some(text(value).ok_or_else(|| {
            fault::invalid_parameter(
                name,
                format!("'{name}' is {}: send text, a number, true, false, or a list.", setting.kind),
            )
        })?),
    };
    Ok((setting, value))
}

/// The text of a value as it is written in YAML; the items of a list are joined by commas.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items.map(|items| items.join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}

pub(super) fn refused(fault: SettingFault) -> Fault {
    match fault.name {
        Some(name) => fault::invalid_parameter(name, format!("{}.", fault.message)),
        None => Fault { param: None, ..fault::invalid_parameter("", format!("{}.", fault.message)) },
    }
}
