//! A call as it arrives: its request id and headers, the caller, the body, and the fields that are read from it.

pub mod arrival;
pub mod authenticate;
pub mod cache_use;
mod constant_time;
pub mod context;
pub mod credential_digest;
pub mod effective_policy;
pub mod ownership;
pub mod previous;
pub mod receive;
pub mod request_headers;
pub mod response_headers;
pub mod session_cookie;
