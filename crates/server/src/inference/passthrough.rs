//! `/p/{provider}/{endpoint}`: passes requests of any method to a provider's own API, authenticated with gateway keys.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::call::{Format, Surface};
use http::Method;
use pipeline::passthrough::{self, PassthroughRoute, ROUTE};

use super::call::{self, Endpoint};
use crate::App;
use crate::fault::Problem;
use crate::request_context::RequestContext;
use crate::root_routes;

const ENDPOINT: Endpoint = Endpoint { path: ROUTE, surface: Surface::Converse(Format::Chat) };

macro_rules! passes {
    ($($method:ident: $title:literal;)*) => {$(
        #[doc = $title]
        #[utoipa::path($method, path = "/p/{provider}/{*endpoint}", tag = "passthrough",
            params(
                ("provider" = String, Path, description = "A provider's instance name or type"),
                ("endpoint" = String, Path, description = "The path below the provider's base URL; a leading `v1/` may stand or not")),
            request_body(content((serde_json::Value = "application/json"), (Vec<u8> = "application/octet-stream")),
                description = "Passed on as it is"),
            responses(
                (status = 200, description = "As the provider answered",
                    content((serde_json::Value = "application/json"), (Vec<u8> = "application/octet-stream"), (String = "text/event-stream"))),
                (status = 201, description = "As the provider answered"), (status = 202, description = "As the provider answered"),
                (status = 204, description = "As the provider answered"),
                (status = 400, description = "The provider or the gateway refused the request"),
                (status = 401, description = "The gateway refused the key, or the provider the gateway's own"),
                (status = 403, description = "Not allowed for this key"), (status = 404, description = "No such provider"),
                (status = 502, description = "The provider could not be reached")),
            security(("bearer" = ["inference"])))]
        pub async fn $method(
            State(app): State<Arc<App>>,
            Extension(context): Extension<RequestContext>,
            request: Request,
        ) -> Response {
            pass(&app, context, request).await
        }
    )*};
}

passes! {
    get: "Read from a provider's own API.";
    post: "Post to a provider's own API.";
    put: "Put to a provider's own API.";
    patch: "Patch in a provider's own API.";
    delete: "Delete in a provider's own API.";
    options: "Ask a provider's own API what it takes.";
}

async fn pass(app: &App, context: RequestContext, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let named = parts.uri.path().strip_prefix("/p/").and_then(|rest| rest.split_once('/'));
    let Some((provider, endpoint)) = named.filter(|_| app.gateway.policy.passthrough.enabled) else {
        return root_routes::not_found(parts.uri, Extension(context)).await.into_response();
    };
    let wanted = PassthroughRoute {
        method: parts.method.clone(),
        provider: provider.to_owned(),
        endpoint: endpoint.to_owned(),
    };
    let mut arrival = call::arrival(app, context, parts, ENDPOINT);
    arrival.method = name(&wanted.method);
    match passthrough::run(&app.gateway, arrival, wanted, body).await {
        Ok(passed) => {
            let mut response = Response::new(Body::new(passed.body));
            *response.status_mut() = passed.status;
            *response.headers_mut() = passed.headers;
            response
        }
        Err(refused) => Problem::from(refused).into_response(),
    }
}

fn name(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|name| *name == method.as_str()).unwrap_or_default()
}
