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
    ] {
        let found = match site().find(path) {
            Found::File(file) => file.name,
            Found::Index(_) => "index",
            Found::NotBuilt => "not built",
            Found::Missing => "missing",
        };
        assert_eq!(found, expected, "{path}");
    }
    assert!(matches!(Site { files: &[] }.find("assets/a.js"), Found::NotBuilt));
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
