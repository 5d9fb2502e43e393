//! The JSON scanner: validates a body and finds its top-level members without building a tree.

mod compact;
mod cursor;
mod key_filter;
mod key_search;
mod stream_validator;
mod text;
mod tokenizer;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use domain::fault::{self, Fault};

pub use compact::compact;
use cursor::{Cursor, Key};
pub use domain::json::{Quoted, push_escaped, push_number, push_string, quote};
pub use key_filter::KeyFilter;
pub use key_search::{find_key, find_plain_string, value_after};
pub use stream_validator::StreamValidator;
pub use text::{decoded_len, string_at, string_extent};
pub use tokenizer::{Token, TokenKind, TokenizerState, Tokens};

/// Maximum nesting depth; deeper bodies are rejected.
pub const DEPTH_LIMIT: usize = 128;

/// Maximum number of values and keys in a body that is parsed into a tree. Translating a body takes up to 1,100 bytes
/// per element, whatever its length in the body; the largest conversations of coding agents have about 50,000 elements.
pub const ELEMENT_LIMIT: usize = 100_000;

/// Maximum number of members of one scanned object.
pub const MEMBER_LIMIT: usize = 10_000;

/// One member of an object, as positions in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The bytes between the key's quotes.
    pub key: Range<usize>,
    /// From the key's opening quote to the end of the value.
    pub member: Range<usize>,
    pub value: Range<usize>,
}

/// An object's members in the order they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub members: Vec<Member>,
    /// The index of `{`.
    pub open: usize,
    /// The index of `}`.
    pub close: usize,
    /// Whether some key contains escapes, so that its bytes differ from its name.
    pub escaped_keys: bool,
    /// Values and keys in the object, at any depth.
    pub elements: usize,
    /// The keys in the object, at any depth.
    pub keys: KeyFilter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanError {
    NotUtf8 { at: usize },
    Empty,
    NotAnObject,
    TooDeep { limit: usize },
    TooManyElements { count: usize, limit: usize },
    TooManyMembers { limit: usize },
    DuplicateKey(String),
    Syntax { at: usize, expected: &'static str },
}

/// Validates the whole body (UTF-8, RFC 8259 grammar, depth, no duplicate top-level keys) and returns its members.
pub fn scan(body: &[u8]) -> Result<Object, ScanError> {
    if body.first() != Some(&b'{') && body.trim_ascii().is_empty() {
        return Err(ScanError::Empty);
    }
    if simdutf8::basic::from_utf8(body).is_err() {
        let at = std::str::from_utf8(body).err().map_or(0, |error| error.valid_up_to());
        return Err(ScanError::NotUtf8 { at });
    }
    scan_within(body, 0..body.len())
}

/// Scans the object that fills `range`, apart from white space. Positions refer to `body`, which must be valid UTF-8.
pub fn scan_within(body: &[u8], range: Range<usize>) -> Result<Object, ScanError> {
    let mut cursor = Cursor::new(body, range);
    cursor.skip_space();
    if cursor.peek() != Some(b'{') {
        let blank = cursor.peek().is_none();
        let expected = "a JSON object";
        // Invalid JSON is reported with its position, a valid value of another type as not an object.
        return match cursor.value(0) {
            Ok(_) => Err(ScanError::NotAnObject),
            Err(_) if blank => Err(ScanError::Syntax { at: cursor.at(), expected }),
            Err(error) => Err(error),
        };
    }
    object(&mut cursor, |cursor, _| cursor.value(1))
}

/// Scans a body of valid UTF-8 that is an object. Also returns the elements of its first member that has one of the names
/// and is an array.
pub fn scan_with_elements(body: &[u8], names: &[&str]) -> Result<(Object, Vec<Range<usize>>), ScanError> {
    let mut cursor = Cursor::new(body, 0..body.len());
    let mut elements = None;
    cursor.skip_space();
    let object = object(&mut cursor, |cursor, key| {
        let is_named = names.iter().any(|name| name.as_bytes() == &cursor.bytes()[key.clone()]);
        if elements.is_some() || !is_named || cursor.peek() != Some(b'[') {
            return cursor.value(1);
        }
        let (start, found) = (cursor.at(), elements.insert(Vec::new()));
        cursor.count_container();
        elements_at(cursor, 2, |element| found.push(element))?;
        Ok(start..cursor.at())
    })?;
    Ok((object, elements.unwrap_or_default()))
}

fn expect_end(cursor: &mut Cursor<'_>) -> Result<(), ScanError> {
    cursor.skip_space();
    match cursor.peek() {
        None => Ok(()),
        Some(_) => Err(ScanError::Syntax { at: cursor.at(), expected: "the end of the text" }),
    }
}

/// The value that a path of member names leads to, unless it is absent or null.
pub fn value_at(body: &[u8], path: &[&str]) -> Option<Range<usize>> {
    scan(body).ok()?.value_at(body, path)
}

/// The elements of the array that fills `range`, as positions in `body`.
pub fn scan_array(body: &[u8], range: Range<usize>) -> Result<Vec<Range<usize>>, ScanError> {
    let mut elements = Vec::new();
    visit_array(body, range, |element| elements.push(element))?;
    Ok(elements)
}

/// Visits the elements of the array that fills `range` without collecting their positions, which for an array of small
/// numbers take many times its length.
pub fn visit_array(
    body: &[u8],
    range: Range<usize>,
    visit: impl FnMut(Range<usize>),
) -> Result<(), ScanError> {
    let mut cursor = Cursor::new(body, range);
    cursor.skip_space();
    elements_at(&mut cursor, 1, visit)
}

/// Visits the elements, nested in `depth` containers, of the array at the cursor, which moves behind it.
fn elements_at(
    cursor: &mut Cursor<'_>,
    depth: usize,
    mut visit: impl FnMut(Range<usize>),
) -> Result<(), ScanError> {
    cursor.expect(b'[', "an array")?;
    cursor.skip_space();
    if cursor.take(b']') {
        return Ok(());
    }
    loop {
        visit(cursor.value(depth)?);
        cursor.skip_space();
        if cursor.take(b']') {
            return Ok(());
        }
        cursor.expect(b',', "',' or ']'")?;
        cursor.skip_space();
    }
}

/// The first elements of the array that fills `range`, at most `count`; the rest is not read. An element that does not end
/// in `range` is left out.
pub fn first_elements(body: &[u8], range: Range<usize>, count: usize) -> Vec<Range<usize>> {
    let mut cursor = Cursor::new(body, range);
    let mut elements = Vec::new();
    cursor.skip_space();
    if !cursor.take(b'[') {
        return elements;
    }
    cursor.skip_space();
    while elements.len() < count
        && let Ok(element) = cursor.value(1)
    {
        elements.push(element);
        cursor.skip_space();
        if !cursor.take(b',') {
            break;
        }
        cursor.skip_space();
    }
    elements
}

impl Object {
    #[inline]
    pub fn get(&self, body: &[u8], name: &str) -> Option<&Member> {
        self.position(body, name).map(|index| &self.members[index])
    }

    /// The index of the member `name`, however its key is escaped.
    #[inline]
    pub fn position(&self, body: &[u8], name: &str) -> Option<usize> {
        // Most names that are searched for are absent, and the filter rules them out in a few instructions.
        if self.keys.may_contain(name) { self.find(body, name) } else { None }
    }

    fn find(&self, body: &[u8], name: &str) -> Option<usize> {
        let is_written =
            |member: &Member| member.key.len() == name.len() && &body[member.key.clone()] == name.as_bytes();
        let written = self.members.iter().position(is_written);
        if written.is_some() || !self.escaped_keys {
            return written;
        }
        let is_named =
            |member: &Member| text::unescape(&body[member.key.clone()]).is_some_and(|key| key == name);
        self.members.iter().position(is_named)
    }

    /// The members with their names, each unescaped once; names that are not valid text are given as written.
    pub fn named<'a>(&'a self, body: &'a [u8]) -> impl Iterator<Item = (Cow<'a, [u8]>, &'a Member)> {
        self.members.iter().map(move |member| {
            let written = &body[member.key.clone()];
            let name = if self.escaped_keys { text::unescape_lossy(written) } else { Cow::Borrowed(written) };
            (name, member)
        })
    }

    /// The name of a member that differs from `name` in its capitals alone. Parsers that ignore case, such as Go's, read it
    /// like `name`; they also take the long s and the Kelvin sign for letters.
    pub fn case_variant(&self, body: &[u8], name: &str) -> Option<String> {
        let is_variant = |key: &[u8]| {
            // Each of the two characters takes one or two bytes more than its letter.
            key != name.as_bytes()
                && key.len() >= name.len()
                && key.len() <= 3 * name.len()
                && (key.eq_ignore_ascii_case(name.as_bytes()) || (!key.is_ascii() && folds_to(key, name)))
        };
        if !self.escaped_keys {
            let found = self.members.iter().find(|member| is_variant(&body[member.key.clone()]))?;
            return Some(String::from_utf8_lossy(&body[found.key.clone()]).into_owned());
        }
        let found = self.named(body).find(|(key, _)| is_variant(key))?;
        Some(String::from_utf8_lossy(&found.0).into_owned())
    }

    /// Rejects a body that would take too much memory when parsed into a tree.
    pub fn check_elements(&self) -> Result<(), ScanError> {
        match self.elements {
            0..=ELEMENT_LIMIT => Ok(()),
            count => Err(ScanError::TooManyElements { count, limit: ELEMENT_LIMIT }),
        }
    }

    /// The value of `name`, unless it is absent or null.
    #[inline]
    pub fn value(&self, body: &[u8], name: &str) -> Option<Range<usize>> {
        let value = self.get(body, name)?.value.clone();
        (&body[value.clone()] != b"null").then_some(value)
    }

    /// The value that a path of member names leads to, unless it is absent or null. Each object on the path is scanned.
    pub fn value_at(&self, body: &[u8], path: &[&str]) -> Option<Range<usize>> {
        let (name, rest) = path.split_first()?;
        let value = self.value(body, name)?;
        if rest.is_empty() { Some(value) } else { scan_within(body, value).ok()?.value_at(body, rest) }
    }
}

impl From<ScanError> for Fault {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::NotUtf8 { at } => {
                fault::invalid_json(format!("The body is not UTF-8: see byte {at}."))
            }
            ScanError::Empty => fault::invalid_json("The request body is empty. Send a JSON object."),
            ScanError::NotAnObject => fault::invalid_json("The body must be a JSON object."),
            ScanError::TooDeep { limit } => {
                fault::invalid_json(format!("The body nests deeper than {limit} levels."))
            }
            ScanError::TooManyElements { count, limit } => fault::invalid_json(format!(
                "The body has {count} JSON values and keys; at most {limit} can be processed here. Send fewer, longer values."
            )),
            ScanError::TooManyMembers { limit } => {
                fault::invalid_json(format!("The body has an object with more than {limit} members."))
            }
            ScanError::DuplicateKey(key) => {
                fault::invalid_json(format!("The body has the key '{key}' more than once.")).param(key)
            }
            ScanError::Syntax { at, expected } => {
                fault::invalid_json(format!("The body is not valid JSON: expected {expected} at byte {at}."))
            }
        }
    }
}

/// Whether a key is equal to a name without regard to case, the long s and the Kelvin sign.
fn folds_to(key: &[u8], name: &str) -> bool {
    let folded = String::from_utf8_lossy(key).replace('\u{17F}', "s").replace('\u{212A}', "k");
    folded.eq_ignore_ascii_case(name)
}

/// Reads the object at the cursor, which ends the text; `read_value` moves it over the value of a key.
fn object(
    cursor: &mut Cursor<'_>,
    mut read_value: impl FnMut(&mut Cursor<'_>, &Range<usize>) -> Result<Range<usize>, ScanError>,
) -> Result<Object, ScanError> {
    let open = cursor.at();
    cursor.expect(b'{', "'{'")?;
    cursor.skip_space();
    let mut members = Vec::with_capacity(8);
    // A bit for each fingerprint.
    let mut prints = 0u64;
    if !cursor.take(b'}') {
        loop {
            let Key { range: key, fingerprint } = cursor.key()?;
            prints |= 1 << (fingerprint % 64);
            let value = read_value(cursor, &key)?;
            if members.len() == MEMBER_LIMIT {
                return Err(ScanError::TooManyMembers { limit: MEMBER_LIMIT });
            }
            members.push(Member { member: key.start - 1..value.end, key, value });
            cursor.skip_space();
            if cursor.take(b'}') {
                break;
            }
            cursor.expect(b',', "',' or '}'")?;
            cursor.skip_space();
        }
    }
    let (close, elements, keys) = (cursor.at() - 1, cursor.elements() + 1, cursor.keys());
    let mut object = Object { members, open, close, escaped_keys: false, elements, keys };
    if keys == KeyFilter::FULL {
        object.escaped_keys =
            object.members.iter().any(|member| cursor.bytes()[member.key.clone()].contains(&b'\\'));
    }
    let differ = prints.count_ones() as usize == object.members.len();
    if !differ || object.escaped_keys {
        object.refuse_duplicates(cursor.bytes())?;
    }
    expect_end(cursor)?;
    Ok(object)
}

impl Object {
    /// Rejects duplicate keys. Pairwise comparison is fastest for the few members of a usual request; hashing bounds
    /// the cost of hostile ones.
    #[cold]
    fn refuse_duplicates(&self, body: &[u8]) -> Result<(), ScanError> {
        const PAIRWISE: usize = 32;
        let members = &self.members;
        let raw = |member: &Member| &body[member.key.clone()];
        let duplicate = if self.escaped_keys || members.len() > PAIRWISE {
            let mut seen = HashSet::with_capacity(members.len());
            members
                .iter()
                .map(|member| text::unescape_lossy(raw(member)))
                .find(|key| !seen.insert(key.clone()))
        } else {
            let repeated = |&index: &usize| {
                let key = raw(&members[index]);
                members[..index].iter().any(|other| raw(other) == key)
            };
            (0..members.len()).find(repeated).map(|index| Cow::Borrowed(raw(&members[index])))
        };
        match duplicate {
            Some(key) => Err(ScanError::DuplicateKey(String::from_utf8_lossy(&key).into_owned())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
