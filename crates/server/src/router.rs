//! All routes in one place. The access that a route requires is in its handler's signature.

mod erased_handler;
mod openapi_document;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use futures_util::future::BoxFuture;
use tower::ServiceExt as _;
use utoipa::openapi::HttpMethod;
use utoipa_axum::{PathItemExt as _, routes};

use erased_handler::ErasedHandler;

use crate::admin::{
    self, aliases, audit, auth, auth_keys, budgets, cache, changes, cli_tools, combos, config, console,
    dashboard, explain, guardrails, identity, model_overrides, model_pricing, pools, providers,
    recalculation, runtime, settings, tenants, unpriced, usage, webhooks, workflows,
};
use crate::inference::{
    chat, gemini, google_models, messages, models, passthrough, plain, responses, websocket,
};
use crate::{App, dashboard_files, openapi, probes, root_routes, swagger};

/// Calls a macro with the handlers of the inference API, those of one path in one list.
macro_rules! inference {
    ($build:ident $($arguments:tt)*) => {
        $build! {
            $($arguments)*
            [probes::health]
            [probes::ready]
            [chat::create]
            [responses::create, websocket::open]
            [responses::retrieve, responses::delete]
            [responses::input_items]
            [responses::cancel]
            [responses::input_tokens]
            [responses::compact]
            [messages::create]
            [messages::count_tokens]
            [google_models::list]
            [google_models::retrieve, gemini::create]
            [plain::embeddings]
            [plain::rerank]
            [plain::completions]
            [models::list]
            [models::retrieve, gemini::create_v1]
            [
                passthrough::get,
                passthrough::post,
                passthrough::put,
                passthrough::patch,
                passthrough::delete,
                passthrough::options,
            ]
        }
    };
}

/// Calls a macro with the handlers of the admin API, those of one path in one list.
macro_rules! admin {
    ($build:ident $($arguments:tt)*) => {
        $build! {
            $($arguments)*
            [auth_keys::list::list, auth_keys::create]
            [auth_keys::read, auth_keys::replace::replace, auth_keys::end::delete]
            [auth_keys::rotate::rotate_own]
            [auth_keys::rotate::rotate]
            [auth_keys::end::deactivate]
            [auth_keys::stats::stats]
            [providers::list, providers::create]
            [providers::types]
            [providers::status]
            [providers::connection_test::test_unsaved]
            [providers::read, providers::replace, providers::delete]
            [providers::connection_test::test]
            [providers::discover]
            [admin::models::list]
            [admin::models::categories]
            [admin::models::catalog::catalog]
            [pools::list, pools::create]
            [pools::read, pools::replace, pools::delete]
            [combos::list, combos::create]
            [combos::read, combos::replace, combos::delete]
            [combos::validate]
            [guardrails::list]
            [guardrails::types::types]
            [guardrails::read, guardrails::replace, guardrails::delete]
            [guardrails::dry_run::test]
            [workflows::list, workflows::create]
            [workflows::versions]
            [workflows::references::guardrails]
            [workflows::read]
            [workflows::activation::activate]
            [workflows::activation::deactivate]
            [workflows::diff::diff]
            [aliases::list]
            [aliases::read, aliases::replace, aliases::delete]
            [model_overrides::list]
            [model_overrides::read, model_overrides::replace, model_overrides::delete]
            [model_pricing::list]
            [model_pricing::export::create]
            [model_pricing::import::create]
            [model_pricing::revisions::list]
            [model_pricing::revisions::restore]
            [model_pricing::read, model_pricing::replace, model_pricing::delete]
            [usage::summary::summary]
            [usage::daily::daily]
            [usage::breakdown::models]
            [usage::breakdown::user_paths]
            [usage::timeseries::timeseries]
            [usage::grouped::breakdown]
            [usage::me::me]
            [usage::log::log]
            [unpriced::list]
            [recalculation::create]
            [cache::overview::overview]
            [cache::debug::create]
            [cache::purge::create]
            [budgets::list]
            [budgets::reset::all]
            [budgets::reset::one]
            [budgets::settings::read, budgets::settings::replace]
            [budgets::forecast::read]
            [budgets::history::list]
            [budgets::replace, budgets::delete]
            [audit::log]
            [audit::export]
            [audit::stream]
            [audit::read]
            [audit::conversation]
            [dashboard::config]
            [auth::me::me]
            [auth::session::create]
            [auth::logout::create]
            [auth::login::create]
            [auth::refresh::create]
            [auth::tokens::revoke]
            [auth::oidc::callback::read, auth::oidc::callback::create]
            [auth::oidc::start]
            [identity::users::list, identity::users::create]
            [identity::users::read, identity::users::replace, identity::users::delete]
            [identity::user_roles::read, identity::user_roles::replace]
            [identity::roles::list, identity::roles::create]
            [identity::roles::permissions]
            [identity::roles::read, identity::roles::replace, identity::roles::delete]
            [identity::providers::list]
            [tenants::list, tenants::create]
            [tenants::read, tenants::replace, tenants::delete]
            [tenants::suspend]
            [tenants::activate]
            [changes::list]
            [console::recent]
            [console::stream]
            [explain::create]
            [explain::replay::create]
            [config::export::export]
            [config::plan::plan]
            [config::apply::apply]
            [runtime::status]
            [runtime::refresh::create]
            [runtime::replicas::list]
            [settings::list, settings::change]
            [dashboard::overview::overview]
            [webhooks::list]
            [webhooks::test]
            [webhooks::replay]
            [cli_tools::list]
            [cli_tools::read]
            [cli_tools::preview::create]
            [cli_tools::apply::apply]
            [cli_tools::apply::reset]
            [openapi_document::serve]
        }
    };
}

/// Builds a router of handlers, each with the path and method of its `#[utoipa::path]`. `@path` and `@resolve_types` are internal
/// rules of `routes!`: as a whole, it would build the services of each handler and its description together.
macro_rules! router {
    ($([$($first:ident $(:: $rest:ident)*),+ $(,)?])+) => {{
        let mut router = Router::new();
        $($({
            let path = routes!(@path [path()] of $first $(:: $rest)*);
            let methods = routes!(@path [methods()] of $first $(:: $rest)*);
            let handler = ErasedHandler(|request, app| Handler::call($first $(:: $rest)*, request, app));
            let on_method = |router: MethodRouter<_>, method: &HttpMethod| router.on(method.to_method_filter(), handler);
            router = router.route(&path, methods.iter().fold(MethodRouter::new(), on_method));
        })+)+
        router
    }};
}

/// Adds the operations of handlers to an OpenAPI document, and the schemas that they use.
macro_rules! operations {
    ($document:ident: $([$($first:ident $(:: $rest:ident)*),+ $(,)?])+) => {{
        let mut schemas = Vec::new();
        $($({
            let (path, operation, methods) = routes!(@resolve_types $first $(:: $rest)* : schemas);
            $document.paths.add_path_operation(path, methods, operation);
        })+)+
        $document.components.get_or_insert_default().schemas.extend(schemas);
    }};
}

/// The OpenAPI document of all routes, generated from their handlers. Only tests call it: its code takes megabytes, so a gateway
/// serves the copy in `openapi.json`, and the linker leaves the generator out of the binary.
pub fn generated_document() -> serde_json::Value {
    let mut document = openapi::base();
    inference!(operations document:);
    admin!(operations document:);
    // A parameter that may contain slashes is a wildcard in the router and a plain name in OpenAPI.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    openapi::tenant_parameter::add(&mut document);
    let mut document = serde_json::to_value(document).unwrap_or_default();
    openapi::constrain(&mut document);
    document
}

/// The generated document as it is published: with the errors and examples that no handler declares.
pub fn published_document() -> serde_json::Value {
    let mut document = generated_document();
    openapi::complete(&mut document);
    document
}

/// The admin API, built on the first request that no other route matches: its routes take memory that an idle gateway does
/// not need.
fn admin_on_demand() -> impl Fn(State<Arc<App>>, Request) -> BoxFuture<'static, Response> + Clone {
    let laid_out: Arc<OnceLock<Router>> = Arc::default();
    move |State(app), request| {
        let router = laid_out.get_or_init(|| {
            let router = admin!(router).fallback(root_routes::not_found);
            router.method_not_allowed_fallback(root_routes::method_not_allowed).with_state(app)
        });
        let answer = router.clone().oneshot(request);
        Box::pin(async { answer.await.into_response() })
    }
}

pub fn routes(app: Arc<App>) -> Router {
    let mut router = inference!(router).route("/", get(root_routes::front).head(root_routes::alive));
    if let Some(endpoint) = &app.config.metrics_endpoint {
        router = router.route(endpoint, get(root_routes::metrics));
    }
    if app.config.dashboard_enabled {
        router = router
            .route("/admin/dashboard", get(dashboard_files::index))
            .route("/admin/dashboard/", get(dashboard_files::index))
            .route("/admin/dashboard/{*file}", get(dashboard_files::file));
    }
    if app.config.swagger_enabled && app.config.admin_enabled {
        router = router.route("/swagger/{*file}", get(swagger::file));
    }
    let router = match app.config.admin_enabled {
        true => router.fallback(admin_on_demand()),
        false => router.fallback(root_routes::not_found),
    };
    let router = router.method_not_allowed_fallback(root_routes::method_not_allowed);
    let router = match app.config.base_path.trim_end_matches('/') {
        "" => router,
        base => Router::new().nest(base, router).fallback(root_routes::not_found),
    };
    router.with_state(app)
}
