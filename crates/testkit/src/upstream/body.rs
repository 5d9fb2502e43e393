//! Plays the steps of an answer as a response body and updates the bill.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::answer::Step;
use super::bill::Entry;
use super::resettable_stream::ResetSwitch;

/// Delay before a reset or close, so that the bytes written before it arrive first.
pub(super) const BEFORE_BREAK: Duration = Duration::from_millis(20);

pub(super) struct Playback {
    steps: VecDeque<Step>,
    length: Option<u64>,
    sleep: Option<Pin<Box<Sleep>>>,
    entry: Entry,
    reset: ResetSwitch,
    breaking: bool,
}

impl Playback {
    pub fn new(steps: Vec<Step>, length: Option<u64>, entry: Entry, reset: ResetSwitch) -> Self {
        Self { steps: steps.into(), length, sleep: None, entry, reset, breaking: false }
    }

    pub fn whole(body: impl Into<Bytes>, reset: ResetSwitch) -> Self {
        let body = body.into();
        let length = Some(body.len() as u64);
        Self::new(vec![Step::send(body)], length, Entry::default(), reset)
    }

    fn broken_off(&mut self) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(Some(Err(io::Error::other("the script breaks off here"))))
    }

    fn rest(&mut self, pause: Duration) {
        self.sleep = Some(Box::pin(tokio::time::sleep(pause)));
    }
}

impl Body for Playback {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            if self.breaking {
                return self.broken_off();
            }
            match self.steps.pop_front() {
                None => {
                    self.entry.finish();
                    return Poll::Ready(None);
                }
                Some(Step::Send { bytes, completion, reasoning }) => {
                    self.entry.sent(completion, reasoning);
                    if self.steps.is_empty() {
                        self.entry.finish();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Repeat { bytes, pause, completion }) => {
                    self.entry.sent(completion, 0);
                    self.steps.push_front(Step::Repeat { bytes: bytes.clone(), pause, completion });
                    if !pause.is_zero() {
                        self.rest(pause);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Wait(pause)) => self.rest(pause),
                // No waker is needed: the connection notices that the client closed and drops this body.
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                Some(Step::Reset) => {
                    self.reset.arm();
                    self.entry.break_off();
                    self.breaking = true;
                    self.rest(BEFORE_BREAK);
                }
                Some(Step::Cut) => {
                    self.entry.break_off();
                    self.breaking = true;
                    self.rest(BEFORE_BREAK);
                }
                Some(Step::End) => {
                    self.entry.break_off();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
