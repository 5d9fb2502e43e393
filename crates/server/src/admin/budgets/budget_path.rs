//! Path parameters of a budget: its URL-encoded user path and its period.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use domain::fault::{self, Fault};
use domain::period::Period;
use domain::resources::budget::BudgetKey;
use domain::user_path::UserPath;
use http::request::Parts;

use super::{budget_key, within};
use crate::App;
use crate::authorized::{Authorized, Needs};
use crate::fault::Problem;

pub struct BudgetPath {
    user_path: String,
    period: String,
}

impl FromRequestParts<Arc<App>> for BudgetPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        match Path::<(String, String)>::from_request_parts(parts, app).await {
            Ok(Path((user_path, period))) => Ok(Self { user_path, period }),
            Err(_) => Err(fault::invalid_parameter("user_path", "The path cannot be decoded.").into()),
        }
    }
}

impl BudgetPath {
    pub fn key<N: Needs>(&self, authorized: &Authorized<N>) -> Result<BudgetKey, Fault> {
        let user_path = user_path(&self.user_path)?;
        within(&authorized.principal, &user_path)?;
        let period =
            Period::parse(&self.period).map_err(|reason| fault::invalid_parameter("period", reason))?;
        Ok(budget_key(authorized, user_path, period))
    }
}

/// Parses a user path with or without its leading slash.
pub fn user_path(text: &str) -> Result<UserPath, Fault> {
    UserPath::parse(text).map_err(|reason| fault::invalid_parameter("user_path", reason))
}
