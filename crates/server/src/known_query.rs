//! Rejects unknown query parameters of admin routes. The OpenAPI description of a route declares its parameters, so
//! that a parameter without documentation fails its first test.

use std::collections::HashMap;
use std::sync::OnceLock;

use axum::extract::{MatchedPath, Query};
use domain::fault::{self, Fault};
use http::Method;
use http::request::Parts;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use crate::nearest;

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
    TABLE.get()?.get(&(method, route.to_owned()))
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

static TABLE: OnceLock<Table> = OnceLock::new();

/// Installs the OpenAPI document of the admin routes. Called when they are built, before any of them is served.
pub fn install(document: OpenApi) {
    TABLE.get_or_init(|| read(document));
}

fn read(document: OpenApi) -> Table {
    let mut table = Table::new();
    for (path, item) in document.paths.paths {
        let operations = [
            (Method::GET, item.get),
            (Method::PUT, item.put),
            (Method::POST, item.post),
            (Method::DELETE, item.delete),
            (Method::PATCH, item.patch),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                table.insert((method, path.clone()), query_parameters(operation));
            }
        }
    }
    table
}

fn query_parameters(operation: Operation) -> Vec<String> {
    let parameters = operation.parameters.unwrap_or_default();
    let query = |parameter: RefOr<Parameter>| match parameter {
        RefOr::T(parameter) if matches!(parameter.parameter_in, ParameterIn::Query) => Some(parameter.name),
        _ => None,
    };
    parameters.into_iter().filter_map(query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_route_is_in_the_table() {
        let table = read(crate::document());
        assert!(table.len() > 50, "{}", table.len());
        let days = &table[&(Method::GET, "/admin/api/v1/usage/summary".to_owned())];
        assert!(days.contains(&"days".to_owned()));
        assert_eq!(table[&(Method::GET, "/admin/api/v1/aliases/{name}".to_owned())], ["tenant_id"]);
        assert_eq!(table[&(Method::GET, "/admin/api/v1/tenants/{id}".to_owned())], [] as [String; 0]);
    }

    #[test]
    fn hints_name_the_nearest_or_all() {
        let known = ["days", "user_path"].map(str::to_owned);
        assert_eq!(hint("dayz", &known), " Did you mean 'days'?");
        assert_eq!(hint("something_else", &known), " This route takes: days, user_path.");
        assert_eq!(hint("x", &[]), " This route takes none.");
    }
}
