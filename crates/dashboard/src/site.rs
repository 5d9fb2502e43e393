//! The files of a dashboard and of Swagger UI, and their lookup by path.

use std::borrow::Cow;
use std::io::Read as _;

use crate::accept_encoding::{Encoding, choose};

const INDEX: &str = "index.html";
/// Folder in which an unknown path is a missing file; all other unknown paths are views of the application.
const ASSETS: &str = "assets/";
/// Folder of Swagger UI, which is served at a route of its own.
const SWAGGER: &str = "swagger/";
/// The beginning of links in the page, as Vite writes them for its base `/admin/dashboard/`.
const BUILT_FOR: &str = "=\"/admin/dashboard/";

/// A file, in the encodings that the build made. Files that compress well are there in `brotli` and `gzip` only.
#[derive(Clone, Copy)]
pub struct File {
    pub name: &'static str,
    /// Whether the name contains a hash of the content, so that clients may keep the file for ever.
    pub is_hashed: bool,
    /// A fingerprint of the content.
    pub tag: &'static str,
    pub plain: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
    pub gzip: Option<&'static [u8]>,
}

/// A file in the encoding that a client accepts.
pub struct Content {
    pub bytes: Cow<'static, [u8]>,
    pub encoding: Encoding,
    /// Whether the answer depends on `Accept-Encoding`.
    pub varies: bool,
}

/// The result of a lookup.
pub enum Found {
    File(File),
    /// The page of the application, which reads the path itself.
    Index(File),
    /// The build has no dashboard, and so no Swagger UI.
    NotBuilt,
    /// There is no such file.
    Missing,
}

#[derive(Clone, Copy)]
pub struct Site {
    /// Sorted by name.
    pub files: &'static [File],
}

impl Site {
    /// Finds the answer to a path below `/admin/dashboard/`.
    pub fn find(&self, path: &str) -> Found {
        let Some(index) = self.file(INDEX) else { return Found::NotBuilt };
        match self.file(path) {
            Some(file) if file.name != INDEX && !file.name.starts_with(SWAGGER) => Found::File(*file),
            None if path.starts_with(ASSETS) => Found::Missing,
            _ => Found::Index(*index),
        }
    }

    /// Finds a file of Swagger UI by its name below `/swagger/`.
    pub fn find_swagger(&self, name: &str) -> Found {
        let file = |name: &str| self.file(&format!("{SWAGGER}{name}"));
        match file(name) {
            Some(file) => Found::File(*file),
            None if file(INDEX).is_none() => Found::NotBuilt,
            None => Found::Missing,
        }
    }

    fn file(&self, name: &str) -> Option<&'static File> {
        let at = self.files.binary_search_by(|file| file.name.cmp(name)).ok()?;
        self.files.get(at)
    }
}

impl File {
    /// The media type by the extension.
    pub fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" | "map" => "application/json",
            "webmanifest" => "application/manifest+json",
            "txt" => "text/plain; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "webp" => "image/webp",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            _ => "application/octet-stream",
        }
    }

    /// The content for a client with this `Accept-Encoding`. Without an acceptable encoding, it is unpacked.
    pub fn content(&self, accepted: Option<&str>) -> Content {
        let stored =
            [(Encoding::Brotli, self.brotli), (Encoding::Gzip, self.gzip), (Encoding::Identity, self.plain)];
        let offered = stored.iter().filter_map(|(encoding, bytes)| bytes.map(|_| *encoding));
        let encoding = choose(accepted.unwrap_or_default(), offered);
        let bytes = stored.iter().find(|(one, _)| *one == encoding).and_then(|(_, bytes)| *bytes);
        let varies = self.brotli.is_some() || self.gzip.is_some();
        match bytes {
            Some(bytes) => Content { bytes: Cow::Borrowed(bytes), encoding, varies },
            None => Content { bytes: Cow::Owned(self.unpacked()), encoding: Encoding::Identity, varies },
        }
    }

    /// The page of the application below a base path, e.g. `/gateway`.
    pub fn below(&self, base: &str) -> Vec<u8> {
        let page = self.content(None).bytes;
        if base.is_empty() {
            return page.into_owned();
        }
        let moved = format!("=\"{base}/admin/dashboard/");
        String::from_utf8_lossy(&page).replace(BUILT_FOR, &moved).into_bytes()
    }

    fn unpacked(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut reader = flate2::read::GzDecoder::new(self.gzip.unwrap_or_default());
        match reader.read_to_end(&mut bytes) {
            Ok(_) => bytes,
            Err(_) => Vec::new(),
        }
    }
}
