//! One HTTP/1.1 connection, driven inline by whoever waits for its answer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use crate::error::EgressError;
use crate::outgoing::OutgoingBody;
use crate::signal::Signal;
use crate::transport::{Stream, Transport};

pub(crate) struct Http1 {
    sender: SendRequest<OutgoingBody>,
    /// `None` once it has ended.
    connection: Option<Connection<TokioIo<Transport>, OutgoingBody>>,
    signal: Arc<Signal>,
    waker: Waker,
    /// The runtime that watches the socket.
    home: tokio::runtime::Id,
}

/// A failed exchange, and whether the upstream said anything at all.
pub(crate) struct Failure {
    pub(crate) error: EgressError,
    pub(crate) silent: bool,
}

impl Http1 {
    pub(crate) async fn new(stream: Stream) -> Result<Box<Self>, EgressError> {
        let signal = Arc::new(Signal::default());
        let transport = Transport { stream, signal: Arc::clone(&signal), reader: None };
        // Hyper's own limit of 100 headers stays: with any other it sets up a list on the heap for every answer.
        let (sender, connection) = Builder::new()
            .handshake(TokioIo::new(transport))
            .await
            .map_err(|error| EgressError::exchange(&error))?;
        let waker = signal.waker();
        let home = tokio::runtime::Handle::current().id();
        Ok(Box::new(Self { sender, connection: Some(connection), signal, waker, home }))
    }

    pub(crate) fn home(&self) -> tokio::runtime::Id {
        self.home
    }

    pub(crate) async fn exchange(
        &mut self,
        request: Request<OutgoingBody>,
    ) -> Result<Response<Incoming>, Failure> {
        self.signal.clear_received();
        let mut answer = pin!(self.sender.try_send_request(request));
        let connection = &mut self.connection;
        let (signal, waker) = (&self.signal, &self.waker);
        let outcome = poll_fn(|context| {
            signal.enter(context);
            signal.forget_missed();
            advance(connection, waker);
            // Only the connection, polled just above, can complete the answer: no waker is needed.
            let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            signal.leave(polled.is_pending());
            polled
        })
        .await;
        outcome.map_err(|failure| Failure {
            error: EgressError::exchange(failure.error()),
            silent: !self.signal.has_received(),
        })
    }

    /// Runs `step` over what the connection has produced until it is done, the connection driven in between.
    pub(crate) fn poll_with<T>(
        &mut self,
        context: &mut Context<'_>,
        mut step: impl FnMut(&mut Context<'_>) -> Step<T>,
    ) -> Poll<T> {
        self.signal.enter(context);
        let mut noop = Context::from_waker(Waker::noop());
        let polled = loop {
            self.signal.forget_missed();
            advance(&mut self.connection, &self.waker);
            match step(&mut noop) {
                Step::Progress => {}
                Step::Starved => break Poll::Pending,
                Step::Done(value) => break Poll::Ready(value),
            }
        };
        self.signal.leave(polled.is_pending());
        polled
    }

    /// Drives the connection once; true when another request may follow.
    pub(crate) fn poll_reusable(&mut self, context: &mut Context<'_>) -> bool {
        self.signal.enter(context);
        advance(&mut self.connection, &self.waker);
        self.signal.leave(false);
        self.signal.detach();
        self.connection.is_some() && self.sender.is_ready()
    }
}

pub(crate) enum Step<T> {
    Progress,
    Starved,
    Done(T),
}

fn advance(connection: &mut Option<Connection<TokioIo<Transport>, OutgoingBody>>, waker: &Waker) {
    let ended = match connection {
        // Its result is not needed: the answer or the body carries the fault.
        Some(live) => Pin::new(live).poll(&mut Context::from_waker(waker)).is_ready(),
        None => false,
    };
    if ended {
        *connection = None;
    }
}
