//! `/admin/api/v1/model-pricing`: model prices from the catalogue and from the operator. Slashes need no encoding.

mod csv;
pub mod export;
pub mod import;
pub mod revisions;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::resources::model_price::ModelPrice;
use http::{HeaderMap, StatusCode};
use store::Stored;
use wire::vendors;

use super::crud::{self, Served};
use super::names::Names;
use super::record;
use crate::App;
use crate::authorized::{Authorized, ModelPricing, Read, Write};
use crate::body::Patch;
use crate::fault::Problem;
use crate::nearest;
use crate::path::Named;
use crate::query::{self, Pairs};
use crate::tenant_access::TenantAccess;

pub use view::{PriceSource, PriceView};

impl Served for ModelPrice {
    type View = PriceView;
    const TITLE: &'static str = "price of the operator's for";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> PriceView {
        view::show(&access.snapshot().routes, &stored.value.selector)
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        // The view shows the operator's price in `override`; its members may be sent there.
        let mut patch = patch.clone();
        patch.flatten("override");
        let mut body: Self = patch.over(known, &["source", "base", "effective"])?;
        let sent = Some(body.selector).filter(|sent| !sent.is_empty());
        body.selector = record::name("selector", sent, name.to_owned())?;
        Ok(body)
    }

    /// Checks the provider and completeness only: a model that no provider lists yet can have a price.
    fn check(&self, names: &Names) -> Result<(), Fault> {
        let (provider, _) = self.selector.split_once('/').unwrap_or((&self.selector, ""));
        if !names.routes.has_provider(provider) && vendors::find(provider).is_none() {
            let instances = names.routes.instances.keys().map(String::as_str);
            let types = vendors::list().iter().map(|vendor| vendor.name);
            let hint = nearest::hint(provider, instances.chain(types));
            let message = format!("'{provider}' is neither a provider nor a type of provider.{hint}");
            return Err(fault::invalid_parameter("selector", message));
        }
        if self.is_complete() || view::base(&names.routes, &self.selector).is_some() {
            return Ok(());
        }
        let missing = if self.input_per_mtok.is_none() { "input_per_mtok" } else { "output_per_mtok" };
        let message = format!(
            "The catalogue has no price for '{}', so this one must say what a call costs: name 'input_per_mtok' and \
             'output_per_mtok', or a flat price such as 'per_request'.",
            self.selector
        );
        Err(fault::invalid_parameter(missing, message))
    }
}

const MOST: i64 = 10_000;

/// List the prices of all models by selector.
#[utoipa::path(get, path = "/admin/api/v1/model-pricing", tag = "model-pricing",
    params(("search" = Option<String>, Query, description = "Part of the selector, in any case"),
        ("source" = Option<String>, Query, description = "missing, catalog or override"),
        ("provider" = Option<String>, Query, description = "Only this provider, by name or type"),
        ("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The prices; X-Total-Count has their number", body = Vec<PriceView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:model-pricing:read"])))]
pub async fn list(
    authorized: Authorized<Read<ModelPricing>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let page = record::page(&pairs, MOST, MOST)?;
    let source = query::text(&pairs, "source").map(PriceSource::parse).transpose()?;
    let search = query::text(&pairs, "search").map(str::to_lowercase);
    let provider = query::text(&pairs, "provider");
    let mut views = view::all(&authorized.snapshot.routes, |selector, instance, provider_type| {
        search.as_ref().is_none_or(|search| selector.to_lowercase().contains(search))
            && provider.is_none_or(|provider| provider == instance || provider == provider_type)
    });
    views.retain(|view| source.is_none_or(|source| view.source == source));
    Ok(record::paged(page, views, |view| view))
}

/// Get the price of a model.
#[utoipa::path(get, path = "/admin/api/v1/model-pricing/{*selector}", tag = "model-pricing",
    params(("selector" = String, Path, description = "provider/model")),
    responses((status = 200, description = "The price; with an ETag where it is the operator's own", body = PriceView),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such model")),
    security(("bearer" = ["admin:model-pricing:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<ModelPricing>>,
    Named(selector): Named,
) -> Result<Response, Problem> {
    let routes = &authorized.snapshot.routes;
    let stored = authorized.documents(&app).collection::<ModelPrice>().get_readable(&selector).await?;
    match stored {
        Some(stored) => Ok(record::answer(StatusCode::OK, &stored.etag(), view::show(routes, &selector))),
        None if view::is_known(routes, &selector) => Ok(Json(view::show(routes, &selector)).into_response()),
        None => Err(fault::not_found(format!("There is no model '{selector}' and no price for it.")).into()),
    }
}

/// Set the price of a model: fields that are set replace those of the catalogue.
#[utoipa::path(put, path = "/admin/api/v1/model-pricing/{*selector}", tag = "model-pricing",
    params(("selector" = String, Path, description = "provider/model; the provider is an instance or a type")),
    request_body = ModelPrice,
    responses((status = 200, description = "Replaced", body = PriceView), (status = 201, description = "Created", body = PriceView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:model-pricing:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelPricing>>,
    Named(selector): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<ModelPrice>(
        &authorized.documents(&app),
        authorized.principal.actor(),
        &selector,
        &headers,
        &patch,
    )
    .await
}

/// Delete the operator's price: the catalogue's price, if any, applies again.
#[utoipa::path(delete, path = "/admin/api/v1/model-pricing/{*selector}", tag = "model-pricing",
    params(("selector" = String, Path, description = "provider/model")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such price"), (status = 409, description = "Configured in the file"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:model-pricing:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelPricing>>,
    Named(selector): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<ModelPrice>(&authorized.documents(&app), authorized.principal.actor(), &selector, &headers)
        .await
}
