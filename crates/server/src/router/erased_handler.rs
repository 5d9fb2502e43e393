//! A handler whose type is erased, so that the router's code is compiled once and not for each handler.

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use futures_util::future::BoxFuture;

use crate::App;

/// A handler of any signature, behind a function with the same signature for all.
#[derive(Clone, Copy)]
pub struct ErasedHandler(pub fn(Request, Arc<App>) -> BoxFuture<'static, Response>);

impl Handler<(), Arc<App>> for ErasedHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, app: Arc<App>) -> Self::Future {
        self.0(request, app)
    }
}
