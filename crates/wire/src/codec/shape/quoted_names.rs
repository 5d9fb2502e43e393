//! Compares the text at a quotation mark with many names.

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

    /// Whether the text begins with one of the names.
    #[inline]
    pub fn begin(&self, text: &[u8]) -> bool {
        let &[_, first, second, third, ..] = text else { return false };
        self.starts[bucket(first, second, third)]
            && self.names.iter().any(|name| text.starts_with(name.as_bytes()))
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
        fn a_text_begins_with_a_name_or_not(
            name in prop::sample::select(names::EXTERNAL_CONTEXT.to_vec()),
            length in 0..20usize,
            rest in "[\"a-z_]{0,6}",
        ) {
            let text = format!("{}{rest}", &name[..length.min(name.len())]);
            let expected = names::EXTERNAL_CONTEXT.iter().any(|name| text.starts_with(name));
            prop_assert_eq!(NAMES.begin(text.as_bytes()), expected, "{}", text);
        }
    }
}
