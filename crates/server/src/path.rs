//! Path parameter extractor that rejects undecodable names with a fault in the standard format.

use axum::extract::{FromRequestParts, Path};
use domain::fault;
use http::request::Parts;

use crate::fault::Problem;

pub struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(fault::not_found("There is nothing of that name: it cannot be decoded.").into()),
        }
    }
}
