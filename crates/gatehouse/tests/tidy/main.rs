//! Tests of the invariants of the source tree: layers, dependencies, names, file sizes and doc comments.

#![expect(clippy::unwrap_used, reason = "a tree that cannot be read is a failed test")]

mod fault_codes;
mod formats;
mod modules;
mod names;
mod paths;
mod policy;
mod rust_text;
mod spec_coverage;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use rust_text::Text;
use tree::{File, manifests, root, rust_files};

/// Every crate and what it may import of ours. A new crate has to find its floor here first.
const FLOORS: [(&str, &[&str]); 18] = [
    ("domain", &[]),
    ("memory-map", &[]),
    ("semantic-cache", &[]),
    ("local-models", &[]),
    ("wire", &["domain"]),
    ("catalog", &["domain"]),
    ("guardrails", &["domain"]),
    ("identity", &["domain"]),
    ("store", &["domain", "memory-map"]),
    ("egress", &["domain"]),
    ("redis-client", &["domain"]),
    (
        "pipeline",
        &[
            "domain",
            "wire",
            "catalog",
            "guardrails",
            "identity",
            "semantic-cache",
            "local-models",
            "store",
            "egress",
            "redis-client",
        ],
    ),
    ("cli-tools", &["domain"]),
    ("server", &["domain", "pipeline", "dashboard", "cli-tools", "identity", "store", "egress", "wire"]),
    (
        "gatehouse",
        &[
            "domain",
            "wire",
            "catalog",
            "identity",
            "store",
            "egress",
            "redis-client",
            "pipeline",
            "server",
            "dashboard",
            "bench",
            "cli-tools",
            "memory-map",
            "local-models",
        ],
    ),
    ("dashboard", &[]),
    ("bench", &["domain", "egress"]),
    ("testkit", &["domain"]),
];

/// Third-party crates that only one of our crates may depend on.
const ALONE: [(&str, &str); 8] = [
    ("axum", "server"),
    ("utoipa-axum", "server"),
    ("tower", "server"),
    ("sqlx", "store"),
    ("rusqlite", "store"),
    ("getrandom", "gatehouse"),
    ("rustls", "egress"),
    ("redis", "redis-client"),
];

/// The floors without IO, and what they never touch.
const PURE: [&str; 7] =
    ["domain", "wire", "catalog", "guardrails", "identity", "semantic-cache", "local-models"];
const RUNTIME: [&str; 7] = ["tokio", "hyper", "hyper-util", "tokio-util", "socket2", "jiff", "futures-util"];

const MOST_LINES: usize = 600;
const EMPTY_NAMES: [&str; 5] = ["utils", "helpers", "common", "manager", "service"];

#[track_caller]
fn check(rule: &str, offences: Vec<String>) {
    assert!(offences.is_empty(), "{rule}\n  {}", offences.join("\n  "));
}

#[test]
fn crates_import_only_from_the_floors_below() {
    let floors = BTreeMap::from(FLOORS);
    let manifests = manifests();
    let known: Vec<&str> = floors.keys().copied().collect();
    assert_eq!(manifests.keys().map(String::as_str).collect::<Vec<_>>(), known, "FLOORS names every crate");
    let mut offences = Vec::new();
    for (name, manifest) in &manifests {
        let ours = manifest.program.iter().filter(|dependency| floors.contains_key(dependency.as_str()));
        for dependency in ours.filter(|dependency| !floors[name.as_str()].contains(&dependency.as_str())) {
            offences.push(format!("{name} imports {dependency}"));
        }
    }
    check("A crate imports only from the floors below it.", offences);
}

#[test]
fn some_dependencies_have_one_place() {
    let mut offences = Vec::new();
    for (name, manifest) in manifests() {
        for (dependency, place) in ALONE {
            // The scripted upstream of the tests is a TLS server, too.
            let is_test_server = name == "testkit" && dependency == "rustls";
            if manifest.program.contains(dependency) && name != place && !is_test_server {
                offences.push(format!("{name} depends on {dependency}, which is for {place}"));
            }
        }
        if PURE.contains(&name.as_str()) {
            let touched = RUNTIME.iter().filter(|dependency| manifest.program.contains(**dependency));
            offences.extend(touched.map(|dependency| format!("{name} is pure and depends on {dependency}")));
        }
    }
    check("HTTP, SQL, TLS, randomness and the runtime have their floors.", offences);
}

fn program_files() -> impl Iterator<Item = (File, Text)> {
    rust_files().into_iter().filter(|file| !file.is_test()).map(|file| {
        let text = Text::read(file.program());
        (file, text)
    })
}

#[test]
fn sql_is_written_in_store_only() {
    let is_sql = |text: &str| {
        let verb = |verb: &str| text.split_whitespace().any(|word| word.trim_start_matches('(') == verb);
        verb("SELECT")
            || text.contains("INSERT INTO")
            || text.contains("DELETE FROM")
            || (verb("UPDATE") && verb("SET"))
    };
    let (mut inside, mut offences) = (0, Vec::new());
    for (file, text) in program_files() {
        for literal in text.literals.iter().filter(|literal| is_sql(&literal.content)) {
            if file.path.starts_with("crates/store/") {
                inside += 1;
            } else {
                offences.push(format!("{}:{} {}", file.path, literal.line, literal.content));
            }
        }
    }
    assert!(inside > 5, "the test no longer recognises SQL");
    check("SQL is written in crates/store only.", offences);
}

#[test]
fn no_decision_hangs_on_a_vendors_name() {
    let vendors: BTreeSet<&str> = wire::vendors::list().iter().map(|vendor| vendor.name).collect();
    assert!(vendors.contains("openai"), "the test no longer knows the vendors");
    const DATA: [&str; 4] =
        ["crates/wire/src/vendors/", "crates/catalog/", "crates/testkit/", "crates/bench/"];
    let mut offences = Vec::new();
    for (file, text) in
        program_files().filter(|(file, _)| !DATA.iter().any(|place| file.path.starts_with(place)))
    {
        for literal in text.literals.iter().filter(|literal| vendors.contains(literal.content.as_str())) {
            if literal.is_compared(&text) {
                offences.push(format!("{}:{} \"{}\"", file.path, literal.line, literal.content));
            }
        }
    }
    check("A vendor is data: no match on its name outside crates/wire/src/vendors.", offences);
}

#[test]
fn the_environment_is_read_in_settings_only() {
    let (mut inside, mut offences) = (0, Vec::new());
    for (file, text) in program_files() {
        for (number, line) in text.code.lines().enumerate().filter(|(_, line)| line.contains("env::var")) {
            if file.path.starts_with("crates/gatehouse/src/settings") {
                inside += 1;
            } else if !file.path.ends_with("/build.rs") {
                // Cargo tells build scripts their directories there.
                offences.push(format!("{}:{} {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert!(inside > 0, "the test no longer recognises a reader of the environment");
    check("Only crates/gatehouse/src/settings reads the environment.", offences);
}

#[test]
fn files_start_with_a_doc_comment() {
    let silent = |file: &File| {
        let first = file.source.lines().next().unwrap_or_default();
        first.strip_prefix("//! ").is_none_or(|words| words.trim().is_empty())
    };
    let silent = rust_files().into_iter().filter(silent).map(|file| file.path);
    check("Line one is a `//!` line.", silent.collect());
}

#[test]
fn files_stay_small() {
    let lengths = rust_files().into_iter().filter(|file| !file.is_test()).map(|file| {
        let lines = file.program().lines().count();
        (file.path, lines)
    });
    let long = lengths
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{path} has {lines} lines"));
    check("A file has at most 600 lines, tests not counted; aim at 150.", long.collect());
}

#[test]
fn files_are_named_for_what_they_hold() {
    let mut offences = Vec::new();
    for file in rust_files() {
        let path = file.path.trim_end_matches(".rs");
        if path.ends_with("/mod") && path != "crates/wire/src/vendors/mod" {
            offences.push(format!("{}: foo.rs beside foo/, no mod.rs", file.path));
        }
        for part in path.split('/').filter(|part| EMPTY_NAMES.contains(part)) {
            offences.push(format!("{}: '{part}' says nothing", file.path));
        }
    }
    check("A file is a noun or a verb.", offences);
}

#[test]
fn every_dependency_has_its_reason() {
    let page = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let reasons: BTreeMap<&str, &str> = rows.filter(|(name, _)| *name != "Crate").collect();
    let manifests = manifests();
    let named = manifests.values().flat_map(|manifest| manifest.program.iter().chain(&manifest.tests));
    let used: BTreeSet<&str> =
        named.map(String::as_str).filter(|name| !manifests.contains_key(*name)).collect();
    let missing = used.iter().filter(|name| reasons.get(**name).is_none_or(|reason| reason.len() <= 10));
    check(
        "Every dependency has a line in docs/dependencies.md.",
        missing.map(|name| (*name).to_owned()).collect(),
    );
    let stale = reasons.keys().filter(|name| !used.contains(**name));
    check("docs/dependencies.md names what nobody uses.", stale.map(|name| (*name).to_owned()).collect());
}

/// A file that no `mod` line names is compiled by nobody: it only looks like code.
#[test]
fn every_file_belongs_to_its_crate() {
    let files = rust_files();
    let texts: BTreeMap<String, &File> = files.iter().map(|file| (file.path.to_string(), file)).collect();
    let mut offences = Vec::new();
    for path in texts.keys() {
        let Some((folder, name)) = path.trim_end_matches(".rs").rsplit_once('/') else { continue };
        let is_root = matches!(name, "lib" | "main" | "build")
            || ["/bin", "/examples", "/tests"].iter().any(|root| folder.ends_with(root));
        let parents = [
            format!("{folder}.rs"),
            format!("{folder}/mod.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
        ];
        let named = |parent: &String| {
            texts.get(parent).is_some_and(|file| {
                file.source.lines().any(|line| line.trim_end().ends_with(&format!("mod {name};")))
            })
        };
        if !is_root && name != "mod" && !parents.iter().any(named) {
            offences.push(path.clone());
        }
    }
    check("Every file is named by a `mod` line.", offences);
}
