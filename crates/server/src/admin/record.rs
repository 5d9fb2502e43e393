//! Shared parts of admin records: time formats, ETags, paging.

use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::resources::Resource;
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use store::{DEFAULT_TENANT, Stored};
use utoipa::ToSchema;

use crate::App;
use crate::query::{self, Pairs};

/// Formats a time as RFC 3339, UTC, to the millisecond.
pub fn time(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.micros()) {
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => String::new(),
    }
}

pub fn parse_time(param: &str, text: &str) -> Result<Timestamp, Fault> {
    let moment: jiff::Timestamp = text.trim().parse().map_err(|_| {
        fault::invalid_parameter(param, format!("'{param}' must be a UTC time such as 2027-01-31T00:00:00Z."))
    })?;
    Ok(Timestamp(moment.as_microsecond()))
}

pub fn if_match(headers: &HeaderMap) -> Option<&str> {
    // An unreadable header matches no ETag.
    headers.get(IF_MATCH).map(|value| value.to_str().unwrap_or_default())
}

/// Checks `If-Match` against the stored record; a missing record matches nothing.
pub fn expect(headers: &HeaderMap, etag: Option<&str>) -> Result<(), Fault> {
    let Some(wanted) = if_match(headers) else { return Ok(()) };
    let matches = |etag| wanted.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag);
    if etag.is_some_and(matches) { Ok(()) } else { Err(fault::precondition_failed()) }
}

/// The name of a PUT: the path's, which the body may repeat but not change.
pub fn name(param: &str, sent: Option<String>, path: String) -> Result<String, Fault> {
    match sent {
        Some(sent) if sent != path => {
            let message = format!("The {param} in the body is not the {param} in the path.");
            Err(fault::invalid_parameter(param, message))
        }
        _ => Ok(path),
    }
}

/// Read-only members of most views.
pub const ORIGIN: [&str; 5] = ["source", "tenant_id", "overrides", "created_at", "updated_at"];

/// The place in which a document is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResourceSource {
    /// gatehouse.yaml
    File,
    /// The admin API
    Admin,
}

/// The origin of a document.
#[derive(Serialize, ToSchema)]
pub struct ResourceOrigin {
    pub source: ResourceSource,
    /// The tenant that the document belongs to; absent for those of the default tenant, which all tenants see
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The source of the document that this one overrides; deleting this one restores it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<ResourceSource>,
    /// Null for a document of the file
    pub created_at: Option<String>,
    /// Null for a document of the file
    pub updated_at: Option<String>,
}

impl ResourceOrigin {
    pub fn of<T: Resource>(app: &App, stored: &Stored<T>) -> Self {
        let is_stored = stored.revision > 0;
        let overrides = is_stored && app.refresher.is_configured(T::KIND, stored.value.name());
        Self {
            source: if is_stored { ResourceSource::Admin } else { ResourceSource::File },
            tenant_id: Some(stored.tenant.clone()).filter(|tenant| tenant != DEFAULT_TENANT),
            overrides: overrides.then_some(ResourceSource::File),
            created_at: is_stored.then(|| time(stored.created_at)),
            updated_at: is_stored.then(|| time(stored.updated_at)),
        }
    }
}

/// The error for a document of the configuration file that cannot be deleted.
pub fn configured(title: &str, name: &str) -> Fault {
    fault::conflict(format!(
        "The {title} '{name}' is configured in the file and cannot be deleted here. Remove it there, or override it."
    ))
}

/// The error for a document of the default tenant that another tenant cannot delete.
pub fn inherited(title: &str, name: &str, tenant: &str) -> Fault {
    fault::not_found(format!(
        "The tenant '{tenant}' has no {title} '{name}' of its own: it sees that of the default tenant, which can be overridden and not be deleted."
    ))
}

/// The error for a stored document that cannot be read.
pub fn unreadable(title: &str, name: &str) -> Fault {
    fault::conflict(format!("The stored {title} '{name}' cannot be read. Delete it, then create it again."))
}

/// A response with a record and its ETag.
pub fn answer(status: StatusCode, etag: &str, record: impl Serialize) -> Response {
    (status, [(ETAG, etag.to_owned())], Json(record)).into_response()
}

/// Reads `limit` and `offset`; values out of bounds are rejected.
pub fn page(pairs: &Pairs, default: i64, max: i64) -> Result<(i64, i64), Fault> {
    let limit = query::integer(pairs, "limit", 1..=max)?.unwrap_or(default);
    let offset = query::integer(pairs, "offset", 0..=i64::MAX)?.unwrap_or(0);
    Ok((limit, offset))
}

/// The part of a list that a limit and an offset ask for, with the number of all entries in `X-Total-Count`. Only the
/// entries of the part are shown.
pub fn paged<T, V: Serialize>(
    (limit, offset): (i64, i64),
    all: Vec<T>,
    show: impl FnMut(T) -> V,
) -> Response {
    let total = [("x-total-count", all.len().to_string())];
    let part: Vec<V> = all.into_iter().skip(offset as usize).take(limit as usize).map(show).collect();
    (total, Json(part)).into_response()
}
