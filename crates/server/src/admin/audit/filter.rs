//! Filter, sort order and cursor of audit log queries.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::user_path::UserPath;
use http::HeaderMap;
use store::{AuditCursor, AuditFilter, AuditSort};

use crate::authorized::{Audit, Authorized, Read};
use crate::query::{self, Pairs};

/// Maximum length of a search text, in bytes.
const LONGEST_SEARCH: usize = 200;

/// The filter of a period.
pub fn filter(
    pairs: &Pairs,
    headers: &HeaderMap,
    authorized: &Authorized<Read<Audit>>,
    now: Timestamp,
) -> Result<AuditFilter, Fault> {
    let zone = query::time_zone(pairs, headers)?;
    let (from, until) = query::period(pairs, &zone, now)?;
    Ok(AuditFilter { from, until, ..conditions(pairs, authorized)? })
}

/// The filter of the live stream: without a period, and without the caller's own limits, which are checked for each
/// entry because they may change while the caller reads.
pub fn of_stream(pairs: &Pairs, authorized: &Authorized<Read<Audit>>) -> Result<AuditFilter, Fault> {
    let filter = conditions(pairs, authorized)?;
    let user_path = filter.user_path.filter(|_| query::text(pairs, "user_path").is_some());
    let tenant_id = authorized.tenant.as_ref().map(|tenant| tenant.to_string());
    Ok(AuditFilter { user_path, tenant_id, ..filter })
}

/// The entries of all times that a caller may see.
pub fn visible_to(principal: &Principal) -> AuditFilter {
    AuditFilter {
        user_path: principal.subtree().map(UserPath::as_str).map(str::to_owned),
        tenant_id: principal.tenant().map(|tenant| tenant.to_string()),
        ..AuditFilter::between(Timestamp(0), Timestamp(i64::MAX))
    }
}

fn conditions(pairs: &Pairs, authorized: &Authorized<Read<Audit>>) -> Result<AuditFilter, Fault> {
    let owned = |name: &str| query::text(pairs, name).map(str::to_owned);
    let status = query::integer(pairs, "status_code", 100..=599)?;
    let outcomes = [("error", Some(true)), ("ok", Some(false))];
    let search = owned("search");
    if search.as_ref().is_some_and(|search| search.len() > LONGEST_SEARCH) {
        let message = format!("'search' must be no longer than {LONGEST_SEARCH} bytes.");
        return Err(fault::invalid_parameter("search", message));
    }
    Ok(AuditFilter {
        user_path: query::visible_path(pairs, &authorized.principal)?,
        requested_model: owned("requested_model"),
        provider: owned("provider"),
        method: owned("method").map(|method| method.to_ascii_uppercase()),
        path: owned("path"),
        error_type: owned("error_type"),
        status: status.and_then(|status| u16::try_from(status).ok()),
        failed: query::choice(pairs, "status", &outcomes, None)?,
        stream: query::boolean(pairs, "stream")?,
        auth_key_id: owned("auth_key_id"),
        tenant_id: authorized.reported_tenant().map(|tenant| tenant.to_string()),
        session_id: owned("session_id"),
        search,
        ..visible_to(&authorized.principal)
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
