//! The web dashboard: the files of `dashboard/dist` in the binary, compressed as the build left them.
//!
//! The sources are in `dashboard/` at the top of the repository. A build without `dashboard/dist` has a page that says how to
//! build it. The folder `swagger/` is Swagger UI.

mod accept_encoding;
mod site;

pub use accept_encoding::Encoding;
pub use site::{Content, File, Found, Site};

/// The dashboard of this build.
pub const SITE: Site = Site { files: include!(concat!(env!("OUT_DIR"), "/files.rs")) };

/// The page of a build without the dashboard.
pub const PLAIN_PAGE: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gatehouse</title></head>
<body>
<h1>Gatehouse is running</h1>
<p>The dashboard is not part of this build. To add it, install Node.js 20.19 or later with npm, stop
the gateway, and run <code>make run</code> in the source tree.</p>
<p>The admin API is at <code>/admin/api/v1</code>; its description is at <code>/admin/api/v1/openapi.json</code> (send a key
with the scope <code>admin:read</code>).</p>
</body>
</html>
"#;

#[cfg(test)]
mod tests;
