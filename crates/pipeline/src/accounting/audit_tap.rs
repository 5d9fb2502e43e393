//! Collects the audit data of one call while it runs, then redacts and truncates it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault, FaultCode};
use domain::receipt::{Audited, CallDecisions, GuardrailVerdict, Receipt};
use http::HeaderMap;

use crate::call::arrival::{Arrival, RequestId};
use crate::call::authenticate;
use crate::call::context::CallContext;
use crate::call::receive::{self, Call};
use crate::routing::client_credential::ClientCredential;
use crate::services::audit::{Recording, Rules, Scrubber, Threads, members, redact};

/// Captures headers and bodies of a call for the audit log; does nothing if that is off.
pub struct AuditTap(Option<Box<Capture>>);

impl AuditTap {
    /// Starts a capture. Allocates nothing if the audit log is off.
    pub fn open(rules: Rules, arrival: &Arrival) -> Self {
        Self(rules.enabled.then(|| Box::new(Capture::new(rules, arrival))))
    }

    /// A tap that captures nothing.
    pub fn off() -> Self {
        Self(None)
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The client's credential, which is masked wherever it appears.
    pub fn credential(&self) -> Option<&str> {
        self.0.as_ref()?.credential.as_deref()
    }

    /// Records the request body as received.
    pub fn received(&mut self, body: &Bytes) {
        if let Some(capture) = self.0.as_mut().filter(|capture| capture.rules.bodies) {
            capture.request = body.clone();
        }
    }

    /// Records the request body as it is after its guardrails; `None` if it cannot be recorded.
    pub fn inspected(&mut self, body: Option<&Bytes>) {
        if let Some(body) = body {
            self.received(body);
        }
        if let Some(capture) = &mut self.0 {
            capture.is_inspected = true;
            // What was recorded while the body arrived is not redacted.
            capture.upload = None;
            capture.omits_request = body.is_none();
        }
    }

    /// Records that no guardrail applies to the call.
    pub fn skip_inspection(&mut self) {
        if let Some(capture) = &mut self.0 {
            capture.is_inspected = true;
        }
    }

    /// Leaves out the answer, which cannot be redacted.
    pub fn omit_answer(&mut self) {
        if let Some(capture) = &mut self.0 {
            capture.omits_answer = true;
        }
    }

    /// Records the verdicts of guardrails.
    pub fn record_verdicts(&mut self, verdicts: Vec<GuardrailVerdict>) {
        if let Some(capture) = &mut self.0 {
            capture.guardrails.extend(verdicts);
        }
    }

    /// Records facts about the decisions of a call; does nothing if it is not audited.
    pub fn record_journey(&mut self, record: impl FnOnce(&mut CallDecisions)) {
        if let Some(capture) = &mut self.0 {
            record(&mut capture.journey);
        }
    }

    /// Records the conversation that the call belongs to. A call with a previous response id is identified by that
    /// alone.
    pub async fn converses(&mut self, context: &CallContext, call: Box<Call>) -> Result<Box<Call>, Fault> {
        let Surface::Converse(format) = call.surface else { return Ok(call) };
        let Some(capture) = self.0.as_mut().filter(|_| call.previous.is_none()) else { return Ok(call) };
        let owner = context.owner();
        let seed = format!("{}/{}", owner.tenant.as_deref().unwrap_or_default(), owner.key);
        let threads =
            move |call: &Call| call.prompt(format).ok().and_then(|prompt| Threads::of(&prompt, &seed));
        let (call, threads) = receive::with_call(context.gateway(), call, threads).await?;
        capture.threads = threads;
        Ok(call)
    }

    /// The recording of a request body that is streamed through.
    pub fn uploading(&mut self) -> Option<Arc<Recording>> {
        self.0.as_mut()?.upload()
    }

    /// The recording of a stream's events.
    pub fn recording(&self) -> Option<Arc<Recording>> {
        self.0.as_ref()?.download()
    }

    /// Records bytes of the answer.
    pub fn record_response(&self, bytes: &[u8]) {
        if let Some(capture) = &self.0 {
            capture.record_response(bytes);
        }
    }

    /// Records the response headers.
    pub fn heads(&mut self, headers: &HeaderMap) {
        if let Some(capture) = &mut self.0 {
            capture.answered(headers);
        }
    }

    /// Records the reason of a fault that is not in its message.
    pub fn failed(&mut self, fault: &Fault) {
        if let Some(capture) = &mut self.0 {
            capture.reason = fault.reason.map(fault::KeyRejection::as_str);
        }
    }

    /// Records an error answer in the client's format. A client that has disconnected (499) gets none.
    pub fn refused(&mut self, fault: &Fault, headers: &HeaderMap, request_id: &RequestId) {
        let answered = fault.code != FaultCode::ClientDisconnected;
        let Some(capture) = self.0.as_mut().filter(|_| answered) else { return };
        let body = wire::formats::client(capture.format).render_error(fault, request_id.as_str());
        capture.record_response(&body);
        capture.answered(headers);
    }

    /// The audit data of the call. For callers without a valid key, headers are removed and entries are rate-limited.
    pub fn finish(&mut self, context: &CallContext, receipt: &Receipt) -> Option<Box<Audited>> {
        let mut capture = self.0.take()?;
        let gateway = context.gateway();
        if receipt.auth_method.is_empty() {
            if !gateway.unknown_callers.admits(context.now()) {
                gateway.metrics.audit_entries_dropped.inc();
                return None;
            }
            capture.forget_headers();
            capture.is_anonymous = true;
        }
        // Bodies that guardrails have not seen are not recorded where guardrails may have changed them.
        if !capture.is_inspected && context.may_have_guardrails() {
            capture.omits_request = true;
            capture.omits_answer = true;
        }
        // The answer to a refused call is the gateway's own.
        capture.omits_answer &= !receipt.is_refused();
        Some(Box::new(capture.finish(&gateway.snapshot().routes.scrubber)))
    }
}

struct Capture {
    rules: Rules,
    /// The API format in which errors are rendered for the client.
    format: Format,
    path: String,
    query: String,
    /// The client's credential, which is masked wherever it appears.
    credential: Option<String>,
    /// Its own credential for a provider, which is masked as well.
    client_credential: Option<Arc<ClientCredential>>,
    request_headers: Vec<(String, String)>,
    response_headers: Vec<(String, String)>,
    request: Bytes,
    upload: Option<Arc<Recording>>,
    download: Arc<Recording>,
    threads: Option<Threads>,
    guardrails: Vec<GuardrailVerdict>,
    journey: Box<CallDecisions>,
    /// The caller has no valid key.
    is_anonymous: bool,
    /// The request body is recorded as it is after its guardrails.
    is_inspected: bool,
    omits_request: bool,
    omits_answer: bool,
    reason: Option<&'static str>,
}

/// Bytes kept of the query string.
const QUERY_LIMIT: usize = 2048;

/// Upper bound for the length of a secret. So many bytes more than the limit are recorded, so that no secret is cut in
/// two before it is removed.
const LONGEST_SECRET: usize = identity::token::LONGEST;

impl Capture {
    fn new(rules: Rules, arrival: &Arrival) -> Self {
        let query = arrival.query.as_deref();
        Self {
            rules,
            format: arrival.surface.format(),
            path: arrival.path.clone().unwrap_or_default(),
            query: query.map(redact::query).unwrap_or_default(),
            client_credential: arrival.client_credential.clone(),
            credential: authenticate::credential(&arrival.headers, query).map(str::to_owned),
            request_headers: if rules.headers { redact::headers(&arrival.headers) } else { Vec::new() },
            response_headers: Vec::new(),
            request: Bytes::new(),
            upload: None,
            download: Arc::new(Recording::new(rules.body_limit + LONGEST_SECRET)),
            threads: None,
            guardrails: Vec::new(),
            journey: Box::default(),
            is_anonymous: false,
            is_inspected: false,
            omits_request: false,
            omits_answer: false,
            reason: None,
        }
    }

    /// Creates the recording of a request body that is forwarded as a stream.
    fn upload(&mut self) -> Option<Arc<Recording>> {
        if self.rules.bodies {
            self.upload = Some(Arc::new(Recording::new(self.rules.body_limit + LONGEST_SECRET)));
        }
        self.upload.clone()
    }

    /// The recording of the response body.
    fn download(&self) -> Option<Arc<Recording>> {
        self.rules.bodies.then(|| self.download.clone())
    }

    fn record_response(&self, bytes: &[u8]) {
        if self.rules.bodies {
            self.download.add(bytes);
        }
    }

    fn answered(&mut self, headers: &HeaderMap) {
        if self.rules.headers {
            self.response_headers = redact::headers(headers);
        }
    }

    /// Drops the query and headers of a caller without a valid key, who could fill the log at no cost.
    fn forget_headers(&mut self) {
        self.query = String::new();
        self.request_headers = Vec::new();
        self.response_headers = Vec::new();
    }

    fn finish(self, scrubber: &Scrubber) -> Audited {
        let (own, client) = (self.credential.as_deref(), self.client_credential.as_deref());
        let scrub = |text: &str| scrubbed(scrubber, text, own, client);
        let limit = self.rules.body_limit;
        let (mut request, mut request_cut) = match &self.upload {
            Some(upload) => upload.take(),
            None => {
                let end = self.request.len().min(limit + LONGEST_SECRET);
                (self.request[..end].to_vec(), end < self.request.len())
            }
        };
        let (mut response, mut response_cut) = self.download.take();
        if self.omits_request {
            (request, request_cut) = (Vec::new(), request_cut || !request.is_empty());
        }
        if self.omits_answer {
            (response, response_cut) = (Vec::new(), response_cut || !response.is_empty());
        }
        let fit = |text: &str| members::redact(&scrub(text)).into_owned();
        let request = Kept::new(&request, request_cut, limit, fit);
        let response = Kept::new(&response, response_cut, limit, fit);
        let clean = |headers: Vec<(String, String)>| {
            let each = headers.into_iter();
            redact::cut_headers(each.map(|(name, value)| (name, scrub(&value))).collect())
        };
        Audited {
            path: scrub(&self.path),
            query: redact::cut(scrub(&self.query), QUERY_LIMIT),
            reason: self.reason.map(str::to_owned),
            thread: self.threads.as_ref().map(|threads| threads.thread.clone()),
            parent: self.threads.and_then(|threads| threads.parent),
            guardrails: self.guardrails,
            journey: (!self.is_anonymous).then_some(self.journey),
            request_headers: clean(self.request_headers),
            response_headers: clean(self.response_headers),
            request_body: request.text,
            response_body: response.text,
            request_truncated: request.truncated,
            response_truncated: response.truncated,
            request_lossy: request.lossy,
            response_lossy: response.lossy,
        }
    }
}

/// The text without the configured secrets and the credentials of the client.
fn scrubbed(scrubber: &Scrubber, text: &str, own: Option<&str>, client: Option<&ClientCredential>) -> String {
    let mut clean = scrubber.clean(text, own).into_owned();
    for secret in client.into_iter().flat_map(ClientCredential::secrets) {
        clean = scrubber.clean(&clean, Some(secret)).into_owned();
    }
    clean
}

/// A body as it is stored; `text` is `None` if it was empty.
#[derive(Debug, PartialEq)]
struct Kept {
    text: Option<String>,
    truncated: bool,
    lossy: bool,
}

impl Kept {
    /// Removes secrets before truncating: a secret cut in half would not be recognised.
    fn new(bytes: &[u8], cut: bool, limit: usize, clean: impl FnOnce(&str) -> String) -> Self {
        let text = match (cut, std::str::from_utf8(bytes)) {
            // A body that was cut in the middle of a character is valid up to there.
            (true, Err(error)) if error.error_len().is_none() => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()])
            }
            _ => String::from_utf8_lossy(bytes),
        };
        let lossy = matches!(text, Cow::Owned(_));
        let mut text = clean(&text);
        let truncated = cut || text.len() > limit;
        text.truncate(text.floor_char_boundary(limit));
        Self { text: (!text.is_empty()).then_some(text), truncated, lossy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(bytes: &[u8], cut: bool, limit: usize) -> (String, bool, bool) {
        let scrubber = Scrubber::new(["a-secret-word"]);
        let kept = Kept::new(bytes, cut, limit, |text| scrubber.clean(text, None).into_owned());
        (kept.text.unwrap_or_default(), kept.truncated, kept.lossy)
    }

    #[test]
    fn bodies_are_cut_between_characters_and_after_the_secrets_are_gone() {
        let check = |bytes: &[u8], cut, limit, expected: (&str, bool, bool)| {
            assert_eq!(keep(bytes, cut, limit), (expected.0.to_owned(), expected.1, expected.2));
        };
        check(b"", false, 10, ("", false, false));
        check(b"abc", false, 3, ("abc", false, false));
        check(b"abcd", false, 3, ("abc", true, false));
        check("aé".as_bytes(), false, 2, ("a", true, false));
        check(&"aé".as_bytes()[..2], true, 5, ("a", true, false));
        check(b"a\xffb", false, 9, ("a\u{fffd}b", false, true));
        check(b"x a-secret-word y", false, 8, ("x *** y", false, false));
        check(b"x a-secret-word y", false, 4, ("x **", true, false));
    }
}
