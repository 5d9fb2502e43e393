//! What the ticket notes for the audit log; nothing of it happens when there is none.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::Surface;
use domain::fault::Fault;
use domain::receipt::{Audited, Receipt};
use http::HeaderMap;

use super::Ticket;
use crate::audit::{Recording, Threads};
use crate::body_work;
use crate::receive::Call;
use crate::snapshot::names::Names;

impl Ticket {
    /// The body, before anybody has made sense of it.
    pub fn received(&mut self, body: &Bytes) {
        if let Some(capture) = &mut self.audit {
            capture.received(body);
        }
    }

    /// Which conversation the call goes on with. One that names the response it goes on from says it by that alone.
    pub async fn converses(&mut self, call: Box<Call>) -> Result<Box<Call>, Fault> {
        let Surface::Converse(format) = call.surface else { return Ok(call) };
        if self.audit.is_none() || call.previous.is_some() {
            return Ok(call);
        }
        let owner = self.owner();
        let seed = format!("{}/{}", owner.tenant.as_deref().unwrap_or_default(), owner.key);
        let threads =
            move |call: &Call| call.prompt(format).ok().and_then(|prompt| Threads::of(&prompt, &seed));
        let (call, threads) = body_work::with_call(&self.gateway, call, threads).await?;
        if let Some(capture) = &mut self.audit {
            capture.threads = threads;
        }
        Ok(call)
    }

    /// The requested name leads somewhere.
    pub fn resolved(&mut self, names: &Names) {
        self.edit(|receipt| receipt.alias_used = names.is_alias(receipt.requested_model.trim()));
    }

    /// The id the client knows its response by.
    pub fn known_as(&mut self, id: &str) {
        self.edit(|receipt| receipt.response_id = Some(id.chars().take(200).collect()));
    }

    /// Where a body is taken down that passes without being held.
    pub fn uploading(&mut self) -> Option<Arc<Recording>> {
        self.audit.as_mut()?.upload()
    }

    /// Where the events of a stream are taken down.
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

    /// The head of the answer.
    pub fn heads(&mut self, headers: &HeaderMap) {
        if let Some(capture) = &mut self.audit {
            capture.answered(headers);
        }
    }

    /// A refusal, in the shape in which the client gets it. Who has gone away gets none.
    pub(super) fn told(&mut self, fault: &Fault, headers: &HeaderMap) {
        let Some(capture) = self.audit.as_mut().filter(|_| fault.status != 499) else { return };
        capture.said(&wire::fault::envelope(fault, capture.format, self.request_id.as_str()));
        capture.answered(headers);
    }

    /// What the audit log keeps of the call. Of a caller without a valid key that is little, and not for every call.
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
