//! Audited calls as requests to be explained again.

use bytes::Bytes;
use domain::principal::Principal;
use domain::receipt::Audited;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pipeline::explain::ExplanationRequest;
use pipeline::services::audit::is_sensitive;
use pipeline::snapshot::Snapshot;
use store::AuditEntry;

use crate::App;
use crate::admin::explain::explained_request::{self, ExplainedRequest};
use crate::admin::explain::request_id;
use crate::inference::call;
use crate::request_context::RequestContext;

/// The reason why a call cannot be judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReplayable {
    /// The request body is not in the audit log.
    BodyMissing,
    BodyTruncated,
    /// The request body was not valid text.
    BodyLossy,
    EndpointNotExplained,
    /// The caller had no valid key.
    CallerUnknown,
    KeyDeleted,
    /// The request continues a stored response that the asking caller may not read.
    ConversationNotVisible,
}

impl NotReplayable {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BodyMissing => "body_missing",
            Self::BodyTruncated => "body_truncated",
            Self::BodyLossy => "body_lossy",
            Self::EndpointNotExplained => "endpoint_not_explained",
            Self::CallerUnknown => "caller_unknown",
            Self::KeyDeleted => "key_deleted",
            Self::ConversationNotVisible => "conversation_not_visible",
        }
    }
}

/// Headers about the body as it was sent, which the stored text no longer is.
const OF_BODY: [HeaderName; 3] = [CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING];

/// The request of an audited call: the same body, headers, caller and request id, which decides random choices.
pub fn question(
    app: &App,
    context: &RequestContext,
    asker: &Principal,
    snapshot: &Snapshot,
    entry: &AuditEntry,
) -> Result<ExplanationRequest, NotReplayable> {
    let principal = caller(snapshot, entry)?;
    let audited = entry.audit.as_deref().ok_or(NotReplayable::BodyMissing)?;
    let ExplainedRequest { endpoint, addressed, mut parts } = request(app, entry, audited)?;
    let body = body(audited)?;
    parts.headers = headers(entry, audited);
    let sent = HeaderValue::from_str(&entry.request_id).ok();
    let request_id = request_id(app, sent.as_ref());
    let context = RequestContext { request_id, slot: None, ..context.clone() };
    let mut arrival = call::arrival(app, context, parts, endpoint);
    arrival.addressed = addressed;
    Ok(ExplanationRequest { arrival, body, principal, asker: asker.clone(), is_replay: true })
}

fn caller(snapshot: &Snapshot, entry: &AuditEntry) -> Result<Principal, NotReplayable> {
    match &entry.auth_key_id {
        _ if entry.auth_method.is_empty() => Err(NotReplayable::CallerUnknown),
        Some(id) => snapshot.keys.by_id(id).cloned().map(Principal::Key).ok_or(NotReplayable::KeyDeleted),
        None => Ok(Principal::Master),
    }
}

fn request(app: &App, entry: &AuditEntry, audited: &Audited) -> Result<ExplainedRequest, NotReplayable> {
    if entry.method != Method::POST.as_str() {
        return Err(NotReplayable::EndpointNotExplained);
    }
    let path = match &*audited.query {
        "" => entry.path().to_owned(),
        query => format!("{}?{query}", entry.path()),
    };
    let found = explained_request::find(&path, &app.config.base_path);
    found.map_err(|_| NotReplayable::EndpointNotExplained)
}

fn body(audited: &Audited) -> Result<Bytes, NotReplayable> {
    match &audited.request_body {
        None => Err(NotReplayable::BodyMissing),
        Some(_) if audited.request_truncated => Err(NotReplayable::BodyTruncated),
        Some(_) if audited.request_lossy => Err(NotReplayable::BodyLossy),
        Some(text) => Ok(Bytes::from(text.clone())),
    }
}

/// The stored headers, without those that are masked, and the user path that the call was assigned to.
fn headers(entry: &AuditEntry, audited: &Audited) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &audited.request_headers {
        let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
            continue;
        };
        if !is_sensitive(name.as_str()) && !OF_BODY.contains(&name) {
            headers.append(name, value);
        }
    }
    if let Ok(path) = HeaderValue::from_bytes(entry.user_path.as_bytes()) {
        headers.insert("x-gateway-user-path", path);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audited(body: Option<&str>) -> Audited {
        Audited { request_body: body.map(str::to_owned), ..Audited::default() }
    }

    #[test]
    fn only_a_complete_body_is_replayed() {
        let whole = audited(Some("{}"));
        assert_eq!(body(&whole), Ok(Bytes::from("{}")));
        let truncated = Audited { request_truncated: true, ..whole.clone() };
        assert_eq!(body(&truncated), Err(NotReplayable::BodyTruncated));
        assert_eq!(body(&Audited { request_lossy: true, ..whole }), Err(NotReplayable::BodyLossy));
        // A body that was left out counts as truncated in the log.
        let omitted = Audited { request_truncated: true, ..audited(None) };
        assert_eq!(body(&omitted), Err(NotReplayable::BodyMissing));
    }

    #[test]
    fn masked_headers_and_those_of_the_body_are_left_out() {
        let stored = [
            ("authorization", "***"),
            ("content-length", "12"),
            ("x-gateway-force-provider", "openai"),
            ("x-gateway-user-path", "/sent"),
            ("(omitted)", "3 more headers"),
        ];
        let stored = stored.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let audited = Audited { request_headers: stored.to_vec(), ..Audited::default() };
        let entry = AuditEntry { user_path: "/assigned".to_owned(), ..AuditEntry::default() };
        let found = headers(&entry, &audited);
        let mut found: Vec<(&str, &[u8])> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        found.sort();
        let expected: [(&str, &[u8]); 2] =
            [("x-gateway-force-provider", b"openai"), ("x-gateway-user-path", b"/assigned")];
        assert_eq!(found, expected);
    }
}
