//! User paths: `/team/app/user`, the tree along which spend, access and policy are arranged.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// Normalised: leading slash, no empty segment, no trailing slash; the root is `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct UserPath(Arc<str>);

impl UserPath {
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let mut path = String::with_capacity(text.len() + 1);
        for segment in text.trim().split('/').filter(|segment| !segment.is_empty()) {
            if segment == "." || segment == ".." {
                return Err(format!("the user path '{text}' contains the segment '{segment}'"));
            }
            if segment.contains(':') || segment.chars().any(char::is_control) {
                return Err(format!("the user path '{text}' contains a ':' or a control character"));
            }
            path.push('/');
            path.push_str(segment);
        }
        Ok(if path.is_empty() { Self::root() } else { Self(path.into()) })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `/a/b` covers itself and everything below it.
    pub fn covers(&self, other: &Self) -> bool {
        let (own, other) = (&*self.0, &*other.0);
        own == "/"
            || other == own
            || (other.starts_with(own) && other.as_bytes().get(own.len()) == Some(&b'/'))
    }
}

impl Default for UserPath {
    fn default() -> Self {
        Self::root()
    }
}

impl<'de> Deserialize<'de> for UserPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(UserPath::parse(text).unwrap().as_str(), expected);
    }

    #[test]
    fn paths_are_normalised() {
        check("", "/");
        check("/", "/");
        check(" team//app/ ", "/team/app");
        assert!(UserPath::parse("/a/../b").is_err());
        assert!(UserPath::parse("/a:b").is_err());
    }

    #[test]
    fn a_path_covers_its_subtree_only() {
        let team = UserPath::parse("/team").unwrap();
        assert!(team.covers(&UserPath::parse("/team/app").unwrap()));
        assert!(team.covers(&team));
        assert!(!team.covers(&UserPath::parse("/teams").unwrap()));
        assert!(!team.covers(&UserPath::root()));
        assert!(UserPath::root().covers(&team));
    }
}
