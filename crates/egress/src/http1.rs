//! An HTTP/1.1 connection that is driven inline by the task that waits for its response.

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
    /// `None` once the connection has ended.
    connection: Option<Connection<TokioIo<Transport>, OutgoingBody>>,
    signal: Arc<Signal>,
    waker: Waker,
    /// The runtime whose reactor the socket is registered with.
    home: tokio::runtime::Id,
}

/// A failed exchange; `silent` if there is no sign that the upstream responded.
pub(crate) struct Failure {
    pub(crate) error: EgressError,
    pub(crate) silent: bool,
}

impl Http1 {
    pub(crate) async fn new(stream: Stream) -> Result<Box<Self>, EgressError> {
        let signal = Arc::new(Signal::default());
        let transport = Transport { stream, signal: Arc::clone(&signal), reader: None };
        // Keep hyper's default limit of 100 headers: with any other limit it allocates the header list on the heap for
        // every response.
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
            // Only the connection, polled just above, can complete the response, so this poll needs no waker.
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

    /// Alternates between driving the connection and running `step` on its output, until `step` is done or starved.
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

    /// Drives the connection once; true if it can take another request.
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
        // The result is not needed: errors are reported through the response future or the body.
        Some(live) => Pin::new(live).poll(&mut Context::from_waker(waker)).is_ready(),
        None => false,
    };
    if ended {
        *connection = None;
    }
}
