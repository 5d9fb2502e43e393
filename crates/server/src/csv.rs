//! Writes CSV rows (RFC 4180) whose cells spreadsheets do not evaluate as formulas.

use std::fmt::Write as _;

pub fn write_row(text: &mut String, cells: &[String]) {
    for (index, value) in cells.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_cell(text, value);
    }
    text.push_str("\r\n");
}

/// Writes a cell, with an apostrophe before every part that a spreadsheet could evaluate as a formula. Spreadsheets in
/// many locales split at semicolons, so a formula may also start in the middle of a cell.
fn write_cell(text: &mut String, value: &str) {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    const BREAK: [char; 3] = ['\t', '\r', '\n'];
    let mut safe = String::with_capacity(value.len() + 2);
    let mut begins = true;
    for (index, character) in value.char_indices() {
        if begins && (FORMULA.contains(&character) || (index == 0 && BREAK.contains(&character))) {
            safe.push('\'');
        }
        safe.push(character);
        // A quotation mark is dropped by readers that split at semicolons, so the next character may still start a
        // formula.
        begins = matches!(character, ';' | ',') || BREAK.contains(&character) || (begins && character == '"');
    }
    if safe.len() > value.len() || value.contains([',', '"', '\n', '\r']) {
        let _ = write!(text, "\"{}\"", safe.replace('"', "\"\""));
    } else {
        text.push_str(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_none_breaks_its_line() {
        for (value, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@x", "\"'@x\""),
            ("\t=1", "\"'\t'=1\""),
            ("\r1", "\"'\r1\""),
            ("＝1", "\"'＝1\""),
            ("x;=1", "\"x;'=1\""),
            ("x;\"@1", "\"x;\"\"'@1\""),
            ("x\n＋1", "\"x\n'＋1\""),
            ("(X11; Linux)", "(X11; Linux)"),
            ("a=1", "a=1"),
        ] {
            let mut text = String::new();
            write_cell(&mut text, value);
            assert_eq!(text, expected, "{value:?}");
        }
    }
}
