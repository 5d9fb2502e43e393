//! Test that docs/spec-coverage.md names an existing test for every statement of the API specification.

use crate::tree::root;

/// The sections of the specification, and how many statements and table rows each has. A row that is lost is missed here.
const SECTIONS: [(&str, usize); 23] = [
    ("1 Purpose", 6),
    ("2.1 Response object", 8),
    ("2.2 Input item", 3),
    ("2.3 Chat completion", 9),
    ("2.4 Usage summary", 1),
    ("2.5 Cache debug", 19),
    ("2.6 Provider", 1),
    ("2.7 Model access override", 4),
    ("2.8 Alias", 1),
    ("2.9 Managed API key", 11),
    ("2.10 Error envelope", 1),
    ("2.11 Other records", 3),
    ("3 States", 4),
    ("4.1 Inference", 10),
    ("4.2 Health", 1),
    ("4.3 Passthrough", 5),
    ("4.4 Admin API", 31),
    ("5 Authentication", 7),
    ("6 Events", 7),
    ("7 Errors", 8),
    ("8 Limits", 6),
    ("9 Versions", 3),
    ("Deviations", 4),
];

/// The cells of the table rows below a heading, without the head of the table.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let below = page.split("\n## ").find(|part| part.lines().next() == Some(heading)).unwrap_or_default();
    let cells = |line: &'a str| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>();
    below.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells).collect()
}

/// The tests that the last cell of a row names.
fn tests<'a>(row: &[&'a str]) -> Vec<&'a str> {
    row.last().map(|cell| cell.split('`').skip(1).step_by(2).collect()).unwrap_or_default()
}

/// The reason why a name leads to no test.
fn fault(name: &str) -> Option<String> {
    if let Some(suite) = name.strip_prefix("suites/") {
        let is_there = root().join("suites").join(suite).is_dir();
        return (!is_there).then(|| format!("there is no suite '{suite}'"));
    }
    let Some((file, function)) = name.split_once("::") else {
        return Some("neither a suite nor file::function".to_owned());
    };
    let file = file.replacen("api/", "crates/server/tests/api/", usize::from(file.starts_with("api/")));
    let Ok(source) = std::fs::read_to_string(root().join(&file)) else {
        return Some(format!("there is no file {file}"));
    };
    // The attribute of a test stands in one of the lines above.
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declared = |line: &str| {
        let declaration = line.strip_prefix("async ").unwrap_or(line);
        declaration.strip_prefix("fn ").is_some_and(|rest| rest.split('(').next() == Some(function))
    };
    let found = lines.iter().position(|line| declared(line));
    let is_test = found.is_some_and(|at| {
        lines[..at].iter().rev().take_while(|line| line.starts_with('#')).any(|line| line.contains("test"))
    });
    (!is_test).then(|| format!("{file} has no test {function}"))
}

#[test]
fn every_statement_of_the_specification_has_a_test() {
    let page = std::fs::read_to_string(root().join("docs/spec-coverage.md")).unwrap();
    let mut offences = Vec::new();
    for (section, count) in SECTIONS {
        let rows = rows(&page, section);
        if rows.len() != count {
            offences.push(format!("{section}: {} rows instead of {count}", rows.len()));
        }
        for row in rows {
            let tests = tests(&row);
            if tests.is_empty() {
                offences.push(format!("{}: no test", row[0]));
            }
            offences.extend(tests.iter().filter_map(|name| Some(format!("{}: {}", row[0], fault(name)?))));
        }
    }
    let sections = page.lines().filter_map(|line| line.strip_prefix("## "));
    let unknown = sections.filter(|name| !SECTIONS.iter().any(|(section, _)| *section == *name));
    offences.extend(unknown.map(|name| format!("{name}: a section that SECTIONS does not list")));
    crate::check("docs/spec-coverage.md names an existing test in each row.", offences);
}

#[test]
fn names_that_lead_to_no_test_are_recognized() {
    assert_eq!(fault("suites/schema"), None);
    assert_eq!(fault("api/shell.rs::request_ids"), None);
    for name in
        ["suites/none", "api/shell.rs::no_such_test", "api/none.rs::a", "api/app.rs::question", "word"]
    {
        assert!(fault(name).is_some(), "{name}");
    }
}
