//! The rules about error codes: the program decides on `FaultCode`, never on its text, and the docs list every code.

use std::collections::BTreeSet;

use domain::fault::FaultCode;

use crate::tree::root;
use crate::{check, program_files};

/// The files that declare codes, and those in which names of other APIs have the same text.
const DECLARED: [&str; 6] = [
    "crates/domain/src/fault",
    "crates/wire/src/formats/",
    "crates/wire/src/provider_error.rs",
    "crates/pipeline/src/call/cache_use.rs",
    "crates/testkit/",
    "crates/bench/",
];

#[test]
fn error_codes_are_not_written_as_text() {
    let codes: BTreeSet<&str> = FaultCode::ALL.iter().map(FaultCode::as_str).collect();
    let mut offences = Vec::new();
    for (file, text) in
        program_files().filter(|(file, _)| !DECLARED.iter().any(|place| file.path.starts_with(place)))
    {
        for literal in text.literals.iter().filter(|literal| codes.contains(literal.content.as_str())) {
            // A single word may name something else; then only a decision on it is an offence.
            if literal.content.contains('_') || literal.is_compared(&text) {
                offences.push(format!("{}:{} \"{}\"", file.path, literal.line, literal.content));
            }
        }
    }
    check("An error code is a `FaultCode`, not a text.", offences);
}

#[test]
fn every_error_code_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let texts = FaultCode::ALL.iter().map(|code| format!("`{code}`"));
    check("docs/errors.md lists every error code.", texts.filter(|text| !page.contains(text)).collect());
}
