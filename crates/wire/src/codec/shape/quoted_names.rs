//! Searches a body for many names in one pass over its quotation marks.

/// Names that begin with a quotation mark, which is how keys and values of JSON begin.
pub struct QuotedNames {
    names: &'static [&'static str],
    /// Whether a name may begin with three letters, by their bucket.
    starts: [bool; BUCKETS],
}

const BUCKETS: usize = 512;

impl QuotedNames {
    /// Each name is a quotation mark and at least three letters.
    pub const fn new(names: &'static [&'static str]) -> Self {
        let mut starts = [false; BUCKETS];
        let mut index = 0;
        while index < names.len() {
            let name = names[index].as_bytes();
            assert!(name[0] == b'"');
            starts[bucket(name[1], name[2], name[3])] = true;
            index += 1;
        }
        Self { names, starts }
    }

    /// Where one of the names begins.
    pub fn positions<'a>(&'static self, bytes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        memchr::memchr_iter(b'"', bytes).filter(move |at| self.begins(&bytes[*at..]))
    }

    #[inline]
    fn begins(&self, bytes: &[u8]) -> bool {
        let &[_, first, second, third, ..] = bytes else { return false };
        self.starts[bucket(first, second, third)]
            && self.names.iter().any(|name| bytes.starts_with(name.as_bytes()))
    }
}

const fn bucket(first: u8, second: u8, third: u8) -> usize {
    (first as usize ^ (second as usize) << 2 ^ (third as usize) << 4) % BUCKETS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::names;
    use super::*;

    static NAMES: QuotedNames = QuotedNames::new(&names::EXTERNAL_CONTEXT);

    proptest! {
        #[test]
        fn finds_what_a_search_for_each_name_finds(
            parts in prop::collection::vec(prop_oneof![
                prop::sample::select(names::EXTERNAL_CONTEXT.to_vec()).prop_map(str::to_owned),
                "[\"a-z_]{0,6}",
            ], 0..12),
        ) {
            let text = parts.concat();
            let mut expected: Vec<usize> =
                names::EXTERNAL_CONTEXT.iter().flat_map(|name| positions(&text, name)).collect();
            expected.sort_unstable();
            let found: Vec<usize> = NAMES.positions(text.as_bytes()).collect();
            prop_assert_eq!(found, expected);
        }
    }

    fn positions(text: &str, name: &str) -> Vec<usize> {
        (0..text.len()).filter(|at| text[*at..].starts_with(name)).collect()
    }
}
