//! Tests of the lookup of files and of content negotiation.

use std::io::Write as _;

use super::*;

const SCRIPT: &[u8] = b"console.log('Gatehouse')";
/// `SCRIPT` as gzip.
fn packed() -> &'static [u8] {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(SCRIPT).unwrap();
    encoder.finish().unwrap().leak()
}

fn file(name: &'static str) -> File {
    File { name, is_hashed: false, tag: "1", plain: Some(b"plain"), brotli: None, gzip: None }
}

fn site() -> Site {
    let mut files = vec![
        file("assets/app-1a2b.js"),
        file("assets/inter-3c.woff2"),
        file("favicon.svg"),
        file("index.html"),
        file("swagger/index.html"),
        file("swagger/swagger-ui.css"),
    ];
    files.sort_by_key(|file| file.name);
    Site { files: files.leak() }
}

#[test]
fn unknown_paths_are_views_and_missing_assets_are_errors() {
    for (path, expected) in [
        ("", "index"),
        ("index.html", "index"),
        ("audit", "index"),
        ("models/openai/gpt-4.1", "index"),
        ("keys/a.js", "index"),
        ("favicon.svg", "favicon.svg"),
        ("assets/app-1a2b.js", "assets/app-1a2b.js"),
        ("assets/app-0000.js", "missing"),
        ("assets/../index.html", "missing"),
        ("assets/", "missing"),
        ("assets", "index"),
        ("swagger/swagger-ui.css", "index"),
    ] {
        assert_eq!(summary(site().find(path)), expected, "{path}");
    }
    assert_eq!(summary(Site { files: &[] }.find("assets/a.js")), "not built");
}

#[test]
fn files_of_swagger_ui_are_found_in_their_folder_only() {
    for (name, expected) in [
        ("index.html", "swagger/index.html"),
        ("swagger-ui.css", "swagger/swagger-ui.css"),
        ("swagger-ui.css.map", "missing"),
        ("", "missing"),
        ("favicon.svg", "missing"),
        ("../favicon.svg", "missing"),
        ("swagger/swagger-ui.css", "missing"),
    ] {
        assert_eq!(summary(site().find_swagger(name)), expected, "{name}");
    }
    let without: &'static [File] = vec![file("index.html")].leak();
    for files in [&[][..], without] {
        assert_eq!(summary(Site { files }.find_swagger("index.html")), "not built");
        assert_eq!(summary(Site { files }.find_swagger("swagger-ui.css")), "not built");
    }
}

fn summary(found: Found) -> &'static str {
    match found {
        Found::File(file) => file.name,
        Found::Index(_) => "index",
        Found::NotBuilt => "not built",
        Found::Missing => "missing",
    }
}

#[test]
fn the_best_accepted_encoding_is_chosen() {
    let packed = packed();
    let script = File { plain: None, brotli: Some(b"br"), gzip: Some(packed), ..file("assets/app-1a2b.js") };
    for (accepted, expected) in [
        ("gzip, deflate, br, zstd", Encoding::Brotli),
        ("gzip, deflate", Encoding::Gzip),
        ("br;q=0.5, gzip;q=0.8", Encoding::Gzip),
        ("BR;q=0.5,x-gzip;Q=0.4", Encoding::Brotli),
        ("br;q=0, *", Encoding::Gzip),
        ("*;q=0", Encoding::Identity),
        ("br;q=nonsense", Encoding::Identity),
        ("identity", Encoding::Identity),
        ("", Encoding::Identity),
    ] {
        let content = script.content(Some(accepted));
        assert_eq!(content.encoding, expected, "{accepted}");
        assert!(content.varies);
        let bytes: &[u8] = match expected {
            Encoding::Brotli => b"br",
            Encoding::Gzip => packed,
            Encoding::Identity => SCRIPT,
        };
        assert_eq!(&*content.bytes, bytes, "{accepted}");
    }
    let font = file("assets/inter-3c.woff2").content(Some("br"));
    assert_eq!((font.encoding, &*font.bytes, font.varies), (Encoding::Identity, &b"plain"[..], false));
}

#[test]
fn the_page_refers_to_its_files_below_the_base_path() {
    let page = br#"<script src="/admin/dashboard/assets/a.js"></script><a href="/other">"#;
    let index = File { plain: Some(page), ..file("index.html") };
    assert_eq!(index.below(""), page);
    let moved = String::from_utf8(index.below("/gateway")).unwrap();
    assert_eq!(moved, r#"<script src="/gateway/admin/dashboard/assets/a.js"></script><a href="/other">"#);
}

#[test]
fn content_types_follow_extensions() {
    for (name, expected) in [
        ("index.html", "text/html; charset=utf-8"),
        ("assets/a-1.js", "text/javascript; charset=utf-8"),
        ("assets/a-1.css", "text/css; charset=utf-8"),
        ("favicon.svg", "image/svg+xml"),
        ("assets/inter-1.woff2", "font/woff2"),
        ("swagger/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("LICENSE", "application/octet-stream"),
    ] {
        assert_eq!(file(name).content_type(), expected);
    }
}

/// Holds for the files of this build, if it has any.
#[test]
fn files_are_stored_once_in_each_encoding() {
    let names: Vec<&str> = SITE.files.iter().map(|file| file.name).collect();
    assert!(names.is_sorted(), "lookup is by binary search: {names:?}");
    for file in SITE.files {
        assert!(file.plain.is_some() || file.gzip.is_some(), "{} cannot be sent to every client", file.name);
        assert_eq!(file.is_hashed, file.name.starts_with("assets/"), "{}", file.name);
        assert!(!file.content(None).bytes.is_empty(), "{}", file.name);
        let large = file.plain.filter(|plain| plain.len() > 2048);
        assert!(large.is_none() || file.brotli.is_none(), "{} is stored uncompressed as well", file.name);
    }
}

/// Swagger UI is whole, and compressed once; holds for the files of this build, if it has any.
#[test]
fn swagger_ui_is_part_of_the_dashboard() {
    if SITE.files.is_empty() {
        return;
    }
    for (name, is_compressed) in [
        ("index.html", false),
        ("swagger-initializer.js", false),
        ("swagger-ui-bundle.js", true),
        ("swagger-ui-bundle.js.LICENSE.txt", true),
        ("swagger-ui.css", true),
    ] {
        let Found::File(file) = SITE.find_swagger(name) else {
            panic!("{name} is not in dashboard/dist/swagger")
        };
        assert_eq!((file.brotli.is_some(), file.gzip.is_some()), (false, is_compressed), "{name}");
        assert_eq!(file.plain.is_none(), is_compressed, "{name}");
    }
    let names = SITE.files.iter().map(|file| file.name);
    assert_eq!(
        names.filter(|name| name.starts_with("swagger/")).count(),
        5,
        "only what the page loads, and licenses"
    );
}
