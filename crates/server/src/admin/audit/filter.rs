//! Filter, sort order and cursor of audit log queries.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use http::HeaderMap;
use store::{AuditCursor, AuditFilter, AuditSort};

use crate::authorized::{Audit, Authorized, Read};
use crate::query::{self, Pairs};

/// Maximum length of a search text, in bytes.
const LONGEST_SEARCH: usize = 200;

pub fn filter(
    pairs: &Pairs,
    headers: &HeaderMap,
    authorized: &Authorized<Read<Audit>>,
    now: Timestamp,
) -> Result<AuditFilter, Fault> {
    let zone = query::time_zone(pairs, headers)?;
    let (from, until) = query::period(pairs, &zone, now)?;
    let owned = |name: &str| query::text(pairs, name).map(str::to_owned);
    let status = query::integer(pairs, "status_code", 100..=599)?;
    let search = owned("search");
    if search.as_ref().is_some_and(|search| search.len() > LONGEST_SEARCH) {
        let message = format!("'search' must be no longer than {LONGEST_SEARCH} bytes.");
        return Err(fault::invalid_parameter("search", message));
    }
    Ok(AuditFilter {
        from,
        until,
        user_path: query::visible_path(pairs, &authorized.principal)?,
        requested_model: owned("requested_model"),
        provider: owned("provider"),
        method: owned("method").map(|method| method.to_ascii_uppercase()),
        path: owned("path"),
        error_type: owned("error_type"),
        status: status.and_then(|status| u16::try_from(status).ok()),
        stream: query::boolean(pairs, "stream")?,
        auth_key_id: owned("auth_key_id"),
        tenant_id: authorized.reported_tenant().map(|tenant| tenant.to_string()),
        session_id: owned("session_id"),
        search,
    })
}

pub fn sort(pairs: &Pairs) -> Result<AuditSort, Fault> {
    Ok(match query::text(pairs, "sort") {
        None | Some("-timestamp") => AuditSort::Newest,
        Some("timestamp") => AuditSort::Oldest,
        Some("-duration") => AuditSort::Slowest,
        Some("duration") => AuditSort::Fastest,
        Some(_) => {
            let message = "'sort' is timestamp, -timestamp, duration or -duration.";
            return Err(fault::invalid_parameter("sort", message));
        }
    })
}

/// Parses a cursor from the `next` field of the previous page.
pub fn cursor(pairs: &Pairs, sort: AuditSort) -> Result<Option<AuditCursor>, Fault> {
    let Some(text) = query::text(pairs, "cursor") else { return Ok(None) };
    if !matches!(sort, AuditSort::Newest | AuditSort::Oldest) {
        return Err(fault::invalid_parameter("cursor", "'cursor' goes with a sort by timestamp alone."));
    }
    let parsed = text.split_once('_').and_then(|(at, id)| Some((at.parse().ok()?, id)));
    let (at, id) =
        parsed.ok_or_else(|| fault::invalid_parameter("cursor", "'cursor' must be what 'next' said."))?;
    Ok(Some(AuditCursor { at: Timestamp(at), id: id.to_owned() }))
}

pub fn show_cursor(cursor: &AuditCursor) -> String {
    format!("{}_{}", cursor.at.micros(), cursor.id)
}
