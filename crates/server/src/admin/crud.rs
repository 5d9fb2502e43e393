//! Shared list, read, create, replace and delete operations of documents; `Served` defines the differences.

use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::Resource;
use domain::resources::workflow::WorkflowActivation;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use store::{StoreError, Stored, Write as Writing};

use super::names::Names;
use super::record;
use crate::body::Patch;
use crate::fault::Problem;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

pub trait Served: Resource {
    type View: Serialize;
    /// Name of the kind in messages.
    const TITLE: &'static str;

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> Self::View;

    /// The document that a PUT asks for: the members that were sent, over the stored ones.
    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault>;

    /// Checks the constraints that depend on other documents.
    fn check(&self, names: &Names) -> Result<(), Fault>;

    /// Checks the constraints that depend on the settings of the gateway.
    fn check_settings(&self, _access: &TenantAccess<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

const MOST: i64 = 10_000;

fn missing<T: Served>(name: &str) -> Fault {
    fault::not_found(format!("There is no {} '{name}'.", T::TITLE))
}

/// Lists the documents by name, all unless a page is requested; the total is in the header `X-Total-Count`.
pub async fn list<T: Served>(access: &TenantAccess<'_>, pairs: &Pairs) -> Result<Response, Problem> {
    let page = record::page(pairs, MOST, MOST)?;
    Ok(record::paged(page, access.effective::<T>().await?, |stored| T::view(stored, access)))
}

pub async fn find<T: Served>(access: &TenantAccess<'_>, name: &str) -> Result<Stored<T>, Problem> {
    match access.find_effective::<T>(name).await {
        Err(StoreError::Corrupt(_)) => Err(record::unreadable(T::TITLE, name).into()),
        stored => Ok(stored?.ok_or_else(|| missing::<T>(name))?),
    }
}

pub async fn read<T: Served>(access: &TenantAccess<'_>, name: &str) -> Result<Response, Problem> {
    let stored = find::<T>(access, name).await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), T::view(stored, access)))
}

pub async fn create<T: Served>(
    access: &TenantAccess<'_>,
    actor: &str,
    value: T,
) -> Result<Response, Problem> {
    value.validate()?;
    let _turn = access.app.naming.lock().await;
    // Looked up as stored: a document that cannot be read still occupies its name.
    let stored = access.documents().find(T::KIND, value.name()).await?;
    if stored.is_some() || access.is_configured(T::KIND, value.name()) {
        let message = format!("The {} '{}' exists already.", T::TITLE, value.name());
        return Err(fault::conflict(message).param("name").into());
    }
    value.check(&Names::load(access).await?)?;
    let stored = access.collection::<T>().put(&value, Writing::Create, actor, None).await?;
    access.app.refresher.refresh().await?;
    Ok(record::answer(StatusCode::CREATED, &stored.etag(), T::view(stored, access)))
}

/// Number of retries of a change that loses a race against another replica.
const ATTEMPTS: usize = 5;

/// Updates or creates a document. One that cannot be read is replaced. The document of a tenant has nothing of the one
/// of the default tenant that it replaces: that may have secrets.
pub async fn replace<T: Served>(
    access: &TenantAccess<'_>,
    actor: &str,
    name: &str,
    headers: &HeaderMap,
    patch: &Patch,
) -> Result<Response, Problem> {
    let _turn = access.app.naming.lock().await;
    for _ in 0..ATTEMPTS {
        let is_configured = access.is_configured(T::KIND, name);
        let is_stored = access.documents().find(T::KIND, name).await?.is_some();
        let known = access.collection::<T>().get_readable(name).await?;
        let known = known.or_else(|| access.configured_document(name).filter(|_| !is_stored));
        let value = T::edited(name, known.as_ref().map(|known| &known.value), patch)?;
        value.validate()?;
        value.check_settings(access)?;
        value.check(&Names::load(access).await?)?;
        let etag = known.as_ref().filter(|_| is_stored).map(Stored::etag);
        // A document of the file has the ETag of a revision that storage never has.
        let of_file = |tag: &&str| is_configured && !is_stored && *tag == "\"0\"";
        let own = record::if_match(headers).filter(|tag| !of_file(tag));
        match access.collection::<T>().put(&value, Writing::Upsert, actor, own.or(etag.as_deref())).await {
            Err(StoreError::PreconditionFailed) if own.is_none() => continue,
            stored => {
                let stored = stored?;
                access.app.refresher.refresh().await?;
                let status = if is_stored || is_configured { StatusCode::OK } else { StatusCode::CREATED };
                return Ok(record::answer(status, &stored.etag(), T::view(stored, access)));
            }
        }
    }
    Err(fault::conflict(format!("The {} '{name}' is being changed by others: try again.", T::TITLE)).into())
}

/// Deletes a document; refused while others refer to it. One that overrides a document of the file restores that.
pub async fn delete<T: Served>(
    access: &TenantAccess<'_>,
    actor: &str,
    name: &str,
    headers: &HeaderMap,
) -> Result<StatusCode, Problem> {
    let _turn = access.app.naming.lock().await;
    let (collection, if_match) = (access.collection::<T>(), record::if_match(headers));
    let is_configured = access.is_configured(T::KIND, name);
    // The name of a tenant's document continues to exist if the file has one for all tenants.
    let deleted = match access.app.refresher.is_configured(T::KIND, name) {
        true => collection.delete_override(name, actor, if_match).await,
        false => collection.delete_any(name, actor, if_match).await,
    };
    match deleted {
        Err(StoreError::NotFound) if is_configured => return Err(record::configured(T::TITLE, name).into()),
        Err(StoreError::NotFound) => return Err(not_own::<T>(access, name).await?.into()),
        deleted => deleted.map_err(|error| not_deleted(name, error))?,
    }
    access.app.refresher.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The error of a deletion of a document that the tenant does not have itself.
async fn not_own<T: Served>(access: &TenantAccess<'_>, name: &str) -> Result<Fault, StoreError> {
    match access.tenant() {
        Some(tenant) if access.find_effective::<T>(name).await?.is_some() => {
            Ok(record::inherited(T::TITLE, name, tenant))
        }
        _ => Ok(missing::<T>(name)),
    }
}

/// The error of a deletion. Documents that refer to this one are listed as `kind/name`. An activation is not a record of
/// this API: its workflow is named by its scope.
pub fn not_deleted(name: &str, error: StoreError) -> Problem {
    let referrers = match error {
        StoreError::Conflict { referrers, .. } if !referrers.is_empty() => referrers,
        error => return error.into(),
    };
    let activation = format!("{}/", WorkflowActivation::KIND);
    let described = referrers.iter().map(|referrer| match referrer.strip_prefix(&activation) {
        Some(scope) => format!("the workflow in force for '{scope}'"),
        None => referrer.clone(),
    });
    let described = described.collect::<Vec<_>>().join(", ");
    fault::conflict(format!("'{name}' is in use by {described}.")).into()
}
