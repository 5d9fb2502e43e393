//! One document of the configuration, between its form in files and its form in storage.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::period::Period;
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::{self, Budget, BudgetKey};
use domain::resources::budget_settings::BudgetSettings;
use domain::resources::combo::Combo;
use domain::resources::guardrail::{Guardrail, GuardrailConfig};
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use domain::resources::setting_values::SettingValues;
use domain::resources::tenant::{Tenant, TenantStatus};
use domain::resources::workflow::{Workflow, WorkflowPayload, WorkflowScope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::key_document::KeyDocument;
use super::kind::ConfigKind;
use crate::admin::budgets::AmountBody;
use crate::admin::budgets::settings::SettingsBody;
use crate::admin::crud::Served;
use crate::admin::providers::ProviderBody;
use crate::body::{self, Patch};

pub type Members = Map<String, Value>;

/// A document. It has passed the checks that need no other document.
#[derive(Clone, Debug)]
pub enum ConfigDocument {
    Settings(SettingValues),
    Tenant(Tenant),
    Provider(Box<Provider>),
    Pool(Pool),
    Combo(Combo),
    Alias(Alias),
    ModelOverride(ModelOverride),
    ModelPrice(Box<ModelPrice>),
    Guardrail(Box<Guardrail>),
    /// The version in force for a scope; its id and number are not part of the configuration.
    Workflow(Box<Workflow>),
    BudgetSettings(Box<BudgetSettings>),
    Budget(Box<Budget>),
    AuthKey(Box<AuthKey>),
}

/// The workflow of a scope. The key of the scope is the name of the document, e.g. `global` or `path=/team`.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowDocument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub workflow_payload: WorkflowPayload,
}

/// A tenant. Its own documents stand beside these members, in `documents`, by section and name.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantDocument {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    #[schema(value_type = String, example = "active")]
    pub status: TenantStatus,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Members,
}

impl ConfigDocument {
    /// Reads the members of a document as they are in a file. They are the whole document: absent members have their
    /// defaults, but for secrets, which are kept from the known document. Settings are read elsewhere, because their
    /// table is not known here.
    pub fn read(
        kind: ConfigKind,
        name: &str,
        members: Members,
        known: Option<&Self>,
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let patch = &Patch::from(members.clone());
        Ok(match kind {
            ConfigKind::Settings => return Err(fault::internal_error()),
            ConfigKind::Tenant => Self::Tenant(tenant(name, members)?),
            ConfigKind::Provider => Self::Provider(Box::new(provider(name, patch, known)?)),
            ConfigKind::Pool => Self::Pool(served(name, patch)?),
            ConfigKind::Combo => Self::Combo(served(name, patch)?),
            ConfigKind::Alias => Self::Alias(served(name, patch)?),
            ConfigKind::ModelOverride => Self::ModelOverride(served(name, patch)?),
            ConfigKind::ModelPrice => Self::ModelPrice(Box::new(served(name, patch)?)),
            ConfigKind::Guardrail => Self::Guardrail(Box::new(guardrail(name, patch, known)?)),
            ConfigKind::Workflow => Self::Workflow(Box::new(workflow(name, members)?)),
            ConfigKind::BudgetSettings => Self::BudgetSettings(Box::new(budget_settings(members, known)?)),
            ConfigKind::Budget => Self::Budget(Box::new(read_budget(name, members, known)?)),
            ConfigKind::AuthKey => Self::AuthKey(Box::new(auth_key(name, members, known, now)?)),
        })
    }

    /// The members as they are written in files, secrets included.
    pub fn members(&self, now: Timestamp) -> Members {
        match self {
            Self::Settings(values) => setting_members(values),
            Self::Tenant(tenant) => members_of(tenant, &["id"]),
            Self::Provider(provider) => members_of(&**provider, &["name"]),
            Self::Pool(pool) => members_of(pool, &["name"]),
            Self::Combo(combo) => members_of(combo, &["name"]),
            Self::Alias(alias) => members_of(alias, &["name"]),
            Self::ModelOverride(document) => members_of(document, &["selector"]),
            Self::ModelPrice(price) => members_of(&**price, &["selector"]),
            Self::Guardrail(guardrail) => guardrail_members(guardrail),
            Self::Workflow(workflow) => {
                let document = WorkflowDocument {
                    name: workflow.name.clone(),
                    description: workflow.description.clone(),
                    workflow_payload: workflow.workflow_payload.clone(),
                };
                members_of(&document, &[])
            }
            Self::BudgetSettings(settings) => members_of(&**settings, &[]),
            Self::Budget(budget) => budget_members(budget),
            Self::AuthKey(key) => members_of(&KeyDocument::of(key, now), &[]),
        }
    }
}

/// The members of a value that are written; those without a value are left out.
fn members_of(value: &impl Serialize, left_out: &[&str]) -> Members {
    let Ok(Value::Object(mut members)) = serde_json::to_value(value) else { return Map::new() };
    members.retain(|name, value| !left_out.contains(&name.as_str()) && !value.is_null());
    members
}

fn setting_members(values: &SettingValues) -> Members {
    let mut names: Vec<&str> = values.names().collect();
    names.sort_unstable();
    let value = |name: &&str| ((*name).to_owned(), Value::from(values.get(name).unwrap_or_default()));
    names.iter().map(value).collect()
}

fn guardrail_members(guardrail: &Guardrail) -> Members {
    let mut members = members_of(guardrail, &["name"]);
    if let Some(headers) = members.remove("headers")
        && let Some(Value::Object(config)) = members.get_mut("config")
    {
        config.insert("headers".to_owned(), headers);
    }
    members
}

fn budget_members(budget: &Budget) -> Members {
    let amount = budget.amount.unwrap_or_default();
    members_of(&AmountBody::from_parts(amount, &budget.policy), &[])
}

fn served<T: Served>(name: &str, patch: &Patch) -> Result<T, Fault> {
    let value = T::edited(name, None, patch)?;
    value.validate()?;
    Ok(value)
}

fn provider(name: &str, patch: &Patch, known: Option<&ConfigDocument>) -> Result<Provider, Fault> {
    let known = match known {
        Some(ConfigDocument::Provider(known)) => Some(&**known),
        _ => None,
    };
    let mut body = ProviderBody::over(None, patch)?;
    // Headers may be credentials, which are kept for the same address only.
    if let Some(known) = known.filter(|known| patch.sent("headers").is_none() && !body.is_moved(known)) {
        body.headers = known.headers.clone();
    }
    body.name = Some(crate::admin::record::name("name", body.name.take(), name.to_owned())?);
    body.provider(known)
}

fn guardrail(name: &str, patch: &Patch, known: Option<&ConfigDocument>) -> Result<Guardrail, Fault> {
    let mut guardrail: Guardrail = served(name, patch)?;
    let sent = patch.sent("config").and_then(|config| config.get("headers"));
    if let (GuardrailConfig::Webhook(webhook), Some(ConfigDocument::Guardrail(known)), None) =
        (&guardrail.config, known, sent)
        && matches!(&known.config, GuardrailConfig::Webhook(old) if old.url == webhook.url)
    {
        guardrail.headers = known.headers.clone();
    }
    Ok(guardrail)
}

fn tenant(id: &str, members: Members) -> Result<Tenant, Fault> {
    let TenantDocument { name, status, metadata } = body::read(Value::Object(members))?;
    let tenant = Tenant { id: id.to_owned(), name, status, metadata };
    tenant.validate()?;
    Ok(tenant)
}

fn workflow(scope: &str, members: Members) -> Result<Workflow, Fault> {
    let Some(parsed) = WorkflowScope::from_key(scope).filter(|parsed| parsed.key() == scope) else {
        let message = format!(
            "'{scope}' is not the key of a scope, such as 'global', 'path=/team' or 'provider=openai model=gpt-4o'."
        );
        return Err(fault::invalid_parameter("name", message));
    };
    let document: WorkflowDocument = body::read(Value::Object(members))?;
    let workflow = Workflow {
        id: format!("planned {scope}"),
        scope: parsed.normalized()?,
        version: 0,
        name: document.name,
        description: document.description,
        workflow_payload: document.workflow_payload,
        created_by: String::new(),
    };
    workflow.validate()?;
    Ok(workflow)
}

fn budget_settings(members: Members, known: Option<&ConfigDocument>) -> Result<BudgetSettings, Fault> {
    let body: SettingsBody = body::read(Value::Object(members))?;
    let mut settings = BudgetSettings::default();
    if let Some(ConfigDocument::BudgetSettings(known)) = known {
        settings.webhook_secret = known.webhook_secret.clone();
    }
    let settings = body.over(settings);
    settings.validate()?;
    if settings.webhook_url.is_some() && settings.webhook_secret.is_none() {
        let message = "A webhook needs a 'webhook_secret' in the files: 16 to 200 characters.";
        return Err(fault::invalid_parameter("webhook_secret", message));
    }
    Ok(settings)
}

/// The identity of a budget from its name in files: `/team/a|daily`, or `tenant|/team/a|daily`.
fn budget_key(name: &str) -> Option<BudgetKey> {
    let (scope, period) = name.rsplit_once('|')?;
    let period = Period::parse(period).ok()?;
    BudgetKey::parse(&format!("{scope}|{}", period.seconds()))
}

/// The name under which a document is known, of the names that mean the same.
pub fn normal_name(kind: ConfigKind, name: &str) -> String {
    match kind {
        ConfigKind::Budget => budget_key(name).map_or_else(|| name.to_owned(), |key| budget_name(&key)),
        _ => name.to_owned(),
    }
}

/// The name of a budget in files.
pub fn budget_name(key: &BudgetKey) -> String {
    let name = key.name();
    let label = key.period.label();
    match name.rsplit_once('|') {
        Some((scope, _)) if !label.ends_with('s') => format!("{scope}|{label}"),
        _ => name,
    }
}

fn read_budget(name: &str, members: Members, known: Option<&ConfigDocument>) -> Result<Budget, Fault> {
    let Some(key) = budget_key(name) else {
        let message = format!("'{name}' is not the name of a budget, such as '/team/a|daily' or '/|3600'.");
        return Err(fault::invalid_parameter("name", message));
    };
    let body: AmountBody = body::read(Value::Object(members))?;
    let last_reset_at = match known {
        Some(ConfigDocument::Budget(known)) => known.last_reset_at,
        _ => None,
    };
    let amount = budget::amount("amount", body.amount)?;
    let budget = Budget::new(key, Some(amount), last_reset_at).with_policy(body.policy()?);
    budget.validate()?;
    Ok(budget)
}

fn auth_key(
    id: &str,
    members: Members,
    known: Option<&ConfigDocument>,
    now: Timestamp,
) -> Result<AuthKey, Fault> {
    let known = match known {
        Some(ConfigDocument::AuthKey(known)) => Some(&**known),
        _ => None,
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.is_empty() || id.len() > 100 || !id.chars().all(fits) {
        let message = "The id of a key has 1 to 100 letters, digits, '-', '_' or '.'.";
        return Err(fault::invalid_parameter("name", message));
    }
    let key = body::read::<KeyDocument>(Value::Object(members))?.key(id, known, now)?;
    key.validate()?;
    Ok(key)
}
