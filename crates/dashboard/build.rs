//! Lists the files of `dashboard/dist` in a table that `src/lib.rs` includes. Without that folder, the table is empty.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

/// Folder of the files whose names contain a hash of their content; Vite puts them there.
const HASHED: &str = "assets/";

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script its directories in the environment"
)]
fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard/dist");
    // Cargo runs a script again at every build if a path that it watches does not exist. In a source tree that cannot be
    // written, that is all that happens.
    let _ = std::fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    std::fs::write(PathBuf::from(out).join("files.rs"), table(&dist)?)
}

/// A slice of `File`, sorted by name. `a.js.br` and `a.js.gz` are encodings of `a.js`.
fn table(dist: &Path) -> io::Result<String> {
    let mut paths = Vec::new();
    if dist.is_dir() {
        collect(dist, "", &mut paths)?;
    }
    let mut names: Vec<&str> = paths.iter().map(|path| plain_name(path)).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = "&[\n".to_owned();
    for name in names {
        let variant = |suffix: &str| {
            let path = format!("{name}{suffix}");
            paths.contains(&path).then(|| dist.join(path))
        };
        let variants = [variant(""), variant(".br"), variant(".gz")];
        let Some(first) = variants.iter().flatten().next() else { continue };
        let tag = fingerprint(&std::fs::read(first)?);
        let is_hashed = name.starts_with(HASHED);
        let _ = write!(text, "File {{ name: {name:?}, is_hashed: {is_hashed}, tag: {tag:?}");
        for (member, path) in ["plain", "brotli", "gzip"].iter().zip(&variants) {
            let _ = match path {
                Some(path) => write!(text, ", {member}: Some(include_bytes!({path:?}))"),
                None => write!(text, ", {member}: None"),
            };
        }
        text.push_str(" },\n");
    }
    text.push(']');
    Ok(text)
}

/// Adds the paths of all files below a folder, with slashes.
fn collect(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn plain_name(path: &str) -> &str {
    path.strip_suffix(".br").or_else(|| path.strip_suffix(".gz")).unwrap_or(path)
}

/// Changes with the content; not a protection against collisions that somebody makes.
fn fingerprint(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{:016x}", hasher.finish())
}
