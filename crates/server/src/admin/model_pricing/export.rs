//! `GET /model-pricing/export`: exports all operator prices for backup or import elsewhere.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault;
use domain::resources::model_price::ModelPrice;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use utoipa::ToSchema;

use super::csv;
use crate::App;
use crate::authorized::{Authorized, ModelPricing, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

/// An export of prices. With a `mode` added it is the body of an import.
#[derive(Serialize, ToSchema)]
pub struct PriceExport {
    pub version: u32,
    pub prices: Vec<ModelPrice>,
}

pub const VERSION: u32 = 1;

/// Export the operator's prices by selector.
#[utoipa::path(get, path = "/admin/api/v1/model-pricing/export", tag = "model-pricing", operation_id = "export",
    params(("format" = Option<String>, Query, description = "json (default) or csv")),
    responses((status = 200, description = "The prices", content((PriceExport = "application/json"), (String = "text/csv"))), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:model-pricing:read"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<ModelPricing>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let as_table = match query::text(&pairs, "format") {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(fault::invalid_parameter("format", "'format' is json or csv.").into()),
    };
    let stored = authorized.documents(&app).collection::<ModelPrice>().all().await?;
    let prices: Vec<ModelPrice> = stored.into_iter().map(|stored| stored.value).collect();
    let named = |kind: &str| format!("attachment; filename=\"model-pricing.{kind}\"");
    if as_table {
        let headers =
            [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, named("csv"))];
        return Ok((headers, csv::write(&prices)).into_response());
    }
    let headers = [(CONTENT_DISPOSITION, named("json"))];
    Ok((headers, Json(PriceExport { version: VERSION, prices })).into_response())
}
