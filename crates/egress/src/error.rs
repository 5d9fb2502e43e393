//! Errors of outgoing calls. Messages contain no secrets.

use std::borrow::Cow;
use std::error::Error as _;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EgressErrorKind {
    Connect,
    Dns,
    Tls,
    ConnectTimeout,
    /// The destination rules do not permit this address.
    Forbidden,
    Reset,
    Closed,
    TooLarge,
    Protocol,
    /// The content encoding of the response is unknown or invalid.
    ContentEncoding,
    Proxy,
    InvalidUrl,
    /// All HTTP/2 connections to the origin are full. The request was not sent.
    Overloaded,
    /// The upstream refused the HTTP/2 stream, or closed its connection, before processing the request.
    Refused,
    /// The upstream closed the HTTP/2 connection with GOAWAY while the request was in flight.
    GoAway,
    /// The response was not read for too long, so its stream was reset.
    NotRead,
}

#[derive(Clone, Debug)]
pub struct EgressError {
    kind: EgressErrorKind,
    message: Cow<'static, str>,
}

impl EgressError {
    pub fn new(kind: EgressErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn kind(&self) -> EgressErrorKind {
        self.kind
    }

    /// True if the failure happened before any part of the request was sent.
    pub fn is_connect(&self) -> bool {
        use EgressErrorKind::{Connect, ConnectTimeout, Dns, Forbidden, InvalidUrl, Proxy, Tls};
        matches!(self.kind, Connect | ConnectTimeout | Dns | Forbidden | InvalidUrl | Proxy | Tls)
    }

    /// True if the failure indicates an unhealthy upstream. Running out of streams, the orderly end of a connection and
    /// unread responses do not.
    pub fn counts_in_health(&self) -> bool {
        use EgressErrorKind::{GoAway, NotRead, Overloaded, Refused};
        !matches!(self.kind, Overloaded | Refused | GoAway | NotRead)
    }

    /// A short, human-readable reason: "connection refused", "timed out connecting".
    pub fn reason(&self) -> &str {
        &self.message
    }

    pub(crate) fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(EgressErrorKind::Forbidden, message)
    }

    pub(crate) fn invalid_url(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(EgressErrorKind::InvalidUrl, message)
    }

    pub(crate) fn tls(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(EgressErrorKind::Tls, message)
    }

    pub(crate) fn proxy(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(EgressErrorKind::Proxy, message)
    }

    pub(crate) fn overloaded() -> Self {
        Self::new(EgressErrorKind::Overloaded, "all HTTP/2 connections to it are full")
    }

    pub(crate) fn refused() -> Self {
        Self::new(EgressErrorKind::Refused, "HTTP/2 stream refused before it was processed")
    }

    pub(crate) fn not_read() -> Self {
        Self::new(EgressErrorKind::NotRead, "HTTP/2 stream reset because its data was not read")
    }

    /// The source of a streamed request body failed.
    pub(crate) fn request_body(error: &(dyn std::error::Error + 'static)) -> Self {
        match error.downcast_ref::<io::Error>() {
            Some(error) => Self::broken(error),
            None => Self::new(EgressErrorKind::Closed, "connection closed"),
        }
    }

    pub(crate) fn request_length() -> Self {
        Self::new(EgressErrorKind::Closed, "the request's body does not have the announced length")
    }

    pub(crate) fn connect_timeout() -> Self {
        Self::new(EgressErrorKind::ConnectTimeout, "timed out connecting")
    }

    pub(crate) fn connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::connect_timeout(),
            _ => Self::new(EgressErrorKind::Connect, describe_io(error)),
        }
    }

    /// Classifies an error on an open connection.
    pub(crate) fn exchange(error: &hyper::Error) -> Self {
        use EgressErrorKind::{Closed, Protocol, TooLarge};
        if error.is_parse_too_large() {
            return Self::new(TooLarge, "the answer's header is too large");
        }
        if error.is_parse() {
            return Self::new(Protocol, "the answer is not valid HTTP");
        }
        if error.is_incomplete_message() {
            return Self::new(Closed, "connection closed before the answer was complete");
        }
        if error.is_timeout() {
            return Self::new(Closed, "connection timed out");
        }
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(cause) = cause.downcast_ref::<h2::Error>() {
                return Self::http2(cause);
            }
            if let Some(cause) = cause.downcast_ref::<io::Error>() {
                return Self::broken(cause);
            }
            if let Some(cause) = cause.downcast_ref::<hyper::Error>()
                && (cause.is_incomplete_message() || cause.is_parse())
            {
                return Self::exchange(cause);
            }
            source = cause.source();
        }
        Self::new(Closed, "connection closed")
    }

    fn http2(error: &h2::Error) -> Self {
        use EgressErrorKind::{GoAway, Protocol, Reset};
        if let Some(cause) = error.get_io() {
            return Self::broken(cause);
        }
        let reason = error.reason();
        let reason = reason.as_ref().map_or("unknown reason", h2::Reason::description);
        if error.is_go_away() {
            Self::new(GoAway, format!("connection closed by the upstream ({reason})"))
        } else if error.is_reset() {
            Self::new(Reset, format!("stream reset ({reason})"))
        } else {
            Self::new(Protocol, format!("HTTP/2 fault ({reason})"))
        }
    }

    /// Classifies an error of the socket of an open connection.
    pub(crate) fn broken(error: &io::Error) -> Self {
        use EgressErrorKind::{Closed, Protocol, Reset};
        let kind = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                Reset
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Protocol,
            _ => Closed,
        };
        Self::new(kind, describe_io(error))
    }
}

impl std::fmt::Display for EgressError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for EgressError {}

fn describe_io(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "connection reset".into(),
        io::ErrorKind::ConnectionAborted => "connection aborted".into(),
        io::ErrorKind::HostUnreachable => "host unreachable".into(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".into(),
        io::ErrorKind::UnexpectedEof => "connection closed before the answer was complete".into(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => "the answer's body is malformed".into(),
        kind => kind.to_string().into(),
    }
}
