//! Rejects unknown query parameters of admin routes. The OpenAPI description of a route declares its parameters, so
//! that a parameter without documentation fails its first test.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query};
use domain::fault::{self, Fault};
use http::Method;
use http::request::Parts;
use serde_json::Value;

use crate::{nearest, openapi};

/// The parameter that may carry a credential.
const CREDENTIAL: &str = "key";
const ADMIN_PREFIX: &str = "/admin/api/";

/// Maps the method and path template of a route to its query parameters.
type Table = HashMap<(Method, String), Vec<String>>;

pub fn check(parts: &Parts) -> Result<(), Fault> {
    if parts.uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Some(known) = known_parameters(parts) else { return Ok(()) };
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri) else {
        return Err(Fault { param: None, ..fault::invalid_parameter("", "The query cannot be decoded.") });
    };
    for (index, (name, _)) in pairs.iter().enumerate() {
        if name != CREDENTIAL && !known.contains(name) {
            let shown: String = name.chars().take(100).collect();
            return Err(fault::unknown_query_parameter(&shown, &hint(name, known)));
        }
        if pairs[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(fault::invalid_parameter(name.clone(), format!("'{name}' is given more than once.")));
        }
    }
    Ok(())
}

/// The value of a query parameter that is not empty, if the matched admin route takes it.
pub fn value(parts: &Parts, name: &str) -> Option<String> {
    let takes_it = known_parameters(parts)?.iter().any(|known| known == name);
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok().filter(|_| takes_it)?;
    pairs
        .into_iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
        .filter(|value| !value.is_empty())
}

/// The query parameters of the matched admin route; `None` for other routes. Inference routes accept any parameter:
/// clients send some that are meant for their provider.
fn known_parameters(parts: &Parts) -> Option<&'static Vec<String>> {
    let matched = parts.extensions.get::<MatchedPath>()?.as_str();
    // With a base path, the template starts with it.
    let route = &matched[matched.find(ADMIN_PREFIX)?..];
    let method = if parts.method == Method::HEAD { Method::GET } else { parts.method.clone() };
    // A parameter that may contain slashes is a wildcard in the router and a plain name in OpenAPI.
    TABLE.get(&(method, route.replace("{*", "{")))
}

fn hint(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return " This route takes none.".to_owned();
    }
    match nearest::nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!(" Did you mean '{nearest}'?"),
        None => format!(" This route takes: {}.", known.join(", ")),
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| read(&openapi::declared()));

fn read(document: &Value) -> Table {
    let mut table = Table::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if let Ok(method) = Method::from_bytes(method.to_ascii_uppercase().as_bytes()) {
                table.insert((method, path.clone()), query_parameters(operation));
            }
        }
    }
    table
}

fn query_parameters(operation: &Value) -> Vec<String> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let of_query = parameters.filter(|parameter| parameter["in"] == "query");
    of_query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_route_is_in_the_table() {
        assert!(TABLE.len() > 50, "{}", TABLE.len());
        let days = &TABLE[&(Method::GET, "/admin/api/v1/usage/summary".to_owned())];
        assert!(days.contains(&"days".to_owned()));
        assert_eq!(TABLE[&(Method::GET, "/admin/api/v1/aliases/{name}".to_owned())], ["tenant_id"]);
        assert_eq!(TABLE[&(Method::GET, "/admin/api/v1/tenants/{id}".to_owned())], [] as [String; 0]);
    }

    #[test]
    fn hints_name_the_nearest_or_all() {
        let known = ["days", "user_path"].map(str::to_owned);
        assert_eq!(hint("dayz", &known), " Did you mean 'days'?");
        assert_eq!(hint("something_else", &known), " This route takes: days, user_path.");
        assert_eq!(hint("x", &[]), " This route takes none.");
    }
}
