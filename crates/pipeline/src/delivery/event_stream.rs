//! The event stream to the client: polled by it, metered as it passes, and ended with an error event if incomplete.

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

use wire::codec::Broken;
use wire::formats;

use crate::accounting::ticket::Ticket;
use crate::call::response_headers::{self, Refused};
use crate::delivery::answer_recorder::{AnswerFacts, AnswerRecorder};
use crate::delivery::commit::{AnswerIdentity, Answering, Replying};
use crate::delivery::replay;
use crate::delivery::reply::{Reply, ReplyBody};
use crate::dispatch::{self, Answer};
use crate::gateway::Gateway;
use crate::responses::background;
use crate::streaming::UpstreamStream;
use crate::streaming::resume::{Resumed, Resuming, resume};

const HEARTBEAT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// The response body of a streamed call. It is dropped before its end if the client disconnects.
pub struct EventStream {
    gateway: Arc<Gateway>,
    phase: Phase,
    /// The longest silence towards the client.
    heartbeat: Duration,
    /// Settlement in progress on a blocking thread. No terminal event is sent before the receipt is written.
    closing: Option<JoinHandle<()>>,
    /// Timer for heartbeats and the idle timeout; see `poll_timer`.
    timer: Option<Pin<Box<Sleep>>>,
    /// Time of the last event from the provider, or of the last progress in another phase.
    last_received: Instant,
    /// Time of the last bytes to the client.
    last_sent: Instant,
    /// Bytes of the gateway itself, sent after those of the provider: a heartbeat, a comment or an error event.
    pending_bytes: Option<Bytes>,
    /// The response head was sent before a target had answered.
    headed_early: bool,
    /// Records the sent bytes for repeated calls.
    recorder: Option<Box<AnswerRecorder>>,
}

enum Phase {
    /// No target has answered yet; the client receives heartbeats.
    Waiting(Answering, Format),
    /// The reply is not complete yet; the client receives heartbeats.
    Replying(Replying, Format, AnswerIdentity),
    /// Events of a target are passed on.
    Flowing(Box<UpstreamStream>, Box<Ticket>),
    /// The provider failed in the middle of the answer, and another target is asked to continue.
    Resuming(Box<UpstreamStream>, Resuming),
    /// The call is settled; the remaining bytes are sent.
    Closed(Option<Box<UpstreamStream>>),
}

impl EventStream {
    pub fn flowing(mut flow: UpstreamStream, ticket: Box<Ticket>) -> Self {
        flow.record(ticket.audit.recording());
        let heartbeat = ticket.context.policy().stream_heartbeat;
        Self::new(ticket.gateway().clone(), heartbeat, Phase::Flowing(Box::new(flow), ticket))
    }

    /// A stream without an answer yet. The client has waited for one heartbeat interval, so a heartbeat is sent at
    /// once.
    pub fn waiting(answering: Answering, format: Format, gateway: Arc<Gateway>, heartbeat: Duration) -> Self {
        let mut stream = Self::new(gateway, heartbeat, Phase::Waiting(answering, format));
        stream.pending_bytes = Some(HEARTBEAT);
        stream.headed_early = true;
        stream
    }

    /// A stream whose reply is complete before any of it is sent. A heartbeat is sent at once.
    pub fn replying(
        replying: Replying,
        format: Format,
        answer: AnswerIdentity,
        gateway: Arc<Gateway>,
        heartbeat: Duration,
    ) -> Self {
        let mut stream = Self::new(gateway, heartbeat, Phase::Replying(replying, format, answer));
        stream.pending_bytes = Some(HEARTBEAT);
        stream
    }

    fn new(gateway: Arc<Gateway>, heartbeat: Duration, phase: Phase) -> Self {
        let now = Instant::now();
        Self {
            gateway,
            heartbeat,
            phase,
            closing: None,
            timer: None,
            last_received: now,
            last_sent: now,
            pending_bytes: None,
            headed_early: false,
            recorder: None,
        }
    }

    pub fn record(&mut self, recorder: Box<AnswerRecorder>) {
        self.recorder = Some(recorder);
    }

    /// Polls for the next bytes. Each pass of the loop either returns bytes, changes the state and runs again, or
    /// returns `Pending` with the waker registered: by the settlement task while there is one, otherwise by both the
    /// current source (provider or dispatch) and the timer.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<std::io::Result<Bytes>>> {
        loop {
            // The receipt has to be durable before the client sees a terminal event, so nothing is sent while it is
            // counted and written. The task runs on its own thread and needs no timer here.
            if let Some(closing) = &mut self.closing {
                let _ = ready!(Pin::new(closing).poll(context));
                self.closing = None;
            }
            match &mut self.phase {
                // The end is handled before the last events are taken, because they may only be sent after settlement.
                Phase::Flowing(flow, _) if flow.has_ended() => {
                    self.ended();
                    continue;
                }
                Phase::Flowing(flow, _) | Phase::Resuming(flow, _) | Phase::Closed(Some(flow)) => {
                    if let Some(bytes) = flow.take() {
                        return self.emit(bytes);
                    }
                }
                Phase::Waiting(..) | Phase::Replying(..) | Phase::Closed(None) => {}
            }
            if let Some(bytes) = self.pending_bytes.take() {
                return self.emit(bytes);
            }
            let moved = match &mut self.phase {
                Phase::Closed(_) => return Poll::Ready(None),
                Phase::Flowing(flow, _) => {
                    let events = flow.events();
                    let advanced = flow.poll_advance(context);
                    if advanced.is_ready() && flow.events() == events && !flow.has_ended() {
                        // The bytes completed no event (comments, or part of one). They do not count as activity, so
                        // the idle timeout has to be checked here: a provider that sends such bytes without pause
                        // never gets to the `Pending` branch below. The result needs no handling, since the next pass
                        // sees the changed state.
                        let _ = self.poll_timer(context);
                        continue;
                    }
                    advanced
                }
                Phase::Resuming(_, resuming) => {
                    let resumed = resuming.as_mut().poll(context);
                    resumed.map(|resumed| self.resumed(resumed))
                }
                Phase::Replying(replying, ..) => {
                    let reply = replying.as_mut().poll(context);
                    reply.map(|reply| self.replied(reply))
                }
                Phase::Waiting(answering, format) => {
                    let format = *format;
                    let answered = answering.as_mut().poll(context);
                    answered.map(|(ticket, outcome)| self.answered(ticket, format, outcome))
                }
            };
            match moved {
                Poll::Ready(()) => self.last_received = Instant::now(),
                // The source has registered the waker. The timer does the same unless it has fired; then it has set a
                // heartbeat or ended the stream, and the loop runs again.
                Poll::Pending => ready!(self.poll_timer(context)),
            }
        }
    }

    fn emit(&mut self, bytes: Bytes) -> Poll<Option<std::io::Result<Bytes>>> {
        self.last_sent = Instant::now();
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&bytes);
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    fn answered(&mut self, mut ticket: Box<Ticket>, format: Format, outcome: Result<Answer, Fault>) {
        ticket.first_byte();
        self.phase = match outcome {
            Ok(Answer::Stream(mut flow)) => {
                flow.record(ticket.audit.recording());
                Phase::Flowing(flow, ticket)
            }
            Ok(Answer::Replayed(replayed)) => {
                let recorder = self.recorder.take();
                self.pending_bytes = Some(replay::settle_stream(&mut ticket, *replayed, recorder));
                Phase::Closed(None)
            }
            Ok(_) => self.end_unanswered(ticket, format, &fault::internal_error()),
            Err(fault) => self.end_unanswered(ticket, format, &fault),
        };
    }

    /// Sends a complete reply, or the error that the call was refused with. The call is settled.
    fn replied(&mut self, reply: Result<Reply, Refused>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Closed(None));
        let Phase::Replying(_, format, AnswerIdentity { id, created }) = phase else { return };
        let fault = match reply {
            Ok(Reply { body: ReplyBody::Whole { pieces, .. }, headers, .. }) => {
                let mut bytes: Vec<u8> = pieces.iter().flatten().copied().collect();
                let header =
                    |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
                let (model, attempts) = (header(response_headers::MODEL), header(response_headers::ATTEMPTS));
                bytes.extend_from_slice(comment(model, attempts, "").as_bytes());
                self.pending_bytes = Some(bytes.into());
                return;
            }
            Ok(_) => fault::internal_error(),
            Err(refused) => refused.fault,
        };
        let broken = Broken { id: &id, created, ..Broken::default() };
        self.pending_bytes = Some(formats::client(format).render_error_event(&fault, broken));
    }

    /// Ends the call after no target has answered. The head is already sent, so the error is sent as an event.
    fn end_unanswered(&mut self, mut ticket: Box<Ticket>, format: Format, fault: &Fault) -> Phase {
        let AnswerIdentity { id, created } = AnswerIdentity::of(&ticket.context);
        let broken = Broken { id: &id, created, ..Broken::default() };
        let error_event = formats::client(format).render_error_event(fault, broken);
        ticket.audit.record_response(&error_event);
        self.pending_bytes = Some(error_event);
        self.recorder = None;
        // Providers do not bill calls they refuse.
        ticket.consumed(Usage::default(), b"");
        self.closing = ticket.break_off(fault);
        Phase::Closed(None)
    }

    /// Handles the end of the provider's stream: settles the call, or asks another target to continue.
    fn ended(&mut self) {
        // The phase is moved out to own its parts; every path below sets a new one.
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
                let request = dispatch::request_continuation;
                Phase::Resuming(flow, Box::pin(resume(resumable, so_far, fault, ticket, request)))
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
                flow.join(*next, overlap, resumable, ticket.receipt.earlier_tokens());
                Phase::Flowing(flow, ticket)
            }
            None => self.close(flow, ticket),
        };
    }

    /// Settles the call before its last event is sent: a client that sees the end can rely on a written receipt.
    fn close(&mut self, mut flow: Box<UpstreamStream>, mut ticket: Box<Ticket>) -> Phase {
        flow.report(&mut ticket);
        if let Some(fault) = flow.fault().cloned() {
            let error_event = flow.render_error_event(&fault);
            ticket.audit.record_response(&flow.recorded_error_event(&fault, &error_event));
            self.pending_bytes = Some(error_event);
            self.recorder = None;
            // An error acknowledges nothing, so it is sent without waiting for settlement. The dropped task continues.
            drop(ticket.break_off(&fault));
        } else {
            let resumed = ticket.receipt.resumed();
            if resumed > 0 {
                flow.queue_first(closing_comment(&ticket, &format!(" resumed={resumed}")));
            } else if self.headed_early {
                self.pending_bytes = Some(closing_comment(&ticket, ""));
            }
            self.finish_recording(&flow, &ticket);
            self.closing = ticket.complete();
            flow.release(&self.gateway);
        }
        Phase::Closed(Some(flow))
    }

    /// Ends the recording of a complete answer, including bytes that the client may not stay to read.
    fn finish_recording(&mut self, flow: &UpstreamStream, ticket: &Ticket) {
        let Some(mut recorder) = self.recorder.take().filter(|_| !flow.has_failed()) else { return };
        flow.left().chain(&self.pending_bytes).for_each(|bytes| recorder.push(bytes));
        recorder.finish(&AnswerFacts::of(ticket));
    }

    /// Polls the timer, which serves both the heartbeat and the idle timeout. It is created when the stream first has
    /// no data and is moved to the next deadline only when it fires, so that passing chunks never touch the timer
    /// wheel.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let heartbeat_at = self.last_sent + self.heartbeat;
        // A dispatch applies its own timeouts, so only heartbeats are due in the other phases.
        let idle_deadline = match &self.phase {
            Phase::Flowing(flow, _) => self.last_received + flow.idle_timeout(),
            _ => heartbeat_at,
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(heartbeat_at.min(idle_deadline))));
        // The timer may have been set for an earlier deadline than the current ones. It stays ready after it has
        // fired, so each case below either returns or moves it and polls again, which registers the waker.
        loop {
            ready!(timer.as_mut().poll(context));
            let now = Instant::now();
            match &mut self.phase {
                Phase::Flowing(flow, _) if now >= idle_deadline => {
                    flow.give_up(fault::upstream_timeout(flow.instance(), flow.idle_timeout()));
                    return Poll::Ready(());
                }
                _ if now >= heartbeat_at => {
                    self.pending_bytes = Some(HEARTBEAT);
                    return Poll::Ready(());
                }
                // At least 1 ms ahead, so that rounding to the timer's resolution cannot cause a busy loop.
                _ => {
                    timer.as_mut().reset(heartbeat_at.min(idle_deadline).max(now + Duration::from_millis(1)))
                }
            }
        }
    }
}

fn closing_comment(ticket: &Ticket, more: &str) -> Bytes {
    let model =
        ticket.receipt.deployment().map(|deployment| deployment.target.selector()).unwrap_or_default();
    comment(&model, &ticket.receipt.attempts().to_string(), more).into()
}

/// The comment that tells what the head of an early response could not.
fn comment(model: &str, attempts: &str, more: &str) -> String {
    format!(": gatehouse model={model} attempts={attempts}{more}\n\n")
}

/// Limits on time and bytes for reading the usage of a complete answer after the client disconnected.
pub const READ_ON_TIME: Duration = Duration::from_secs(5);
pub const READ_ON_BYTES: usize = 1 << 20;

/// Settles a call whose client disconnected, estimated from what has passed. If the content was complete and only usage
/// was outstanding, that is read in the background, because the provider charges for the whole answer.
impl Drop for EventStream {
    fn drop(&mut self) {
        // In the other phases the ticket is already settled, or owned by the future: dropping that cancels the
        // dispatch and settles the ticket.
        let Phase::Flowing(mut flow, mut ticket) = std::mem::replace(&mut self.phase, Phase::Closed(None))
        else {
            return;
        };
        // Without a runtime (during shutdown) no task can be spawned.
        if flow.has_ended() || !flow.is_answered() || tokio::runtime::Handle::try_current().is_err() {
            flow.report(&mut ticket);
            settle_disconnected(&flow, ticket);
            return;
        }
        self.gateway.tasks.spawn(async move {
            let _ = tokio::time::timeout(READ_ON_TIME, flow.read_on(READ_ON_BYTES)).await;
            flow.report(&mut ticket);
            settle_disconnected(&flow, ticket);
        });
    }
}

/// Settles the call of a disconnected client by dropping its ticket, unless the response continues in the background:
/// then it is tracked until its end.
fn settle_disconnected(flow: &UpstreamStream, ticket: Box<Ticket>) {
    let id = ticket.receipt.receipt().map(|receipt| receipt.provider_id.clone()).unwrap_or_default();
    let pending = !flow.has_ended() && !id.is_empty() && tokio::runtime::Handle::try_current().is_ok();
    if pending && background::goes_on(&ticket) {
        background::follow(ticket, id);
    }
}
