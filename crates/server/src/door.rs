//! The rim every request passes: its id, a rescue from panics, CORS. No decisions about calls.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::ids;
use futures_util::FutureExt as _;
use http::Request;
use pipeline::arrival::RequestId;
use pipeline::reply::REQUEST_ID;
use tower::Service as _;

use crate::{App, cors, fault};

/// The router behind its door; one per process, cloned per connection.
#[derive(Clone)]
pub struct Door {
    app: Arc<App>,
    router: Router,
}

/// What the rim knows about a request, for the handlers.
#[derive(Clone)]
pub struct Visit {
    pub request_id: RequestId,
    pub client_ip: Option<IpAddr>,
}

impl Door {
    pub fn new(app: Arc<App>) -> Self {
        let router = crate::router::routes(app.clone());
        Self { app, router }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub async fn answer<B>(&self, request: Request<B>, client_ip: Option<IpAddr>) -> Result<Response, Infallible>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut request = request.map(Body::new);
        let gateway = &self.app.gateway;
        let request_id = RequestId::accept(request.headers().get(REQUEST_ID))
            .unwrap_or_else(|| RequestId::made(ids::unique(gateway.clock.now(), &*gateway.entropy)));
        let origin = cors::allowed_origin(&self.app.config.cors_origins, request.headers());
        if let Some(preflight) = cors::preflight(&request, origin.as_ref()) {
            return Ok(stamp(preflight, &request_id));
        }
        request.extensions_mut().insert(Visit { request_id: request_id.clone(), client_ip });
        let served = AssertUnwindSafe(self.router.clone().call(request)).catch_unwind().await;
        let mut response = match served {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => {
                tracing::error!(request_id = request_id.as_str(), "a handler panicked");
                fault::answer(domain::fault::internal_error()).into_response()
            }
        };
        cors::expose(&mut response, origin);
        Ok(stamp(response, &request_id))
    }
}

fn stamp(mut response: Response, request_id: &RequestId) -> Response {
    response.headers_mut().entry(REQUEST_ID).or_insert_with(|| request_id.header());
    response
}
