//! Cookies that the gateway sets.

use domain::clock::Timestamp;
use domain::secret::Secret;
use http::{HeaderMap, HeaderValue};
use pipeline::call::session_cookie;

use crate::App;
use crate::client_address;
use crate::request_context::RequestContext;

/// Whether other sites may cause the cookie to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    Strict,
    /// Needed where another site leads back to the gateway.
    CrossSite,
}

/// Whether the browser speaks TLS with the gateway or with a trusted proxy in front of it.
pub fn is_secure(context: &RequestContext, headers: &HeaderMap) -> bool {
    context.behind_proxy && client_address::is_tls(headers)
}

/// The session cookie, valid until `expires_at`.
pub fn session(app: &App, value: &Secret, expires_at: Timestamp, secure: bool) -> HeaderValue {
    let seconds = (expires_at.seconds() - app.gateway.clock.now().seconds()).max(0);
    cookie(app, session_cookie::NAME, value.reveal(), seconds, (SameSite::Strict, secure))
}

/// Removes a cookie from the browser.
pub fn removed(app: &App, name: &str, secure: bool) -> HeaderValue {
    cookie(app, name, "", 0, (SameSite::Strict, secure))
}

pub fn cookie(
    app: &App,
    name: &str,
    value: &str,
    seconds: i64,
    (same_site, secure): (SameSite, bool),
) -> HeaderValue {
    let base = app.config.base_path.trim_end_matches('/');
    let same_site = match same_site {
        SameSite::Strict => "Strict",
        // Browsers accept `None` over TLS only.
        SameSite::CrossSite if secure => "None",
        SameSite::CrossSite => "Lax",
    };
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path={base}/; HttpOnly; SameSite={same_site}; Max-Age={seconds}{secure}");
    let mut header = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    header.set_sensitive(true);
    header
}
