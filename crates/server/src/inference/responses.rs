//! `/v1/responses` and the routes of a stored response.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use pipeline::call::arrival;
use pipeline::responses::{Items, ResponseLookup};
use pipeline::services::body_work::LARGE_BODY;
use pipeline::{compact, count};
use serde_json::Value;
use store::Owner;
use wire::json;

use super::call::{self, Endpoint};
use crate::App;
use crate::authorized::{Authorized, Inference};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};
use crate::request_context::RequestContext;

pub(crate) const CREATE: Endpoint =
    Endpoint { path: "/v1/responses", surface: Surface::Converse(Format::Responses) };

/// Create a response, streaming or not. The body is OpenAI's; `previous_response_id` works on every provider.
#[utoipa::path(post, path = "/v1/responses", operation_id = "create_response", tag = "inference",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = Value, description = "An OpenAI responses request"),
    responses(
        (status = 200, description = "A response, or a stream of its events ending in [DONE]"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not allowed for this key"), (status = 404, description = "No such model or previous response"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 413, description = "Body too large"), (status = 429, description = "Rate limited"),
        (status = 502, description = "The provider failed"), (status = 504, description = "The provider was too slow")),
    security(("bearer" = ["inference"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    call::answer(&app, context, request, CREATE).await.map(Body::new)
}

/// Retrieve a stored response, or one that only a provider stores.
#[utoipa::path(get, path = "/v1/responses/{id}", operation_id = "retrieve_response", tag = "inference",
    params(("id" = String, Path, description = "The response"),
        ("provider" = Option<String>, Query, description = "The provider to ask when the response is not stored here")),
    responses((status = 200, description = "The response", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such response of yours"), (status = 501, description = "The provider has no retrieval")),
    security(("bearer" = ["inference"])))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Named(id): Named,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let body = inquiry(&app, &authorized, &headers, &id, &pairs)?.retrieve().await?;
    Ok(document(body))
}

/// Delete a response in the gateway, and at its provider if it supports deletion.
#[utoipa::path(delete, path = "/v1/responses/{id}", operation_id = "delete_response", tag = "inference",
    params(("id" = String, Path, description = "The response"),
        ("provider" = Option<String>, Query, description = "The provider to ask when the response is not stored here")),
    responses((status = 200, description = "Deleted", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such response of yours"), (status = 501, description = "The provider has no deletion")),
    security(("bearer" = ["inference"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Named(id): Named,
    Query(pairs): Query<Pairs>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(inquiry(&app, &authorized, &headers, &id, &pairs)?.delete().await?))
}

/// List the input items of a response as they were sent.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", tag = "inference",
    params(("id" = String, Path, description = "The response"),
        ("limit" = Option<i64>, Query, description = "1 to 100; all items without it"),
        ("order" = Option<String>, Query, description = "asc (default) or desc"),
        ("after" = Option<String>, Query, description = "The item to go on after"),
        ("provider" = Option<String>, Query, description = "The provider to ask when the response is not stored here")),
    responses((status = 200, description = "The list of items", body = Value), (status = 400, description = "Invalid query"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such response of yours"),
        (status = 501, description = "The provider does not list items")),
    security(("bearer" = ["inference"])))]
pub async fn input_items(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Named(id): Named,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let page = Page::read(&pairs)?;
    let query = page.query();
    let items = inquiry(&app, &authorized, &headers, &id, &pairs)?.input_items(query.as_deref()).await?;
    match items {
        Items::Kept(items) if items.len() < LARGE_BODY => Ok(document(page.cut(&id, &items)?)),
        Items::Kept(items) => {
            let cut = move || page.cut(&id, &items);
            Ok(document(app.gateway.body_work.run(&app.gateway.tasks, cut).await??))
        }
        Items::Native(list) => Ok(document(list)),
    }
}

/// Cancel a background response that is still in progress, if its provider supports cancellation.
#[utoipa::path(post, path = "/v1/responses/{id}/cancel", operation_id = "cancel_response", tag = "inference",
    params(("id" = String, Path, description = "The response"),
        ("provider" = Option<String>, Query, description = "The provider to ask when the response is not stored here")),
    responses((status = 200, description = "The response", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such response of yours"), (status = 501, description = "The provider has no cancellation")),
    security(("bearer" = ["inference"])))]
pub async fn cancel(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Named(id): Named,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let body = inquiry(&app, &authorized, &headers, &id, &pairs)?.cancel().await?;
    Ok(document(body))
}

/// Count the input tokens of a request: by the provider if it supports counting, else by the gateway's own tokenizer.
#[utoipa::path(post, path = "/v1/responses/input_tokens", tag = "inference",
    request_body(content = Value, description = "An OpenAI responses request"),
    responses((status = 200, description = "The number of input tokens", body = Value),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn input_tokens(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Result<(HeaderMap, Json<Value>), Problem> {
    let (parts, body) = request.into_parts();
    let endpoint = Endpoint { path: "/v1/responses/input_tokens", ..CREATE };
    let arrival = call::arrival(&app, context, parts, endpoint);
    let (headers, counted) = count::responses(&app.gateway, arrival, body).await?;
    Ok((headers, Json(counted)))
}

/// Compact a conversation, if the provider supports compaction.
#[utoipa::path(post, path = "/v1/responses/compact", operation_id = "compact_response", tag = "inference",
    request_body(content = Value, description = "An OpenAI compaction request"),
    responses((status = 200, description = "The compacted conversation", body = Value),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model"), (status = 501, description = "The provider has no compaction")),
    security(("bearer" = ["inference"])))]
pub async fn compact(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let endpoint = Endpoint { path: "/v1/responses/compact", ..CREATE };
    let arrival = call::arrival(&app, context, parts, endpoint);
    let (headers, compacted) = compact::compact(&app.gateway, arrival, body).await?;
    Ok((headers, document(compacted)).into_response())
}

fn document(body: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

fn inquiry<'a>(
    app: &'a App,
    authorized: &'a Authorized<Inference>,
    headers: &HeaderMap,
    id: &'a str,
    pairs: &'a Pairs,
) -> Result<ResponseLookup<'a>, Fault> {
    let principal = &authorized.principal;
    let owner = Owner {
        key: principal.actor().to_owned(),
        user_path: principal.user_path(arrival::user_path(|name| headers.get(name))?)?.as_str().to_owned(),
        tenant: principal.tenant().map(|tenant| tenant.to_string()),
    };
    let provider = query::text(pairs, "provider");
    Ok(ResponseLookup {
        gateway: &app.gateway,
        snapshot: &authorized.snapshot,
        principal,
        owner,
        id,
        provider,
    })
}

/// The requested page of a response's items.
struct Page {
    limit: Option<usize>,
    descending: bool,
    after: Option<String>,
}

impl Page {
    fn read(pairs: &Pairs) -> Result<Self, Fault> {
        let limit = query::integer(pairs, "limit", 1..=100)?.map(|limit| limit as usize);
        let descending = match query::text(pairs, "order") {
            None | Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(fault::invalid_parameter("order", "'order' is asc or desc.")),
        };
        Ok(Self { limit, descending, after: query::text(pairs, "after").map(str::to_owned) })
    }

    /// The query string that requests the same page from a provider.
    fn query(&self) -> Option<String> {
        let limit = self.limit.map(|limit| format!("limit={limit}"));
        let after = self
            .after
            .as_ref()
            .filter(|after| after.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'&'));
        let after = after.map(|after| format!("after={after}"));
        let order = Some(format!("order={}", if self.descending { "desc" } else { "asc" }));
        let parts: Vec<String> = [limit, order, after].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("&"))
    }

    /// Cuts the page out of a JSON array; items stay byte for byte as sent. Generated item ids appear only in the
    /// page's own fields.
    fn cut(&self, response: &str, items: &[u8]) -> Result<Bytes, Fault> {
        let elements = json::scan_array(items, 0..items.len()).unwrap_or_default();
        let at = |place: usize| if self.descending { elements.len() - 1 - place } else { place };
        let id = |place: usize| {
            let index = at(place);
            let item = json::scan_within(items, elements[index].clone()).ok();
            let own = item.and_then(|item| item.value(items, "id"));
            let own = own.and_then(|range| json::string_at(items, &range));
            own.map_or_else(
                || format!("item_{}_{index}", response.trim_start_matches("resp_")),
                |own| own.into_owned(),
            )
        };
        let start = match &self.after {
            None => 0,
            Some(after) => {
                let place = (0..elements.len()).position(|place| id(place) == *after);
                let unknown = || fault::invalid_parameter("after", "'after' names none of the items.");
                place.ok_or_else(unknown)? + 1
            }
        };
        let end = self.limit.map_or(elements.len(), |limit| elements.len().min(start + limit));
        let mut page = b"{\"object\":\"list\",\"data\":[".to_vec();
        for place in start..end {
            if place > start {
                page.push(b',');
            }
            page.extend_from_slice(&items[elements[at(place)].clone()]);
        }
        let named = |place: Option<usize>| place.map_or(Value::Null, |place| id(place).into());
        let (first, last) = (named((start < end).then_some(start)), named((start..end).last()));
        let more = end < elements.len();
        page.extend(format!("],\"first_id\":{first},\"last_id\":{last},\"has_more\":{more}}}").bytes());
        Ok(page.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(limit: Option<usize>, descending: bool, after: Option<&str>) -> Value {
        let items = br#"[{"id": "a"}, {"x": 1} ,{"id":"c"}]"#;
        let page = Page { limit, descending, after: after.map(str::to_owned) };
        serde_json::from_slice(&page.cut("resp_9", items).unwrap()).unwrap()
    }

    #[test]
    fn items_are_paged_and_never_changed() {
        let all = page(None, false, None);
        assert_eq!(all["data"], json!([{"id": "a"}, {"x": 1}, {"id": "c"}]));
        assert_eq!(
            (&all["first_id"], &all["last_id"], &all["has_more"]),
            (&json!("a"), &json!("c"), &json!(false))
        );
        let first = page(Some(2), false, None);
        assert_eq!(
            (&first["data"], &first["last_id"]),
            (&json!([{"id": "a"}, {"x": 1}]), &json!("item_9_1"))
        );
        assert_eq!(first["has_more"], true);
        let rest = page(Some(2), false, Some("item_9_1"));
        assert_eq!((&rest["data"], &rest["has_more"]), (&json!([{"id": "c"}]), &json!(false)));
        assert_eq!(page(Some(1), true, None)["data"], json!([{"id": "c"}]));
        let fault =
            Page { limit: None, descending: false, after: Some("no".into()) }.cut("r", b"[]").unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("after"));
    }
}
