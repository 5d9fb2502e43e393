//! Names that were renamed to the terms of the field and must not come back.

use crate::tree::rust_files;

/// Types and modules. Each had a literary name that nobody would search for.
const BANNED: [&str; 46] = [
    "AsIs",
    "Ahead",
    "Backlog",
    "Bell",
    "Circumstances",
    "Course",
    "Departure",
    "Door",
    "Earlier",
    "Fare",
    "Fate",
    "Flow",
    "Follower",
    "Gleaner",
    "Heard",
    "House",
    "Leaving",
    "Lot",
    "Manner",
    "Mint",
    "Moment",
    "Narrator",
    "Occasion",
    "Passage",
    "Patient",
    "Pen",
    "Prospect",
    "Recall",
    "Recourse",
    "Said",
    "Seam",
    "Shelf",
    "Spending",
    "Standing",
    "Told",
    "Tried",
    "Trying",
    "Unwritten",
    "Wishes",
    "Words",
    "follow",
    "foresee",
    "glance",
    "glean",
    "narrate",
    "said",
];
const DECLARATIONS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "mod "];

#[test]
fn types_and_modules_have_standard_names() {
    let mut offences = Vec::new();
    for file in rust_files() {
        for (number, line) in file.source.lines().enumerate() {
            let declared = DECLARATIONS.iter().find_map(|keyword| {
                let line = line.trim_start();
                let line = line.strip_prefix("pub ").unwrap_or(line);
                let line =
                    line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
                line.strip_prefix(keyword)
            });
            let name =
                declared.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            if name.is_some_and(|name| BANNED.contains(&name)) {
                offences.push(format!("{}:{} {}", file.path, number + 1, line.trim()));
            }
        }
    }
    crate::check("Types and modules have names that readers search for.", offences);
}
