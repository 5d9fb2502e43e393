//! `/admin/api/v1/dashboard`: requests that serve a whole page of the dashboard.

pub mod overview;
