//! Parses YAML into a tree of plain text with positions; scalars are interpreted by the setting they belong to.

use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle};

use super::fault::{FilePosition, SettingsFault};

const MOST_LEVELS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub content: Content,
    /// Whether a scalar is in quotes or a block, and is text whatever it looks like.
    pub quoted: bool,
    pub place: FilePosition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub place: FilePosition,
    pub value: Node,
}

impl Node {
    /// The node as JSON, with each scalar as the text that `expand` returns.
    pub fn json(
        &self,
        expand: &mut impl FnMut(&str) -> Result<String, String>,
    ) -> Result<serde_json::Value, String> {
        Ok(match &self.content {
            Content::Null => serde_json::Value::Null,
            Content::Scalar(text) => expand(text)?.into(),
            Content::List(items) => {
                items.iter().map(|item| item.json(expand)).collect::<Result<Vec<_>, _>>()?.into()
            }
            Content::Map(entries) => {
                let mut members = serde_json::Map::new();
                for entry in entries {
                    members.insert(entry.key.clone(), entry.value.json(expand)?);
                }
                members.into()
            }
        })
    }
}

/// A collection whose end has not been reached.
enum Open {
    List(Vec<Node>, FilePosition),
    Map { entries: Vec<Entry>, key: Option<(String, FilePosition)>, place: FilePosition },
}

/// Parses the single document of a file. Stops at the first fault, because nothing after a syntax error is reliable.
pub fn parse(text: &str) -> Result<Node, SettingsFault> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| fault(place(error.marker()), &error.info()))?;
        let place = place(&span.start);
        let complete = match event {
            Event::Scalar(text, style, ..) => Some(scalar(&text, style, place)),
            Event::SequenceStart(..) => push(&mut open, Open::List(Vec::new(), place))?,
            Event::MappingStart(..) => push(&mut open, Open::Map { entries: Vec::new(), key: None, place })?,
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(Open::close),
            Event::Alias(..) | Event::UnresolvedAlias(..) => {
                return Err(fault(place, "anchors and aliases are not supported; write the value out"));
            }
            Event::DocumentStart(..) if root.is_some() => {
                return Err(fault(place, "a second document is not supported"));
            }
            _ => None,
        };
        if let Some(node) = complete {
            match open.last_mut() {
                Some(parent) => parent.add(node)?,
                None => root = Some(node),
            }
        }
    }
    Ok(root.unwrap_or(Node {
        content: Content::Null,
        quoted: false,
        place: FilePosition { line: 1, column: 1 },
    }))
}

fn push(open: &mut Vec<Open>, collection: Open) -> Result<Option<Node>, SettingsFault> {
    if open.len() == MOST_LEVELS {
        let (Open::List(_, place) | Open::Map { place, .. }) = collection;
        return Err(fault(place, "this is nested too deeply"));
    }
    open.push(collection);
    Ok(None)
}

impl Open {
    fn close(self) -> Node {
        match self {
            Self::List(items, place) => Node { content: Content::List(items), quoted: false, place },
            Self::Map { entries, place, .. } => Node { content: Content::Map(entries), quoted: false, place },
        }
    }

    fn add(&mut self, node: Node) -> Result<(), SettingsFault> {
        let (entries, key) = match self {
            Self::List(items, _) => {
                items.push(node);
                return Ok(());
            }
            Self::Map { entries, key, .. } => (entries, key),
        };
        match (key.take(), node) {
            (Some((key, place)), value) => entries.push(Entry { key, place, value }),
            (None, Node { content: Content::Scalar(name), place, .. }) => {
                if entries.iter().any(|entry| entry.key == name) {
                    return Err(fault(place, &format!("'{name}' is given twice")));
                }
                *key = Some((name, place));
            }
            (None, Node { place, .. }) => return Err(fault(place, "a key must be plain text")),
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, place: FilePosition) -> Node {
    let null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    let content = if null { Content::Null } else { Content::Scalar(text.to_owned()) };
    Node { content, quoted: style != ScalarStyle::Plain, place }
}

fn place(marker: &Marker) -> FilePosition {
    FilePosition { line: marker.line(), column: marker.col() + 1 }
}

fn fault(place: FilePosition, message: &str) -> SettingsFault {
    SettingsFault::new("YAML:", message).at(Some(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar_at(node: &Node, path: &str) -> Option<(String, FilePosition)> {
        let mut node = node;
        for part in path.split('.') {
            let Content::Map(entries) = &node.content else { return None };
            node = &entries.iter().find(|entry| entry.key == part)?.value;
        }
        match &node.content {
            Content::Scalar(text) => Some((text.clone(), node.place)),
            _ => None,
        }
    }

    #[test]
    fn scalars_keep_their_text_and_place() {
        let tree = parse("server:\n  port: 0123\nquoted: \"1.10\"\nnothing: ~\nlist: [a, b]\n").unwrap();
        assert_eq!(
            scalar_at(&tree, "server.port"),
            Some(("0123".into(), FilePosition { line: 2, column: 9 }))
        );
        assert_eq!(scalar_at(&tree, "quoted"), Some(("1.10".into(), FilePosition { line: 3, column: 9 })));
        assert_eq!(scalar_at(&tree, "nothing"), None);
    }

    #[test]
    fn an_empty_file_has_no_settings() {
        for text in ["", "\n", "# only a comment\n"] {
            assert_eq!(parse(text).unwrap().content, Content::Null, "{text:?}");
        }
    }

    #[test]
    fn faults_have_a_place() {
        for (text, line) in [
            ("a: [1\nb: 2\n", None),
            ("a: 1\na: 2\n", Some(2)),
            ("a: &x 1\nb: *x\n", Some(2)),
            ("a: 1\n---\nb: 2\n", Some(2)),
            (&*format!("a: {}", "[".repeat(40)), Some(1)),
        ] {
            let fault = parse(text).unwrap_err();
            let place = fault.place.unwrap();
            assert!(line.is_none_or(|line| line == place.line), "{text:?} {fault:?}");
        }
    }
}
