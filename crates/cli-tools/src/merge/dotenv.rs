//! Merging into `.env` files.

/// Sets the variables: an assignment that exists is replaced in its line, others are appended.
pub fn merge(existing: &str, variables: &[(&'static str, String)]) -> String {
    let mut lines: Vec<String> = existing.lines().map(str::to_owned).collect();
    for (name, value) in variables {
        let assignment = format!("{name}={value}");
        let mut assigned = lines.iter_mut().filter(|line| assigns(line, name)).peekable();
        if assigned.peek().is_none() {
            drop(assigned);
            lines.push(assignment);
        } else {
            assigned.for_each(|line| *line = assignment.clone());
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn assigns(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_replaced_in_their_lines() {
        let existing = "# keys\nexport KEY = old\nKEY_2=kept";
        let merged = merge(existing, &[("KEY", "new".to_owned()), ("URL", "u".to_owned())]);
        assert_eq!(merged, "# keys\nKEY=new\nKEY_2=kept\nURL=u\n");
        assert_eq!(merge("", &[("KEY", "new".to_owned())]), "KEY=new\n");
    }
}
