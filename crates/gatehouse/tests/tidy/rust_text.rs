//! Rust source as the tidy test sees it: code without comments, and its string literals apart.

pub struct Literal {
    pub content: String,
    pub line: usize,
    /// The position of its quotes in the code.
    start: usize,
    end: usize,
}

/// Comments are gone and literals are empty quotes; lines are where they were.
#[derive(Default)]
pub struct Text {
    pub code: String,
    pub literals: Vec<Literal>,
}

impl Text {
    pub fn read(source: &str) -> Self {
        let mut text = Self::default();
        let mut rest = source;
        while let Some(next) = rest.chars().next() {
            let taken = match next {
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                '/' if rest.starts_with("/*") => text.skip_block(rest),
                '"' => text.literal(rest, 0, 0),
                'r' | 'b' | 'c' if text.starts_word() => text.prefixed(rest),
                '\'' => text.character(rest),
                other => text.keep(other),
            };
            rest = &rest[taken..];
        }
        text
    }

    fn keep(&mut self, character: char) -> usize {
        self.code.push(character);
        character.len_utf8()
    }

    fn starts_word(&self) -> bool {
        !self.code.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_')
    }

    fn skip_block(&mut self, rest: &str) -> usize {
        let taken = rest.find("*/").map_or(rest.len(), |at| at + 2);
        self.code.extend(rest[..taken].chars().filter(|character| *character == '\n'));
        taken
    }

    /// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`; anything else is a word.
    fn prefixed(&mut self, rest: &str) -> usize {
        let prefix = rest.chars().take_while(|character| matches!(character, 'r' | 'b' | 'c')).count();
        let hashes = rest[prefix..].chars().take_while(|character| *character == '#').count();
        let raw = rest[..prefix].contains('r');
        if rest[prefix + hashes..].starts_with('"') && (raw || hashes == 0) {
            return self.literal(rest, prefix + hashes, if raw { hashes + 1 } else { 0 });
        }
        self.keep(rest.chars().next().unwrap_or(' '))
    }

    /// `raw` is one more than the number of hashes, or nothing for a literal with escapes.
    fn literal(&mut self, rest: &str, before: usize, raw: usize) -> usize {
        let inside = &rest[before + 1..];
        let (length, closing) = if raw > 0 {
            let close = format!("\"{}", "#".repeat(raw - 1));
            (inside.find(&close).unwrap_or(inside.len()), close.len())
        } else {
            (escaped_length(inside), 1)
        };
        let content = inside[..length].to_owned();
        let (line, start) = (self.code.matches('\n').count() + 1, self.code.len());
        self.code.push_str("\"\"");
        self.code.extend(content.chars().filter(|character| *character == '\n'));
        self.literals.push(Literal { content, line, start, end: self.code.len() });
        (before + 1 + length + closing).min(rest.len())
    }

    /// A character literal is dropped; a lifetime is kept.
    fn character(&mut self, rest: &str) -> usize {
        let mut characters = rest[1..].char_indices();
        match (characters.next(), characters.next()) {
            (Some((_, '\\')), _) => 1 + 2 + rest[3..].find('\'').map_or(0, |at| at + 1),
            (Some(_), Some((at, '\''))) => 1 + at + 1,
            _ => self.keep('\''),
        }
    }
}

fn escaped_length(inside: &str) -> usize {
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            '"' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    inside.len()
}

impl Literal {
    /// Something is decided by it: `==`, `!=`, or it is a pattern.
    pub fn is_compared(&self, text: &Text) -> bool {
        let before = text.code[..self.start].trim_end();
        let after = text.code[self.end..].trim_start();
        let pattern = after.starts_with("=>") || after.starts_with("| ") || before.ends_with(" |");
        let equality = |code: &str| code.starts_with("==") || code.starts_with("!=");
        let guarded = after.starts_with("if ") || before.ends_with("Some(") && after.starts_with(") =>");
        pattern || guarded || equality(after) || before.ends_with("==") || before.ends_with("!=")
    }
}

#[test]
fn comments_go_and_literals_are_seen() {
    let source = "let a = \"x\\\"y\"; // \"no\"\nlet b = r#\"q\"uote\"#; /* \"no\" */ let c = '\"'; let d: &'static str = b\"z\";\n";
    let text = Text::read(source);
    let found: Vec<(&str, usize)> =
        text.literals.iter().map(|literal| (literal.content.as_str(), literal.line)).collect();
    assert_eq!(found, [("x\\\"y", 1), ("q\"uote", 2), ("z", 2)]);
    assert!(text.code.contains("&'static str") && !text.code.contains("no"), "{}", text.code);
}

#[test]
fn comparisons_and_data_are_distinguished() {
    let check = |source: &str, expected: bool| {
        let text = Text::read(source);
        assert_eq!(text.literals[0].is_compared(&text), expected, "{source}");
    };
    check("if name == \"openai\" {}", true);
    check("if \"openai\" != name {}", true);
    check("match name { \"openai\" => 1, _ => 2 }", true);
    check("match name { \"openai\" | \"groq\" => 1, _ => 2 }", true);
    check("matches!(name, \"openai\" | \"groq\")", true);
    check("match name { Some(\"openai\") => 1, _ => 2 }", true);
    check("let name = \"openai\";", false);
    check("[\"openai\", \"groq\"]", false);
}
