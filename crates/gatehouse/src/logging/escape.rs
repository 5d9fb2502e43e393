//! Escapes control characters in log lines: text from providers must not forge lines or control the terminal.

/// Escapes the control characters of a line. Kept are the line feed at its end and ESC, which the formatter uses for
/// colours and itself escapes in values.
pub fn escape_controls(line: Vec<u8>) -> Vec<u8> {
    let ended = line.last() == Some(&b'\n');
    let body = line.len() - usize::from(ended);
    let is_control = |index: usize| {
        let previous = index.checked_sub(1).map(|index| line[index]);
        match line[index] {
            0x1b => false,
            0x80..=0x9f => previous == Some(0xc2),
            byte => byte < 0x20 || byte == 0x7f,
        }
    };
    if !(0..body).any(is_control) {
        return line;
    }
    let mut escaped = Vec::with_capacity(line.len() + 16);
    for (index, &byte) in line[..body].iter().enumerate() {
        match byte {
            byte if !is_control(index) => escaped.push(byte),
            b'\n' => escaped.extend_from_slice(b"\\n"),
            b'\r' => escaped.extend_from_slice(b"\\r"),
            b'\t' => escaped.extend_from_slice(b"\\t"),
            byte => {
                // The first byte of a two-byte character has already been copied.
                if byte >= 0x80 {
                    escaped.pop();
                }
                escaped.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
            }
        }
    }
    if ended {
        escaped.push(b'\n');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes() {
        for (line, expected) in [
            ("plain é ü \u{1f600}\n", "plain é ü \u{1f600}\n"),
            ("a\nINFO forged\r\n", "a\\nINFO forged\\r\n"),
            ("tab\there\u{7}\0\u{7f}", "tab\\there\\x07\\x00\\x7f"),
            ("c1 \u{9b}31m \u{85}\n", "c1 \\x9b31m \\x85\n"),
            ("\u{1b}[2mcolour\u{1b}[0m\n", "\u{1b}[2mcolour\u{1b}[0m\n"),
            ("", ""),
            ("\n", "\n"),
        ] {
            assert_eq!(String::from_utf8(escape_controls(line.into())).unwrap(), expected, "{line:?}");
        }
    }
}
