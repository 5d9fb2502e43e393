//! The service in front of the router: assigns request ids, catches panics and handles CORS.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use domain::ids;
use futures_util::FutureExt as _;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use pipeline::call::arrival::RequestId;
use pipeline::call::response_headers::REQUEST_ID;
use tower::Service as _;

use crate::inference::chat;
use crate::request_context::{ConnectionSlot, Outgoing, RequestContext};
use crate::{App, azure, client_address, cors, fault, root_routes};

const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The top-level HTTP service around the router; one per process, cloned per connection.
#[derive(Clone)]
pub struct HttpService {
    app: Arc<App>,
    router: Router,
    /// The full path of chat completions, by far the most called route: served without the router.
    chat_path: Arc<str>,
    /// `BASE_PATH`, the prefix of every route, without a trailing slash.
    base_path: Arc<str>,
}

impl HttpService {
    pub fn new(app: Arc<App>) -> Self {
        let router = crate::router::routes(app.clone());
        let base_path: Arc<str> = app.config.base_path.trim_end_matches('/').into();
        let chat_path = format!("{base_path}{}", chat::PATH).into();
        Self { app, router, chat_path, base_path }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub async fn answer<B>(
        &self,
        request: Request<B>,
        client_ip: Option<IpAddr>,
        slot: Option<Arc<ConnectionSlot>>,
    ) -> Response<Outgoing>
    where
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Display,
    {
        let request_id = self.request_id(&request);
        let origin = cors::allowed_origin(&self.app.config.cors_origins, request.headers());
        if let Some(preflight) = cors::preflight(&request, origin.as_ref()) {
            return stamp(preflight.map(Outgoing::Framework), &request_id);
        }
        let trusted = &self.app.config.trusted_proxies;
        let behind_proxy = client_ip.is_some_and(|peer| client_address::is_trusted(peer, trusted));
        let client_ip = client_ip.map(|peer| client_address::resolve(peer, request.headers(), trusted));
        let context = RequestContext { request_id: request_id.clone(), client_ip, behind_proxy, slot };
        // Unwind safety is asserted because the request's state is dropped together with the panicked future.
        let served = AssertUnwindSafe(self.serve(request, context)).catch_unwind().await;
        let mut response = served.unwrap_or_else(|_| {
            tracing::error!(request_id = request_id.as_str(), "handler panicked");
            fault::answer(domain::fault::internal_error()).into_response().map(Outgoing::Framework)
        });
        cors::expose(response.headers_mut(), origin);
        forbid_buffering(response.headers_mut());
        stamp(response, &request_id)
    }

    /// Whether the handler of this path reads the body to its end before it starts: the inference API does, the
    /// passthrough forwards it as it arrives.
    pub(crate) fn needs_whole_body(&self, path: &str) -> bool {
        let path = path.strip_prefix(&*self.base_path).unwrap_or_default();
        path.starts_with("/v1") || path.starts_with("/openai/")
    }

    /// Answers a rejected request without routing it, and closes the connection because the bytes that follow cannot be
    /// trusted.
    pub(crate) fn refuse<B>(&self, request: &Request<B>, fault: domain::fault::Fault) -> Response<Outgoing> {
        let request_id = self.request_id(request);
        let problem = root_routes::in_dialect_of(request.uri(), request_id.as_str(), fault::answer(fault));
        let mut response = problem.into_response().map(Outgoing::Framework);
        response.headers_mut().insert(http::header::CONNECTION, http::HeaderValue::from_static("close"));
        stamp(response, &request_id)
    }

    /// The client's request id if it is usable, else a new one.
    fn request_id<B>(&self, request: &Request<B>) -> RequestId {
        let gateway = &self.app.gateway;
        RequestId::accept(request.headers().get(REQUEST_ID))
            .unwrap_or_else(|| RequestId::made(ids::unique(gateway.clock.now(), &*gateway.entropy)))
    }

    async fn serve<B>(&self, mut request: Request<B>, context: RequestContext) -> Response<Outgoing>
    where
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Display,
    {
        azure::rewrite(&mut request, &self.base_path);
        if request.method() == http::Method::POST && request.uri().path() == &*self.chat_path {
            // Boxed: the connection moves the future it polls several times.
            return Box::pin(chat::complete(&self.app, context, request)).await;
        }
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(context);
        // Boxed as well, so that this future is small for all.
        match Box::pin(self.router.clone().call(request)).await {
            Ok(response) => response.map(Outgoing::Framework),
            Err(never) => match never {},
        }
    }
}

/// Forbids proxies, above all nginx, to buffer event streams. Set here for every route: inference, passthrough, replays
/// and the admin API all stream.
fn forbid_buffering(headers: &mut HeaderMap) {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"text/event-stream") {
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    }
}

fn stamp(mut response: Response<Outgoing>, request_id: &RequestId) -> Response<Outgoing> {
    response.headers_mut().entry(REQUEST_ID).or_insert_with(|| request_id.header());
    response
}
