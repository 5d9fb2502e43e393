//! A stream on its way to the client: pulled by it, metered as it passes, ended honestly.

mod ahead;
mod flow;
mod held;
mod overlap;
mod seam;
mod translated;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};
use domain::usage::Usage;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

pub use flow::Flow;
pub use overlap::Overlap;

use wire::fault::Broken;

use crate::commit::Answering;
use crate::dispatch::{self, Answer, Resumed, Resuming};
use crate::gateway::Gateway;
use crate::idempotency::Record;
use crate::responses::background;
use crate::settle::Ticket;

const HEARTBEAT: Bytes = Bytes::from_static(b": keep-alive\n\n");

pub struct EventStream {
    gateway: Arc<Gateway>,
    phase: Phase,
    /// A receipt that is being counted; nothing terminal leaves before it is written.
    closing: Option<JoinHandle<()>>,
    timer: Option<Pin<Box<Sleep>>>,
    heard: Instant,
    spoke: Instant,
    /// What is said beside the provider's own events.
    aside: Option<Bytes>,
    /// The head left before anybody knew who would answer.
    headed_early: bool,
    /// What leaves is written down for whoever repeats the call.
    record: Option<Box<Record>>,
}

enum Phase {
    Waiting(Answering, Format),
    Flowing(Box<Flow>, Box<Ticket>),
    /// The provider died in the middle; somebody is asked to go on.
    Resuming(Box<Flow>, Resuming),
    /// The account is closed; what is left goes out.
    Closed(Option<Box<Flow>>),
}

impl EventStream {
    pub fn flowing(mut flow: Flow, ticket: Box<Ticket>) -> Self {
        flow.record(ticket.recording());
        Self::new(ticket.gateway().clone(), Phase::Flowing(Box::new(flow), ticket))
    }

    /// The client has waited for one heartbeat interval: it hears from us at once.
    pub fn waiting(answering: Answering, format: Format, gateway: Arc<Gateway>) -> Self {
        let mut stream = Self::new(gateway, Phase::Waiting(answering, format));
        stream.aside = Some(HEARTBEAT);
        stream.headed_early = true;
        stream
    }

    fn new(gateway: Arc<Gateway>, phase: Phase) -> Self {
        let now = Instant::now();
        Self {
            gateway,
            phase,
            closing: None,
            timer: None,
            heard: now,
            spoke: now,
            aside: None,
            headed_early: false,
            record: None,
        }
    }

    pub fn record(&mut self, record: Box<Record>) {
        self.record = Some(record);
    }

    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<std::io::Result<Bytes>>> {
        loop {
            if let Some(closing) = &mut self.closing {
                let _ = ready!(Pin::new(closing).poll(context));
                self.closing = None;
            }
            match &mut self.phase {
                Phase::Flowing(flow, _) if flow.has_ended() => {
                    self.ended();
                    continue;
                }
                Phase::Flowing(flow, _) | Phase::Resuming(flow, _) | Phase::Closed(Some(flow)) => {
                    if let Some(bytes) = flow.take() {
                        return self.speak(bytes);
                    }
                }
                Phase::Waiting(..) | Phase::Closed(None) => {}
            }
            if let Some(bytes) = self.aside.take() {
                return self.speak(bytes);
            }
            let moved = match &mut self.phase {
                Phase::Closed(_) => return Poll::Ready(None),
                Phase::Flowing(flow, _) => {
                    let heard = flow.heard();
                    let advanced = flow.poll_advance(context);
                    if advanced.is_ready() && flow.heard() == heard && !flow.has_ended() {
                        // Bytes that make no event: nothing to send, and the clock runs on.
                        let _ = self.poll_timer(context);
                        continue;
                    }
                    advanced
                }
                Phase::Resuming(_, resuming) => {
                    let resumed = resuming.as_mut().poll(context);
                    resumed.map(|resumed| self.resumed(resumed))
                }
                Phase::Waiting(answering, format) => {
                    let format = *format;
                    let answered = answering.as_mut().poll(context);
                    answered.map(|(ticket, outcome)| self.answered(ticket, format, outcome))
                }
            };
            match moved {
                Poll::Ready(()) => self.heard = Instant::now(),
                Poll::Pending => ready!(self.poll_timer(context)),
            }
        }
    }

    fn speak(&mut self, bytes: Bytes) -> Poll<Option<std::io::Result<Bytes>>> {
        self.spoke = Instant::now();
        if let Some(record) = &mut self.record {
            record.hear(&bytes);
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    fn answered(&mut self, mut ticket: Box<Ticket>, format: Format, outcome: Result<Answer, Fault>) {
        ticket.first_byte();
        self.phase = match outcome {
            Ok(Answer::Stream(mut flow)) => {
                flow.record(ticket.recording());
                Phase::Flowing(flow, ticket)
            }
            Ok(_) => self.fall_silent(ticket, format, &fault::internal_error()),
            Err(fault) => self.fall_silent(ticket, format, &fault),
        };
    }

    /// Nobody answered, and the head is gone: the client is told in its own dialect.
    fn fall_silent(&mut self, mut ticket: Box<Ticket>, format: Format, fault: &Fault) -> Phase {
        let id = format!("resp_{}", ticket.seed());
        let broken = Broken { id: &id, created: ticket.created(), ..Broken::default() };
        let farewell = wire::fault::event(fault, format, broken);
        ticket.said(&farewell);
        self.aside = Some(farewell);
        self.record = None;
        // Providers do not bill calls they refuse.
        ticket.consumed(Usage::default(), b"");
        self.closing = ticket.break_off(fault);
        Phase::Closed(None)
    }

    /// The provider says no more: it was the end, or another one goes on.
    fn ended(&mut self) {
        let Phase::Flowing(mut flow, mut ticket) = std::mem::replace(&mut self.phase, Phase::Closed(None))
        else {
            return;
        };
        if let Some(fault) = flow.fault_mut() {
            self.gateway.scrub(fault);
        }
        self.phase = match flow.break_off(&mut ticket) {
            Some((resumable, so_far)) => {
                let fault = flow.fault().cloned();
                Phase::Resuming(flow, Box::pin(dispatch::resume(resumable, so_far, fault, ticket)))
            }
            None => self.close(flow, ticket),
        };
    }

    fn resumed(&mut self, resumed: Resumed) {
        let Phase::Resuming(mut flow, _) = std::mem::replace(&mut self.phase, Phase::Closed(None)) else {
            return;
        };
        let Resumed { resumable, ticket, continuation } = resumed;
        self.phase = match continuation {
            Some((next, overlap)) => {
                flow.join(*next, overlap, resumable, ticket.earlier_tokens());
                Phase::Flowing(flow, ticket)
            }
            None => self.close(flow, ticket),
        };
    }

    /// The account is closed before the last event leaves: that is what "acknowledged" means.
    fn close(&mut self, mut flow: Box<Flow>, mut ticket: Box<Ticket>) -> Phase {
        flow.report(&mut ticket);
        if let Some(fault) = flow.fault().cloned() {
            let farewell = flow.farewell(&fault);
            ticket.said(&farewell);
            self.aside = Some(farewell);
            self.record = None;
            // Nothing is acknowledged by that, so it need not wait for the count.
            drop(ticket.break_off(&fault));
        } else {
            let resumed = ticket.resumed();
            if resumed > 0 {
                flow.preface(closing_comment(&ticket, &format!(" resumed={resumed}")));
            } else if self.headed_early {
                self.aside = Some(closing_comment(&ticket, ""));
            }
            self.write_down(&flow, &ticket);
            self.closing = ticket.complete();
            flow.release(&self.gateway);
        }
        Phase::Closed(Some(flow))
    }

    /// The answer is whole, whether or not the client stays for the rest of it.
    fn write_down(&mut self, flow: &Flow, ticket: &Ticket) {
        let Some(mut record) = self.record.take().filter(|_| !flow.has_failed()) else { return };
        flow.left().chain(&self.aside).for_each(|bytes| record.hear(bytes));
        record.keep(ticket.lane().map(|lane| &**lane));
    }

    /// One timer serves heartbeat and idle limit. It is armed when a stream first falls silent and, when it fires,
    /// moved to the next moment that matters: passing chunks never touch it.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let policy = &self.gateway.policy;
        let speak_at = self.spoke + policy.stream_heartbeat;
        // A dispatch keeps its own time limits.
        let give_up_at = match &self.phase {
            Phase::Flowing(flow, _) => self.heard + flow.idle_timeout(),
            _ => speak_at,
        };
        let timer =
            self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(speak_at.min(give_up_at))));
        loop {
            ready!(timer.as_mut().poll(context));
            let now = Instant::now();
            match &mut self.phase {
                Phase::Flowing(flow, _) if now >= give_up_at => {
                    flow.give_up(fault::upstream_timeout(flow.instance(), flow.idle_timeout()));
                    return Poll::Ready(());
                }
                _ if now >= speak_at => {
                    self.aside = Some(HEARTBEAT);
                    return Poll::Ready(());
                }
                _ => timer.as_mut().reset(speak_at.min(give_up_at).max(now + Duration::from_millis(1))),
            }
        }
    }
}

fn closing_comment(ticket: &Ticket, more: &str) -> Bytes {
    let model = ticket.lane().map(|lane| lane.target.selector()).unwrap_or_default();
    Bytes::from(format!(": gatehouse model={model} attempts={}{more}\n\n", ticket.attempts()))
}

/// After the content is complete, how long and for how many bytes the usage of a client that left is waited for.
pub const READ_ON_TIME: Duration = Duration::from_secs(5);
pub const READ_ON_BYTES: usize = 1 << 20;

/// Settles a call whose client went away, estimated from what has passed. If only usage was still to come, it is read in
/// the background, because the provider charges for the whole answer.
impl Drop for EventStream {
    fn drop(&mut self) {
        let Phase::Flowing(mut flow, mut ticket) = std::mem::replace(&mut self.phase, Phase::Closed(None))
        else {
            return;
        };
        if flow.has_ended() || !flow.is_answered() || tokio::runtime::Handle::try_current().is_err() {
            flow.report(&mut ticket);
            settle_unheard(&flow, ticket);
            return;
        }
        self.gateway.tasks.spawn(async move {
            let _ = tokio::time::timeout(READ_ON_TIME, flow.read_on(READ_ON_BYTES)).await;
            flow.report(&mut ticket);
            settle_unheard(&flow, ticket);
        });
    }
}

/// Closes the account of a client that left, unless its response goes on in the background: then that is followed.
fn settle_unheard(flow: &Flow, ticket: Box<Ticket>) {
    let id = ticket.receipt().map(|receipt| receipt.provider_id.clone()).unwrap_or_default();
    let pending = !flow.has_ended() && !id.is_empty() && tokio::runtime::Handle::try_current().is_ok();
    if pending && background::goes_on(&ticket) {
        background::follow(ticket, id);
    }
}
