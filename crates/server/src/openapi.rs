//! The OpenAPI document: its copy in the binary, and the parts that no handler declares.

mod complete;
mod embedded;
mod errors;
mod parameters;
mod request_examples;
mod request_schemas;
mod sample;
pub mod tenant_parameter;

use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

pub use complete::{complete, constrain};
pub use embedded::{declared, published};

#[derive(OpenApi)]
#[openapi(info(
    title = "Gatehouse",
    version = "1.0",
    description = "An AI gateway: OpenAI-compatible inference and the admin API that steers it."
))]
struct Base;

pub fn base() -> utoipa::openapi::OpenApi {
    let mut document = Base::openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    document.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(bearer));
    document
}
