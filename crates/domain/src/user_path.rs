//! User paths such as `/team/app/user`: the hierarchy for spending, access and policies.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// A normalised path: leading slash, no empty segment, no trailing slash; the root is `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct UserPath(Arc<str>);

impl UserPath {
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Maximum length in bytes. Paths are part of database keys, whose size is limited.
    pub const LONGEST: usize = 500;
    pub const DEEPEST: usize = 100;

    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut path = String::with_capacity(Self::LONGEST.min(text.len() + 1));
        for (depth, segment) in text.split('/').filter(|segment| !segment.is_empty()).enumerate() {
            if depth >= Self::DEEPEST || path.len() + 1 + segment.len() > Self::LONGEST {
                let (bytes, segments) = (Self::LONGEST, Self::DEEPEST);
                return Err(format!("A user path has at most {bytes} bytes and {segments} segments."));
            }
            if segment == "." || segment == ".." {
                return Err(format!("the user path '{}' contains the segment '{segment}'", shown(text)));
            }
            if segment.contains(':') || segment.chars().any(char::is_control) {
                return Err(format!("the user path '{}' contains a ':' or a control character", shown(text)));
            }
            path.push('/');
            path.push_str(segment);
        }
        Ok(if path.is_empty() { Self::root() } else { Self(path.into()) })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This path and those above it, the deepest first; the last one is `/`.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(&*self.0), |path| match path.rfind('/') {
            Some(0) if path.len() > 1 => Some("/"),
            Some(end) if end > 0 => Some(&path[..end]),
            _ => None,
        })
    }

    /// True if `other` is this path or below it.
    pub fn covers(&self, other: &Self) -> bool {
        let (own, other) = (&*self.0, &*other.0);
        own == "/"
            || other == own
            || (other.starts_with(own) && other.as_bytes().get(own.len()) == Some(&b'/'))
    }
}

/// The beginning of a rejected path, for error messages.
fn shown(text: &str) -> String {
    text.chars().take(UserPath::LONGEST).collect()
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
    fn paths_are_bounded() {
        let of = |length: usize| format!("/{}", "x".repeat(length - 1));
        let deep = |segments: usize| "/s".repeat(segments);
        for text in [of(500), deep(100), format!("{}{}", "/".repeat(1000), of(500))] {
            assert!(UserPath::parse(&text).is_ok(), "{text}");
        }
        for text in [of(501), deep(101), format!("/é{}", "é".repeat(249)), format!("{}/a", of(499))] {
            let reason = UserPath::parse(&text).unwrap_err();
            assert!(reason.contains("500 bytes and 100 segments"), "{reason}");
        }
    }

    #[test]
    fn ancestors_end_at_the_root() {
        let of =
            |text: &str| UserPath::parse(text).unwrap().ancestors().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of("/team/app/user"), ["/team/app/user", "/team/app", "/team", "/"]);
        assert_eq!(of("/"), ["/"]);
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
