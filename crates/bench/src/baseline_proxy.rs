//! The baseline proxy of the benchmark: forwards requests through the gateway's own connection pool after a key check.
//! The difference to it is the cost of the gateway itself.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::{Clock, Timestamp};
use egress::{Destination, Egress, EgressConfig, EgressError, InboundBody, Outbound, Trust};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Serves until the future is dropped; forwards every path under `upstream_url`.
pub async fn serve_floor(listener: TcpListener, upstream_url: &str, key: &str) -> io::Result<()> {
    let clock = Arc::new(SinceStart(Instant::now()));
    let egress = Egress::new(EgressConfig::default(), clock, TaskTracker::new()).map_err(io::Error::other)?;
    let destination = egress.destination(upstream_url, Trust::Operator).map_err(io::Error::other)?;
    let floor = Arc::new(Floor { egress, destination, digest: Sha256::digest(key).into() });
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let floor = Arc::clone(&floor);
        let service = service_fn(move |request| {
            let floor = Arc::clone(&floor);
            async move { floor.answer(request).await }
        });
        // Errors of a connection are ignored: they show up in the client's results.
        connections.spawn(async move {
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await)
        });
        while connections.try_join_next().is_some() {}
    }
}

struct Floor {
    egress: Egress,
    destination: Arc<Destination>,
    digest: [u8; 32],
}

type FloorBody = Either<InboundBody, Full<Bytes>>;

impl Floor {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<FloorBody>, EgressError> {
        if !self.knows(request.headers()) {
            return Ok(refusal(StatusCode::UNAUTHORIZED));
        }
        match self.forward(request).await {
            Ok(response) => Ok(response),
            Err(_) => Ok(refusal(StatusCode::BAD_GATEWAY)),
        }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let key = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        key.is_some_and(|key| Sha256::digest(key).ct_eq(&self.digest).into())
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<FloorBody>, Box<dyn std::error::Error + Send + Sync>> {
        let (head, body) = request.into_parts();
        let mut headers = HeaderMap::with_capacity(4);
        for name in [CONTENT_TYPE, AUTHORIZATION] {
            if let Some(value) = head.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        let path_and_query = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let body = gather(body).await?;
        let outbound = Outbound {
            destination: Arc::clone(&self.destination),
            method: head.method,
            path_and_query,
            headers: headers.into(),
            body: body.into(),
        };
        let inbound = self.egress.send(outbound).await?;
        let mut response = Response::new(Either::Left(inbound.body));
        *response.status_mut() = inbound.status;
        for name in [CONTENT_TYPE, CONTENT_LENGTH] {
            if let Some(value) = inbound.headers.get(&name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        Ok(response)
    }
}

/// Collects the frames of a body without copying them into one buffer.
async fn gather(mut body: Incoming) -> Result<Vec<Bytes>, hyper::Error> {
    let mut parts = Vec::with_capacity(1);
    while let Some(frame) = body.frame().await {
        parts.extend(frame?.into_data().ok());
    }
    Ok(parts)
}

fn refusal(status: StatusCode) -> Response<FloorBody> {
    let mut response = Response::new(Either::Right(Full::default()));
    *response.status_mut() = status;
    response
}

/// A clock without wall time, which this proxy never reads.
struct SinceStart(Instant);

impl Clock for SinceStart {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn tick(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadConfig, Stop, run_load};
    use crate::mock::{MockConfig, serve_mock};

    #[tokio::test]
    async fn carries_calls_and_streams_for_the_key_only() {
        let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream_url = format!("http://{}", upstream.local_addr().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let tasks = TaskTracker::new();
        tasks.spawn(serve_mock(upstream, MockConfig::default()));
        tasks.spawn(async move { serve_floor(listener, &upstream_url, "secret").await });
        for (stream, key, errors) in [(false, "secret", 0), (true, "secret", 0), (false, "wrong", 40)] {
            let config = LoadConfig {
                url: url.clone(),
                key: key.into(),
                stream,
                body_bytes: 50_000,
                connections: 4,
                stop: Stop::Requests(40),
                ..LoadConfig::default()
            };
            let report = run_load(config).await.unwrap();
            assert_eq!((report.requests, report.errors), (40, errors), "{:?}", report.first_error);
        }
    }
}
