//! The web dashboard; for now a placeholder page.

/// The page at `/admin/dashboard`.
pub const PAGE: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gatehouse</title></head>
<body>
<h1>Gatehouse is running</h1>
<p>The dashboard is not part of this build. The admin API is at <code>/admin/api/v1</code>;
its description is at <code>/admin/api/v1/openapi.json</code> (send a key with the scope <code>admin:read</code>).</p>
</body>
</html>
"#;
