//! Accounting of a stream, at its end and when another provider continues it.

use domain::call::Format;
use domain::canon::Reply;
use domain::fault::RetryScope;
use domain::receipt::GuardrailVerdict;
use domain::usage::Tokens;

use super::{StreamMode, UpstreamStream};
use crate::accounting::loss::Loss;
use crate::accounting::stored_response;
use crate::accounting::ticket::Ticket;
use crate::streaming::resume::{Overlap, Resumable};

impl UpstreamStream {
    /// Prepares a failed stream for continuation, if possible: returns the resumption data and the answer so far, and
    /// reports the usage to the ticket.
    pub fn break_off(&mut self, ticket: &mut Ticket) -> Option<(Box<Resumable>, Reply)> {
        let StreamMode::Translated(translated) = &self.mode else { return None };
        let goes_on = self.fault.as_ref().is_some_and(|fault| fault.retry_scope != RetryScope::Never)
            && translated.is_resumable();
        let resumable = self.resumable.take_if(|resumable| goes_on && resumable.can_resume())?;
        let so_far = translated.reply().clone();
        self.trace(ticket);
        self.discharge(ticket);
        self.update_account();
        self.tally(ticket);
        Some((resumable, so_far))
    }

    /// Continues with the stream of another provider.
    pub fn join(&mut self, next: Self, overlap: Overlap, resumable: Box<Resumable>, earlier: Tokens) {
        let (StreamMode::Translated(translated), StreamMode::Translated(rest)) = (&mut self.mode, next.mode)
        else {
            return;
        };
        let joined = translated.join(*rest, overlap, earlier, resumable.resumed());
        self.body = next.body;
        self.splitter = next.splitter;
        self.deployment = next.deployment;
        self.ended = next.ended;
        self.fault = None;
        if let Some(fault) = joined.err().or(next.fault) {
            self.give_up(fault);
        }
        self.idle_timeout = next.idle_timeout;
        self.admission = next.admission;
        self.facts = next.facts;
        self.resumable = Some(resumable);
        self.collect();
    }

    /// Reports everything known about the stream to the ticket.
    pub fn report(&mut self, ticket: &mut Ticket) {
        self.update_account();
        if let StreamMode::Translated(translated) = &self.mode
            && self.format == Format::Chat
        {
            ticket.gateway().reasoning_states.remember(ticket.context.owner(), translated.reply());
        }
        self.discharge(ticket);
        self.trace(ticket);
        ticket.record_verdicts(self.verdicts());
        let native = matches!(self.mode, StreamMode::Native(_));
        stored_response::keep_stream(ticket, self.provider_id.as_deref(), native, self.final_bytes.take());
        if let Some(id) = self.provider_id.clone() {
            ticket.receipt.provider_id(id);
        }
        self.tally(ticket);
    }

    /// The verdicts of guardrails on the answer so far.
    pub fn verdicts(&self) -> Vec<GuardrailVerdict> {
        match &self.mode {
            StreamMode::Translated(translated) => translated.verdicts(),
            StreamMode::Native(_) => Vec::new(),
        }
    }

    /// The usage of a stream that is discarded.
    pub fn loss(&mut self) -> Loss {
        self.update_account();
        Loss { usage: self.usage.take().map(|(usage, _)| usage), content_bytes: self.content_bytes }
    }

    /// Releases the target's admission, and records a failure if the stream failed.
    fn discharge(&mut self, ticket: &Ticket) {
        if let (Some(admission), Some(fault)) = (self.admission.take(), &self.fault)
            && fault.is_failure()
        {
            let transition = admission.failed(ticket.context.now(), fault.code.as_str());
            ticket.gateway().report_transition(&self.deployment, transition);
        }
    }

    fn trace(&mut self, ticket: &mut Ticket) {
        if let Some(facts) = self.facts.take() {
            ticket.record_response(*facts);
        }
    }

    fn update_account(&mut self) {
        if let StreamMode::Translated(translated) = &mut self.mode {
            let account = translated.account();
            self.provider_id = account.provider_id;
            self.content_bytes = account.content_bytes;
            self.usage = account.usage;
            self.final_bytes = account.final_bytes;
        }
    }

    fn tally(&mut self, ticket: &mut Ticket) {
        ticket.receipt.produced(self.content_bytes);
        if let Some((mut usage, raw)) = self.usage.take() {
            // Usage that was reported before the end covers only the tokens so far.
            if !self.ended || self.fault.is_some() {
                usage.estimated = true;
                usage.untold.output = false;
                usage.tokens.output = usage.tokens.output.max(ticket.receipt.estimate_of(self.content_bytes));
            }
            ticket.consumed(usage, &raw);
        }
    }
}
