//! A request to the HTTP service without a socket.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use server::HttpService;

use super::Answer;

pub struct Call<'a> {
    http_service: &'a HttpService,
    request: Request<Bytes>,
}

impl<'a> Call<'a> {
    pub fn new(http_service: &'a HttpService, method: Method, path: String) -> Self {
        let request = Request::builder().method(method).uri(path).body(Bytes::new()).unwrap();
        Self { http_service, request }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap();
        self.request.headers_mut().insert(HeaderName::from_static(name), value);
        self
    }

    pub fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    pub fn anonymous(mut self) -> Self {
        self.request.headers_mut().remove("authorization");
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    pub fn json(self, body: Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// The response with its unread body.
    pub async fn open(self) -> Response<Body> {
        let response =
            self.http_service.answer(self.request.map(Full::new), Some([192, 0, 2, 7].into()), None).await;
        response.map(Body::new)
    }

    pub async fn send(self) -> Answer {
        let (parts, body) = self.open().await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// The response; of a stream only the head, because some streams do not end by themselves.
    pub async fn glance(self) -> Answer {
        let (parts, body) = self.open().await.into_parts();
        let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let body = if streams { Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Status, code and param of the error that the call gets.
    pub async fn refusal(self) -> (u16, String, Option<String>) {
        self.send().await.refusal()
    }
}
