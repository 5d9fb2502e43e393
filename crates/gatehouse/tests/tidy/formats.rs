//! The folders of the conversation formats have the same files for the same roles.

use std::collections::{BTreeMap, BTreeSet};

use crate::check;
use crate::tree::rust_files;

const FOLDER: &str = "crates/wire/src/formats/";
const FORMATS: [&str; 4] = ["chat", "gemini", "messages", "responses"];

/// The files of every format. A file of a single format may stand beside them.
const ROLES: [&str; 23] = [
    "answer",
    "classify",
    "decode",
    "encode",
    "encode/settings",
    "encode/tools",
    "encode/turns",
    "error",
    "parse",
    "parse/settings",
    "parse/tools",
    "parse/turns",
    "render",
    "request",
    "shape",
    "splice",
    "stop",
    "stream_decoder",
    "stream_renderer",
    "system_prompt",
    "text_parts",
    "usage",
    "wire_types",
];

#[test]
fn format_folders_have_the_same_files() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files() {
        let path = file.path.trim_end_matches(".rs");
        let Some((format, role)) = path.strip_prefix(FOLDER).and_then(|path| path.split_once('/')) else {
            continue;
        };
        found.entry(role.to_owned()).or_default().insert(format.to_owned());
    }
    let has = |role: &str, format: &str| found.get(role).is_some_and(|formats| formats.contains(format));
    let all = FORMATS.iter().flat_map(|format| ROLES.iter().map(move |role| (*format, *role)));
    let missing = all.filter(|(format, role)| !has(role, format));
    check(
        "Every format has a file for every role.",
        missing.map(|(format, role)| format!("{FOLDER}{format}/{role}.rs is missing")).collect(),
    );
    let shared = found.iter().filter(|(role, formats)| {
        !role.contains('/') && formats.len() > 1 && !ROLES.contains(&role.as_str())
    });
    check(
        "A file that several formats have is a role, which all formats have.",
        shared.map(|(role, formats)| format!("{role}.rs is in {formats:?}")).collect(),
    );
}
