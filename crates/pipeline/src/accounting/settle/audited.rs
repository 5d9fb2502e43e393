//! Records the ticket's data for the audit log; does nothing if there is none.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::Surface;
use domain::fault::Fault;
use domain::receipt::{Audited, Receipt};
use http::HeaderMap;

use super::Ticket;
use crate::call::receive::{self, Call};
use crate::routing::names::Names;
use crate::services::audit::{Recording, Threads};

impl Ticket {
    /// Records the request body as received.
    pub fn received(&mut self, body: &Bytes) {
        if let Some(capture) = &mut self.audit {
            capture.received(body);
        }
    }

    /// Records the conversation that the call belongs to. A call with a previous response id is identified by that
    /// alone.
    pub async fn converses(&mut self, call: Box<Call>) -> Result<Box<Call>, Fault> {
        let Surface::Converse(format) = call.surface else { return Ok(call) };
        if self.audit.is_none() || call.previous.is_some() {
            return Ok(call);
        }
        let owner = self.owner();
        let seed = format!("{}/{}", owner.tenant.as_deref().unwrap_or_default(), owner.key);
        let threads =
            move |call: &Call| call.prompt(format).ok().and_then(|prompt| Threads::of(&prompt, &seed));
        let (call, threads) = receive::with_call(&self.gateway, call, threads).await?;
        if let Some(capture) = &mut self.audit {
            capture.threads = threads;
        }
        Ok(call)
    }

    /// Records whether the requested name is an alias, after it was resolved.
    pub fn resolved(&mut self, names: &Names) {
        self.edit(|receipt| receipt.alias_used = names.is_alias(receipt.requested_model.trim()));
    }

    /// Records the id of the response as the client knows it.
    pub fn known_as(&mut self, id: &str) {
        self.edit(|receipt| receipt.response_id = Some(id.chars().take(200).collect()));
    }

    /// The recording of a request body that is streamed through.
    pub fn uploading(&mut self) -> Option<Arc<Recording>> {
        self.audit.as_mut()?.upload()
    }

    /// The recording of a stream's events.
    pub fn recording(&self) -> Option<Arc<Recording>> {
        self.audit.as_ref()?.download()
    }

    pub fn is_audited(&self) -> bool {
        self.audit.is_some()
    }

    pub fn said(&self, bytes: &[u8]) {
        if let Some(capture) = &self.audit {
            capture.said(bytes);
        }
    }

    /// Records the response headers.
    pub fn heads(&mut self, headers: &HeaderMap) {
        if let Some(capture) = &mut self.audit {
            capture.answered(headers);
        }
    }

    /// Records an error answer in the client's format. A client that has disconnected (499) gets none.
    pub(super) fn told(&mut self, fault: &Fault, headers: &HeaderMap) {
        let Some(capture) = self.audit.as_mut().filter(|_| fault.status != 499) else { return };
        capture.said(&wire::fault::envelope(fault, capture.format, self.request_id.as_str()));
        capture.answered(headers);
    }

    /// The audit data of the call. For callers without a valid key, headers are removed and entries are rate-limited.
    pub(super) fn captured(&mut self, receipt: &Receipt) -> Option<Box<Audited>> {
        let mut capture = self.audit.take()?;
        if receipt.auth_method.is_empty() {
            if !self.gateway.unknown_callers.admits(self.now()) {
                self.gateway.metrics.audit_entries_dropped.inc();
                return None;
            }
            capture.forget_headers();
        }
        Some(Box::new(capture.finish(&self.gateway.snapshot().routes.scrubber)))
    }
}
