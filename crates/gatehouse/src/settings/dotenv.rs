//! The `.env` file of the working directory: `NAME=value` lines that the process environment overrides.

use std::collections::BTreeMap;
use std::path::Path;

use super::fault::{FilePosition, SettingsFault};

/// Adds the variables of `.env` that the environment does not set.
pub fn overlay(
    mut environment: BTreeMap<String, String>,
    working_directory: &Path,
    faults: &mut Vec<SettingsFault>,
) -> BTreeMap<String, String> {
    let path = working_directory.join(".env");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return environment,
        Err(error) => {
            faults.push(SettingsFault::new("the file", format!("cannot be read: {error}")).in_file(path));
            return environment;
        }
    };
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        match parse_line(line) {
            Ok(Some((name, value))) => {
                environment.entry(name).or_insert(value);
            }
            Ok(None) => {}
            Err(message) => {
                let place = FilePosition { line: index + 1, column: 1 };
                faults.push(SettingsFault::new("the line", message).in_file(&path).at(Some(place)));
            }
        }
    }
    environment
}

/// Parses a line. Error messages never quote it, because it may contain a secret.
fn parse_line(line: &str) -> Result<Option<(String, String)>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or("is not NAME=value")?;
    let name = name.trim();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Err("does not begin with the name of a variable");
    }
    Ok(Some((name.to_owned(), parse_value(value.trim())?)))
}

fn parse_value(value: &str) -> Result<String, &'static str> {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (inside, after) = quoted(&value[1..], quote).ok_or("has a quote that is not closed")?;
            let after = after.trim_start();
            if after.is_empty() || after.starts_with('#') {
                Ok(inside)
            } else {
                Err("goes on after its closing quote")
            }
        }
        // A comment needs a space before it, because '#' occurs in passwords.
        _ => {
            let end =
                if value.starts_with('#') { Some(0) } else { value.find(" #").or_else(|| value.find("\t#")) };
            Ok(value[..end.unwrap_or(value.len())].trim_end().to_owned())
        }
    }
}

/// Reads a quoted value: single quotes keep everything, double quotes support `\n`, `\t`, `\"`, `\\` and `\$`.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            _ if character == quote => return Some((inside, &text[index + 1..])),
            '\\' if quote == '"' => inside.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            _ => inside.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, name: &str, value: &str) {
        assert_eq!(parse_line(line), Ok(Some((name.to_owned(), value.to_owned()))), "{line}");
    }

    #[test]
    fn lines() {
        check("A=b", "A", "b");
        check("export A = b c ", "A", "b c");
        check("A=", "A", "");
        check("A=b#c", "A", "b#c");
        check("A=b # c", "A", "b");
        check("A= # c", "A", "");
        check("A='b # \\n'", "A", "b # \\n");
        check("A=\"b\\n\\\"c\\\"\" # d", "A", "b\n\"c\"");
        check("A=b=c", "A", "b=c");
        assert_eq!(parse_line("  # comment"), Ok(None));
        assert_eq!(parse_line(""), Ok(None));
        for wrong in ["A", "=b", "A B=c", "A='b", "A='b'c"] {
            assert!(parse_line(wrong).is_err(), "{wrong}");
        }
    }
}
