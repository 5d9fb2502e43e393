//! Splits JSON text that arrives in chunks into tokens.

use memchr::memchr2;

/// The tokens of one chunk. The grammar is not checked: text that is not JSON yields tokens, too. A string, or a run of
/// other bytes, that continues in the next chunk yields a token in each.
pub struct Tokens<'a> {
    chunk: &'a [u8],
    at: usize,
    state: TokenizerState,
}

/// The state between two chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenizerState {
    #[default]
    OutsideString,
    InsideString,
    /// Inside a string, after a backslash.
    AfterBackslash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: TokenKind,
    /// The token as it is written; never empty.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// One of `{}[]:,`.
    Structure,
    /// Any other bytes outside strings: numbers, literals and white space.
    Other,
    /// The opening quote.
    StringStart,
    /// The content of a string as it is written, up to the closing quote.
    Text,
    /// The closing quote.
    StringEnd,
}

impl<'a> Tokens<'a> {
    pub fn new(state: TokenizerState, chunk: &'a [u8]) -> Self {
        Self { chunk, at: 0, state }
    }

    /// The position in the chunk after the last token.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn state(&self) -> TokenizerState {
        self.state
    }

    #[inline]
    fn outside_string(&mut self, rest: &[u8]) -> (TokenKind, usize) {
        if rest[0] == b'"' {
            self.state = TokenizerState::InsideString;
            return (TokenKind::StringStart, 1);
        }
        match rest.iter().position(|&byte| ENDS_OTHER[usize::from(byte)]) {
            Some(0) => (TokenKind::Structure, 1),
            Some(length) => (TokenKind::Other, length),
            None => (TokenKind::Other, rest.len()),
        }
    }

    #[inline]
    fn inside_string(&mut self, rest: &[u8]) -> (TokenKind, usize) {
        if rest[0] == b'"' {
            self.state = TokenizerState::OutsideString;
            return (TokenKind::StringEnd, 1);
        }
        self.text(rest, 0)
    }

    /// The content of a string; its first `escaped` bytes follow a backslash.
    #[inline]
    fn text(&mut self, rest: &[u8], escaped: usize) -> (TokenKind, usize) {
        self.state = TokenizerState::InsideString;
        let mut at = escaped;
        while let Some(found) = memchr2(b'"', b'\\', &rest[at..]) {
            at += found;
            if rest[at] == b'"' {
                return (TokenKind::Text, at);
            }
            at += 2;
            if at > rest.len() {
                self.state = TokenizerState::AfterBackslash;
                break;
            }
        }
        (TokenKind::Text, rest.len())
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.chunk[self.at..];
        if rest.is_empty() {
            return None;
        }
        let (kind, length) = match self.state {
            TokenizerState::OutsideString => self.outside_string(rest),
            TokenizerState::InsideString => self.inside_string(rest),
            TokenizerState::AfterBackslash => self.text(rest, 1),
        };
        self.at += length;
        Some(Token { kind, bytes: &rest[..length] })
    }
}

/// The bytes that end a run of other bytes.
const ENDS_OTHER: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"{}[]:,\"";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Described = Vec<(TokenKind, Vec<u8>)>;

    /// The tokens of a text in chunks, with parts of one token joined again.
    fn tokens(chunks: &[&[u8]]) -> Described {
        let mut state = TokenizerState::default();
        let mut found: Described = Vec::new();
        for chunk in chunks {
            let mut tokens = Tokens::new(state, chunk);
            while let Some(token) = tokens.next() {
                assert_eq!(&chunk[tokens.at() - token.bytes.len()..tokens.at()], token.bytes);
                join(&mut found, token);
            }
            state = tokens.state();
        }
        found
    }

    fn join(found: &mut Described, token: Token<'_>) {
        match (found.last_mut(), token.kind) {
            (Some((kind, bytes)), TokenKind::Text | TokenKind::Other) if *kind == token.kind => {
                bytes.extend_from_slice(token.bytes);
            }
            (_, kind) => found.push((kind, token.bytes.to_vec())),
        }
    }

    #[test]
    fn a_text_is_split_into_its_tokens() {
        use TokenKind::*;
        let expected: [(TokenKind, &[u8]); 12] = [
            (Structure, b"{"),
            (StringStart, b"\""),
            (Text, b"a\\\"\\u00e9\n"),
            (StringEnd, b"\""),
            (Other, b" "),
            (Structure, b":"),
            (Structure, b"["),
            (Other, b"-1.5 "),
            (Structure, b","),
            (Other, b"null"),
            (Structure, b"]"),
            (Structure, b"}"),
        ];
        let expected: Described = expected.map(|(kind, bytes)| (kind, bytes.to_vec())).into();
        assert_eq!(tokens(&[b"{\"a\\\"\\u00e9\n\" :[-1.5 ,null]}"]), expected);
    }

    proptest! {
        #[test]
        fn any_text_has_the_same_tokens_in_any_two_chunks(
            body in prop::collection::vec(prop_oneof![
                prop::sample::select(b"\"\"\"\\\\{}[]:, \n1u".to_vec()), any::<u8>(),
            ], 0..60),
        ) {
            let whole = tokens(&[&body]);
            for split in 0..=body.len() {
                let (first, second) = body.split_at(split);
                prop_assert_eq!(&tokens(&[first, second]), &whole, "at {}", split);
            }
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            prop_assert_eq!(tokens(&bytes), whole);
        }
    }
}
