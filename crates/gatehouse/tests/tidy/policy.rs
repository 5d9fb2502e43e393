//! The rule about the policy of a call: steps after its resolution read the effective one.

use crate::{check, program_files};

/// The steps of a call after it is resolved to its targets.
const AFTER_RESOLVE: [&str; 4] = ["admission", "delivery", "dispatch", "streaming"];

/// Files that may read the settings of the gateway, with the reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("admission/budget_admission.rs", "a downgrade to a cheaper model is a new resolution"),
    ("dispatch/provider_request.rs", "also serves requests that belong to no call"),
];

#[test]
fn steps_after_resolve_read_the_effective_policy() {
    let reads_gateway = |line: &str| line.contains("gateway.policy") || line.contains("gateway().policy");
    let (mut excepted, mut offences) = (0, Vec::new());
    for (file, text) in program_files() {
        let Some(path) = file.path.strip_prefix("crates/pipeline/src/") else { continue };
        let step = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        for (number, line) in text.code.lines().enumerate().filter(|(_, line)| reads_gateway(line)) {
            if EXCEPTIONS.iter().any(|(exception, _)| *exception == path) {
                excepted += 1;
            } else if AFTER_RESOLVE.contains(&step) {
                offences.push(format!("{}:{} {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert!(excepted > 0, "the test no longer recognises a reader of the gateway's settings");
    check("After `resolve`, a call reads `context.policy()`, not the settings of the gateway.", offences);
}
