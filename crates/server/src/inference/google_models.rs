//! `GET /v1beta/models` and `/v1beta/models/{model}`: the models that the caller may use, in Gemini's format.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::{Extension, Json};
use domain::call::Format;
use domain::fault::{self, Fault};
use http::HeaderMap;
use pipeline::call::arrival;
use pipeline::routing::models;
use pipeline::routing::resolve::access::Access;
use serde_json::{Value, json};

use crate::App;
use crate::authorized::{Authorized, Inference};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};
use crate::request_context::RequestContext;

/// List the models that the caller may use, in Gemini's format. Without `pageSize`, all of them.
#[utoipa::path(get, path = "/v1beta/models", operation_id = "list_google_models", tag = "inference",
    params(("pageSize" = Option<u32>, Query, description = "How many models to list, at most 1000"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before")),
    responses((status = 200, description = "A page of models", body = Value), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["inference"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Result<Authorized<Inference>, Problem>,
    headers: HeaderMap,
    Query(pairs): Query<Pairs>,
) -> Result<Json<Value>, Problem> {
    let list = || -> Result<Json<Value>, Problem> {
        let authorized = authorized?;
        let user_path = authorized.principal.user_path(arrival::user_path(|name| headers.get(name))?)?;
        let access =
            Access::new(&app.gateway.policy, &authorized.snapshot.routes, &authorized.principal, &user_path);
        let all = models::list_for_google(&access, app.gateway.policy.keep_only_aliases);
        Ok(Json(page(all, &pairs)?))
    };
    list().map_err(|problem| problem.in_dialect(Format::Gemini, context.request_id.as_str()))
}

/// Get one model by any name that a request accepts, in Gemini's format.
#[utoipa::path(get, path = "/v1beta/models/{*call}", operation_id = "get_google_model", tag = "inference",
    params(("call" = String, Path, description = "The model's name")),
    responses((status = 200, description = "The model", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Result<Authorized<Inference>, Problem>,
    headers: HeaderMap,
    named: Result<Named, Problem>,
) -> Result<Json<Value>, Problem> {
    let retrieve = || -> Result<Json<Value>, Problem> {
        let authorized = authorized?;
        let Named(id) = named?;
        let user_path = authorized.principal.user_path(arrival::user_path(|name| headers.get(name))?)?;
        let access =
            Access::new(&app.gateway.policy, &authorized.snapshot.routes, &authorized.principal, &user_path);
        Ok(Json(models::retrieve_for_google(&access, &id)?))
    };
    retrieve().map_err(|problem| problem.in_dialect(Format::Gemini, context.request_id.as_str()))
}

/// Cuts a page out of the list. A page token is the number of models before the page.
pub(super) fn page(all: Vec<Value>, pairs: &Pairs) -> Result<Value, Fault> {
    let size = query::integer(pairs, "pageSize", 0..=i64::MAX)?.unwrap_or(0);
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(1000);
    let start = match query::text(pairs, "pageToken") {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| {
            fault::invalid_parameter("pageToken", "'pageToken' must be the nextPageToken of the page before.")
        })?,
    };
    let end = if size == 0 { all.len() } else { all.len().min(start.saturating_add(size)) };
    let mut page = json!({"models": all.get(start..end).unwrap_or_default()});
    if end < all.len() {
        page["nextPageToken"] = end.to_string().into();
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_one_another() {
        let all: Vec<Value> = (0..5).map(Value::from).collect();
        for (pairs, models, next) in [
            (&[][..], json!([0, 1, 2, 3, 4]), None),
            (&[("pageSize", "0")], json!([0, 1, 2, 3, 4]), None),
            (&[("pageSize", "2")], json!([0, 1]), Some("2")),
            (&[("pageSize", "2"), ("pageToken", "2")], json!([2, 3]), Some("4")),
            (&[("pageSize", "2"), ("pageToken", "4")], json!([4]), None),
            (&[("pageSize", "9000")], json!([0, 1, 2, 3, 4]), None),
            (&[("pageToken", "9")], json!([]), None),
        ] {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let found = page(all.clone(), &pairs).unwrap();
            assert_eq!((&found["models"], found["nextPageToken"].as_str()), (&models, next), "{pairs:?}");
        }
        for (name, value) in [("pageSize", "-1"), ("pageSize", "x"), ("pageToken", "abc")] {
            let pairs = Pairs::from([(name.to_owned(), value.to_owned())]);
            assert_eq!(page(all.clone(), &pairs).unwrap_err().param.as_deref(), Some(name));
        }
    }
}
