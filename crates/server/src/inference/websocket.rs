//! `GET /v1/responses` as a WebSocket: each client message requests a response, each event of it is sent as a message.

mod request;
mod session;

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault::{Fault, FaultCode};

use crate::App;
use crate::authorized::{Authorized, Inference};
use crate::fault::Problem;
use crate::request_context::RequestContext;

/// Stream the events of `POST /v1/responses` over a WebSocket. Send `{"type":"response.create", …}`.
#[utoipa::path(get, path = "/v1/responses", operation_id = "open_response_socket", tag = "inference",
    responses((status = 101, description = "Switching to a WebSocket"), (status = 401, description = "Unauthorized"),
        (status = 426, description = "Not a WebSocket handshake")),
    security(("bearer" = ["inference"])))]
pub async fn open(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    _: Authorized<Inference>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let limit = usize::try_from(app.gateway.policy.body_limit).unwrap_or(usize::MAX);
    match WebSocketUpgrade::from_request_parts(&mut parts, &app).await {
        Ok(upgrade) => {
            let tasks = app.gateway.tasks.clone();
            let session = session::Session::new(app, context, parts);
            upgrade
                .max_message_size(limit)
                .max_frame_size(limit)
                .on_upgrade(move |socket| tasks.track_future(session.run(socket)))
        }
        Err(_) => {
            let message = "Here a response is created with POST, or over a WebSocket.";
            let fault = Fault { status: 426, ..Fault::new(FaultCode::MethodNotAllowed, message) };
            let mut response = Problem::from(fault).into_response();
            response.headers_mut().insert(http::header::UPGRADE, http::HeaderValue::from_static("websocket"));
            response
        }
    }
}
