//! Names that were renamed to the terms of the field and must not come back.

use crate::tree::rust_files;

/// Former names of types and modules, which have standard terms now.
const BANNED: [&str; 87] = [
    "Books",
    "ResponsePath",
    "Ahead",
    "Around",
    "AsIs",
    "Ask",
    "Asking",
    "Asks",
    "Backlog",
    "Bell",
    "Beside",
    "Cast",
    "Circumstances",
    "Clerk",
    "Course",
    "Deed",
    "Departure",
    "Door",
    "Earlier",
    "Everything",
    "Fare",
    "Fate",
    "Flow",
    "Follower",
    "Generate",
    "Glance",
    "Gleaner",
    "Heard",
    "House",
    "Inquiry",
    "Journey",
    "Keep",
    "Lane",
    "Lanes",
    "Lead",
    "Leaving",
    "Loose",
    "Lot",
    "Made",
    "Manner",
    "Mint",
    "Moment",
    "Narrator",
    "Nothing",
    "Occasion",
    "Partner",
    "Passage",
    "Passed",
    "Patient",
    "Pen",
    "Perhaps",
    "Prospect",
    "Question",
    "Recall",
    "Recourse",
    "Said",
    "Say",
    "Seam",
    "Shelf",
    "Spending",
    "Spoke",
    "Spoken",
    "Stake",
    "Standing",
    "Surroundings",
    "Through",
    "Told",
    "Tried",
    "Trying",
    "UnderWay",
    "Unheard",
    "Unwritten",
    "Wanted",
    "Whose",
    "WhyCanonical",
    "Wish",
    "Wishes",
    "Words",
    "ask",
    "follow",
    "foresee",
    "generate",
    "glance",
    "glean",
    "narrate",
    "said",
    "tell",
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
