//! The headers of a request, in which the absence of most names is known without a search.

use std::ops::Deref;

use http::header::AsHeaderName;
use http::{HeaderMap, HeaderValue};

/// The headers of a request. A call asks for a dozen names that most clients do not send: if no header has a name of that
/// length, the name is not hashed.
#[derive(Clone, Debug, Default)]
pub struct RequestHeaders {
    map: HeaderMap,
    /// A bit for each length of a name, modulo 64.
    lengths: u64,
}

impl RequestHeaders {
    pub fn get<N: AsHeaderName + AsRef<str>>(&self, name: N) -> Option<&HeaderValue> {
        if self.may_contain(name.as_ref()) { self.map.get(name) } else { None }
    }

    pub fn contains_key<N: AsHeaderName + AsRef<str>>(&self, name: N) -> bool {
        self.get(name).is_some()
    }

    /// Changes the headers.
    pub fn edit(&mut self, change: impl FnOnce(&mut HeaderMap)) {
        change(&mut self.map);
        self.lengths = lengths(&self.map);
    }

    fn may_contain(&self, name: &str) -> bool {
        self.lengths & bit(name) != 0
    }
}

impl From<HeaderMap> for RequestHeaders {
    fn from(map: HeaderMap) -> Self {
        Self { lengths: lengths(&map), map }
    }
}

impl Deref for RequestHeaders {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        &self.map
    }
}

fn lengths(map: &HeaderMap) -> u64 {
    map.keys().fold(0, |lengths, name| lengths | bit(name.as_str()))
}

fn bit(name: &str) -> u64 {
    1 << (name.len() % 64)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn headers_are_found_by_any_form_of_their_name() {
        let long = "x".repeat(64 + 4);
        let map = [("host", "a"), ("x-run-id", "b"), (&*long, "c")];
        let map = map.map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()));
        let mut headers = RequestHeaders::from(HeaderMap::from_iter(map));
        for (name, expected) in [
            ("host", Some("a")),
            ("X-Run-Id", Some("b")),
            (&long, Some("c")),
            ("abcd", None),
            ("x-run-idx", None),
        ] {
            let found = headers.get(name).map(|value| value.to_str().unwrap());
            assert_eq!(found, expected, "{name}");
            assert_eq!(headers.get(name.parse::<HeaderName>().unwrap()), headers.get(name));
            assert_eq!(headers.contains_key(name), expected.is_some());
        }
        headers.edit(|map| drop(map.insert("x-run-idx", HeaderValue::from_static("d"))));
        assert!(headers.contains_key("x-run-idx"));
        headers.edit(HeaderMap::clear);
        assert!(!headers.contains_key("host"));
    }
}
