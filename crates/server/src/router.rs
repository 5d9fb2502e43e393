//! All routes in one place. The access that a route requires is in its handler's signature.

mod openapi_document;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::future::BoxFuture;
use tower::ServiceExt as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admin::{
    self, aliases, audit, auth, auth_keys, budgets, cache, changes, cli_tools, combos, config, console,
    dashboard, explain, guardrails, identity, model_overrides, model_pricing, pools, providers,
    recalculation, runtime, settings, tenants, unpriced, usage, webhooks, workflows,
};
use crate::inference::{
    chat, gemini, google_models, messages, models, passthrough, plain, responses, websocket,
};
use crate::{App, dashboard_files, known_query, openapi, probes, root_routes, swagger, unknown_route};

fn inference() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(probes::health))
        .routes(routes!(probes::ready))
        .routes(routes!(chat::create))
        .routes(routes!(responses::create, websocket::open))
        .routes(routes!(responses::retrieve, responses::delete))
        .routes(routes!(responses::input_items))
        .routes(routes!(responses::cancel))
        .routes(routes!(responses::input_tokens))
        .routes(routes!(responses::compact))
        .routes(routes!(messages::create))
        .routes(routes!(messages::count_tokens))
        .routes(routes!(google_models::list))
        .routes(routes!(google_models::retrieve, gemini::create))
        .routes(routes!(plain::embeddings))
        .routes(routes!(plain::rerank))
        .routes(routes!(plain::completions))
        .routes(routes!(models::list))
        .routes(routes!(models::retrieve, gemini::create_v1))
        .routes(routes!(
            passthrough::get,
            passthrough::post,
            passthrough::put,
            passthrough::patch,
            passthrough::delete,
            passthrough::options
        ))
}

fn admin() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(auth_keys::list::list, auth_keys::create))
        .routes(routes!(auth_keys::read, auth_keys::replace::replace, auth_keys::end::delete))
        .routes(routes!(auth_keys::rotate::rotate_own))
        .routes(routes!(auth_keys::rotate::rotate))
        .routes(routes!(auth_keys::end::deactivate))
        .routes(routes!(auth_keys::stats::stats))
        .routes(routes!(providers::list, providers::create))
        .routes(routes!(providers::types))
        .routes(routes!(providers::status))
        .routes(routes!(providers::connection_test::test_unsaved))
        .routes(routes!(providers::read, providers::replace, providers::delete))
        .routes(routes!(providers::connection_test::test))
        .routes(routes!(providers::discover))
        .routes(routes!(admin::models::list))
        .routes(routes!(admin::models::categories))
        .routes(routes!(admin::models::catalog::catalog))
        .routes(routes!(pools::list, pools::create))
        .routes(routes!(pools::read, pools::replace, pools::delete))
        .routes(routes!(combos::list, combos::create))
        .routes(routes!(combos::read, combos::replace, combos::delete))
        .routes(routes!(combos::validate))
        .routes(routes!(guardrails::list))
        .routes(routes!(guardrails::types::types))
        .routes(routes!(guardrails::read, guardrails::replace, guardrails::delete))
        .routes(routes!(guardrails::dry_run::test))
        .routes(routes!(workflows::list, workflows::create))
        .routes(routes!(workflows::versions))
        .routes(routes!(workflows::references::guardrails))
        .routes(routes!(workflows::read))
        .routes(routes!(workflows::activation::activate))
        .routes(routes!(workflows::activation::deactivate))
        .routes(routes!(workflows::diff::diff))
        .routes(routes!(aliases::list))
        .routes(routes!(aliases::read, aliases::replace, aliases::delete))
        .routes(routes!(model_overrides::list))
        .routes(routes!(model_overrides::read, model_overrides::replace, model_overrides::delete))
        .routes(routes!(model_pricing::list))
        .routes(routes!(model_pricing::export::create))
        .routes(routes!(model_pricing::import::create))
        .routes(routes!(model_pricing::revisions::list))
        .routes(routes!(model_pricing::revisions::restore))
        .routes(routes!(model_pricing::read, model_pricing::replace, model_pricing::delete))
        .routes(routes!(usage::summary::summary))
        .routes(routes!(usage::daily::daily))
        .routes(routes!(usage::breakdown::models))
        .routes(routes!(usage::breakdown::user_paths))
        .routes(routes!(usage::timeseries::timeseries))
        .routes(routes!(usage::grouped::breakdown))
        .routes(routes!(usage::me::me))
        .routes(routes!(usage::log::log))
        .routes(routes!(unpriced::list))
        .routes(routes!(recalculation::create))
        .routes(routes!(cache::overview::overview))
        .routes(routes!(cache::debug::create))
        .routes(routes!(cache::purge::create))
        .routes(routes!(budgets::list))
        .routes(routes!(budgets::reset::all))
        .routes(routes!(budgets::reset::one))
        .routes(routes!(budgets::settings::read, budgets::settings::replace))
        .routes(routes!(budgets::forecast::read))
        .routes(routes!(budgets::history::list))
        .routes(routes!(budgets::replace, budgets::delete))
        .routes(routes!(audit::log))
        .routes(routes!(audit::export))
        .routes(routes!(audit::stream))
        .routes(routes!(audit::read))
        .routes(routes!(audit::conversation))
        .routes(routes!(dashboard::config))
        .routes(routes!(auth::me::me))
        .routes(routes!(auth::session::create))
        .routes(routes!(auth::logout::create))
        .routes(routes!(auth::login::create))
        .routes(routes!(auth::refresh::create))
        .routes(routes!(auth::tokens::revoke))
        .routes(routes!(auth::oidc::callback::read, auth::oidc::callback::create))
        .routes(routes!(auth::oidc::start))
        .routes(routes!(identity::users::list, identity::users::create))
        .routes(routes!(identity::users::read, identity::users::replace, identity::users::delete))
        .routes(routes!(identity::user_roles::read, identity::user_roles::replace))
        .routes(routes!(identity::roles::list, identity::roles::create))
        .routes(routes!(identity::roles::permissions))
        .routes(routes!(identity::roles::read, identity::roles::replace, identity::roles::delete))
        .routes(routes!(identity::providers::list))
        .routes(routes!(tenants::list, tenants::create))
        .routes(routes!(tenants::read, tenants::replace, tenants::delete))
        .routes(routes!(tenants::suspend))
        .routes(routes!(tenants::activate))
        .routes(routes!(changes::list))
        .routes(routes!(console::recent))
        .routes(routes!(console::stream))
        .routes(routes!(explain::create))
        .routes(routes!(explain::replay::create))
        .routes(routes!(config::export::export))
        .routes(routes!(config::plan::plan))
        .routes(routes!(config::apply::apply))
        .routes(routes!(runtime::status))
        .routes(routes!(runtime::refresh::create))
        .routes(routes!(runtime::replicas::list))
        .routes(routes!(settings::list, settings::change))
        .routes(routes!(dashboard::overview::overview))
        .routes(routes!(webhooks::list))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhooks::replay))
        .routes(routes!(cli_tools::list))
        .routes(routes!(cli_tools::read))
        .routes(routes!(cli_tools::preview::create))
        .routes(routes!(cli_tools::apply::apply))
        .routes(routes!(cli_tools::apply::reset))
        .routes(routes!(openapi_document::serve))
}

fn documented(admin_enabled: bool) -> OpenApiRouter<Arc<App>> {
    let router = OpenApiRouter::with_openapi(openapi::base()).merge(inference());
    if admin_enabled { router.merge(admin()) } else { router }
}

/// The OpenAPI document of all routes.
pub fn document() -> OpenApi {
    let mut document = documented(true).into_openapi();
    // A parameter that may contain slashes is a wildcard in the router and a plain name in OpenAPI.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    openapi::tenant_parameter::add(&mut document);
    document
}

/// The OpenAPI document as it is published: with the errors and examples that no handler declares.
pub fn published_document() -> serde_json::Value {
    let mut document = serde_json::to_value(document()).unwrap_or_default();
    openapi::complete(&mut document);
    document
}

/// The admin API, built on the first request that no other route matches: its routes and OpenAPI documents take memory
/// that an idle gateway does not need.
fn admin_on_demand() -> impl Fn(State<Arc<App>>, Request) -> BoxFuture<'static, Response> + Clone {
    let laid_out: Arc<OnceLock<Router>> = Arc::default();
    move |State(app), request| {
        let router = laid_out.get_or_init(|| {
            let (router, mut document) = admin().split_for_parts();
            openapi::tenant_parameter::add(&mut document);
            known_query::install(document);
            let router = router.fallback(root_routes::not_found);
            router.method_not_allowed_fallback(root_routes::method_not_allowed).with_state(app)
        });
        let answer = router.clone().oneshot(request);
        Box::pin(async { answer.await.into_response() })
    }
}

/// The path templates of all routes.
fn templates() -> Vec<String> {
    document().paths.paths.into_keys().collect()
}

pub fn routes(app: Arc<App>) -> Router {
    unknown_route::install(templates);
    let (mut router, _) = documented(false).split_for_parts();
    router = router.route("/", get(root_routes::front).head(root_routes::alive));
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
