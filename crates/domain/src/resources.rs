//! Resources that an admin can change: one file per document type, and the trait they share.

pub mod alias;
pub mod auth_key;
pub mod budget;
pub mod budget_settings;
pub mod combo;
pub mod guardrail;
pub mod model_override;
pub mod model_price;
pub mod pool;
pub mod provider;
pub mod role;
pub mod setting_values;
pub mod tenant;
pub mod user;
pub mod workflow;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::{self, Fault};

/// A type of document: stored by `store`, compiled into the snapshot, served by the admin API.
pub trait Resource: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The name of the type in storage and in change records.
    const KIND: &'static str;
    /// Top-level fields that are encrypted at rest and masked in change records.
    const SECRETS: &'static [&'static str] = &[];

    /// The name, unique within its type.
    fn name(&self) -> &str;

    /// Validates everything that does not depend on other documents.
    fn validate(&self) -> Result<(), Fault>;

    /// Documents that this one refers to, as (kind, name); they cannot be deleted while it exists.
    fn references(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Validates a name that requests may use as their model.
fn selectable_name(name: &str, kind: &str, slashes: bool) -> Result<(), Fault> {
    let fits = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@') || (slashes && c == '/')
    };
    let segments = name.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    if segments && name.len() <= 200 && name.chars().all(fits) {
        return Ok(());
    }
    let slash = if slashes { ", ':', '@' or single '/' between them" } else { ", ':' or '@'" };
    Err(fault::invalid_parameter(
        "name",
        format!(
            "The name of a {kind} has 1 to 200 letters, digits, '-', '_', '.'{slash}: requests send it as their model."
        ),
    ))
}

/// Validates a selector: a text that a request could send as its model.
fn selector_fits(param: &str, selector: &str) -> Result<(), Fault> {
    let segments = selector.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    let printable = selector.chars().all(|c| !c.is_control() && !c.is_whitespace());
    if segments && printable && selector.len() <= 300 {
        return Ok(());
    }
    Err(fault::invalid_parameter(param, "A selector is a name or 'provider/model', without blanks."))
}

/// The pools and providers that a selector may refer to, by its whole text or by its part before the slash. They need
/// not exist: a reference to a missing document has no effect.
fn places_named(selector: &str) -> impl Iterator<Item = (&'static str, String)> {
    let prefix = selector.split_once('/').map(|(prefix, _)| prefix.to_owned());
    let pools = [Some(selector.to_owned()), prefix.clone()].into_iter().flatten();
    let provider = prefix.map(|name| (provider::Provider::KIND, name));
    pools.map(|name| (pool::Pool::KIND, name)).chain(provider)
}

fn weights_fit(weights: &BTreeMap<String, f64>, members: &[String]) -> Result<(), Fault> {
    for (name, weight) in weights {
        if !members.contains(name) {
            return Err(fault::invalid_parameter(
                format!("weights.{name}"),
                format!("'{name}' is not a member."),
            ));
        }
        if !weight.is_finite() || *weight < 0.0 {
            return Err(fault::invalid_parameter(
                format!("weights.{name}"),
                "A weight is a number from 0 on.",
            ));
        }
    }
    if !weights.is_empty() && members.iter().all(|member| weights.get(member) == Some(&0.0)) {
        return Err(fault::invalid_parameter("weights", "At least one weight is above 0."));
    }
    Ok(())
}
