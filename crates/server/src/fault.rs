//! Converts faults to HTTP responses: the one place that sets their status and headers.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use domain::call::Format;
use domain::fault::{self as faults, Fault, FaultCode};
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use pipeline::call::response_headers::{Refused, SHOULD_RETRY};

/// The error type of handlers, convertible from faults so that handlers can use `?`.
pub struct Problem(Box<Inside>);

struct Inside {
    fault: Fault,
    headers: HeaderMap,
    format: Format,
    request_id: String,
}

impl Problem {
    fn new(fault: Fault, headers: HeaderMap) -> Self {
        Self(Box::new(Inside { fault, headers, format: Format::default(), request_id: String::new() }))
    }

    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Renders the fault in the given API format.
    #[must_use]
    pub fn in_dialect(mut self, format: Format, request_id: &str) -> Self {
        self.0.format = format;
        self.0.request_id = request_id.to_owned();
        self
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::new(fault, HeaderMap::new())
    }
}

impl From<store::StoreError> for Problem {
    fn from(error: store::StoreError) -> Self {
        tracing::warn!(%error, "storage operation failed");
        Self::from(Fault::from(error))
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        Self::new(refused.fault, refused.headers)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Inside { mut fault, headers: known, format, request_id } = *self.0;
        // This is for the audit log and the ledger only. A client that still reads the response sent a body that could
        // not be read to its end.
        if fault.code == FaultCode::ClientDisconnected {
            fault = faults::invalid_json("The body broke off, or its chunks cannot be read.");
        }
        let body = wire::formats::client(format).render_error(&fault, &request_id);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        *headers = known;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if fault.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // Some clients, Claude Code among them, retry these for minutes although the same key gets the same answer.
        if matches!(fault.status, 401 | 403) {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Some(after) = fault.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(faults::retry_after_seconds(after)));
        }
        // The rest of the request body is unread: keeping the connection would parse it as the next request.
        if matches!(fault.status, 408 | 413 | 415) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

pub fn answer(fault: Fault) -> Problem {
    Problem::from(fault)
}

#[cfg(test)]
mod tests {
    use domain::fault::FaultKind;

    use super::*;

    #[test]
    fn only_a_disconnected_client_gets_another_error() {
        let status = |fault: Fault| answer(fault).into_response().status().as_u16();
        assert_eq!(status(faults::client_disconnected()), 400);
        let of_a_provider = Fault::with_status(499, FaultKind::InvalidRequest, FaultCode::UpstreamError, "");
        assert_eq!(status(of_a_provider), 499);
    }
}
