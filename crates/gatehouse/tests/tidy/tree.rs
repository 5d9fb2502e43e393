//! The workspace as it lies on disk: Rust files and manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub struct File {
    /// From the root of the workspace, e.g. `crates/wire/src/sse.rs`.
    pub path: String,
    pub source: String,
}

impl File {
    pub fn is_test(&self) -> bool {
        let outside = self.path.split('/').any(|part| ["tests", "benches", "examples"].contains(&part));
        outside || self.path.ends_with("/tests.rs") || self.path.ends_with("/testing.rs")
    }

    /// The part that is in the program: tests come last in a file.
    pub fn program(&self) -> &str {
        const MARK: &str = "#[cfg(test)]\nmod ";
        let opens =
            |at: usize| self.source[at + MARK.len()..].lines().next().is_some_and(|line| line.ends_with('{'));
        let end = self.source.match_indices(MARK).map(|(at, _)| at).find(|at| opens(*at));
        end.map_or(&self.source, |at| &self.source[..at])
    }
}

pub fn rust_files() -> Vec<File> {
    let mut files = Vec::new();
    walk(&root().join("crates"), &mut |path| {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            files.push(File { path: name, source: std::fs::read_to_string(path).unwrap() });
        }
    });
    assert!(files.len() > 100, "the tree was not found");
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn walk(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}

/// The names of a crate's dependencies.
#[derive(Default)]
pub struct Manifest {
    pub program: BTreeSet<String>,
    pub tests: BTreeSet<String>,
}

pub fn manifests() -> BTreeMap<String, Manifest> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let read = |directory: PathBuf| {
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap();
        (name, read_manifest(&text))
    };
    crates.map(read).collect()
}

fn read_manifest(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    let mut section = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            assert!(!section.contains("dependencies."), "a dependency takes one line: [{section}]");
            continue;
        }
        let Some((name, _)) = line.split_once('=') else { continue };
        let name = name.trim().split('.').next().unwrap_or_default().to_owned();
        match section.as_str() {
            "dependencies" | "build-dependencies" => drop(manifest.program.insert(name)),
            "dev-dependencies" => drop(manifest.tests.insert(name)),
            _ => assert!(!section.ends_with("dependencies"), "dependencies of a platform: [{section}]"),
        }
    }
    manifest
}
