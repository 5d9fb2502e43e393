//! Templates over the claims of a token: `/staff/{email}`, `{groups.0}`.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

pub type Claims = Map<String, Value>;

/// A text with claims in braces. A dot leads into an object or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimTemplate(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Claim(String),
}

impl ClaimTemplate {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| format!("'{text}' has a '{{' without a '}}'"))?;
            if name.trim().is_empty() || name.contains('{') {
                return Err(format!("'{text}' has braces without the name of a claim"));
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Claim(name.trim().to_owned()));
            rest = behind;
        }
        if rest.contains('}') {
            return Err(format!("'{text}' has a '}}' without a '{{'"));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// The text for these claims, or the name of the claim that is missing.
    pub fn text(&self, claims: &Claims) -> Result<String, String> {
        self.0.iter().map(|piece| piece.text(claims)).collect()
    }

    /// The text as a path. A claim that is only a part of the template may not add segments of its own. Blanks around a
    /// segment are refused: paths do not keep them, so that two subjects would have one path.
    pub fn path(&self, claims: &Claims) -> Result<String, String> {
        let has_blanks = |text: &str| text.split('/').any(|segment| segment.trim() != segment);
        if let [Piece::Claim(name)] = self.0.as_slice() {
            return self
                .text(claims)
                .and_then(|text| if has_blanks(&text) { Err(name.clone()) } else { Ok(text) });
        }
        let segment = |piece: &Piece| {
            let text = piece.text(claims)?;
            match piece {
                Piece::Claim(name)
                    if text.contains('/') || has_blanks(&text) || matches!(&*text, "" | "." | "..") =>
                {
                    Err(name.clone())
                }
                _ => Ok(text),
            }
        };
        self.0.iter().map(segment).collect()
    }

    /// The words of the text; those of a list if the template is one claim that is a list.
    pub fn words(&self, claims: &Claims) -> Result<Vec<String>, String> {
        if let [Piece::Claim(name)] = self.0.as_slice()
            && let Some(Value::Array(items)) = find(claims, name)
        {
            return Ok(items.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        }
        let text = self.text(claims)?;
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        Ok(words.map(str::to_owned).collect())
    }
}

impl Piece {
    fn text(&self, claims: &Claims) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Claim(name) => match find(claims, name) {
                Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
                Some(Value::Number(number)) => Ok(number.to_string()),
                Some(Value::Bool(flag)) => Ok(flag.to_string()),
                _ => Err(name.clone()),
            },
        }
    }
}

/// A claim by its name, which may itself contain dots, or by a path of names and positions.
pub fn find<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Object(members) => members.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

impl<'de> Deserialize<'de> for ClaimTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims() -> Claims {
        let claims = json!({
            "sub": "alice", "email": "a@example.com", "n": 7, "empty": "", "evil": "a/../b", "up": "..",
            "blank": " alice", "tab": "alice\t", "blank path": "/teams/ a",
            "groups": ["staff", "admins"], "realm": {"roles": ["x"]}, "https://example.com/path": "/teams/a",
        });
        claims.as_object().unwrap().clone()
    }

    #[test]
    fn templates_are_filled_with_claims() {
        let text = |template: &str| ClaimTemplate::parse(template).unwrap().text(&claims());
        assert_eq!(text("plain"), Ok("plain".into()));
        assert_eq!(text("/staff/{email}/{n}"), Ok("/staff/a@example.com/7".into()));
        assert_eq!(text("{groups.1}-{realm.roles.0}"), Ok("admins-x".into()));
        assert_eq!(text("{https://example.com/path}"), Ok("/teams/a".into()));
        for missing in ["nothing", "groups", "groups.9", "realm", "empty"] {
            assert_eq!(text(&format!("x{{{missing}}}")), Err(missing.to_owned()));
        }
    }

    #[test]
    fn a_claim_does_not_add_segments_to_a_path() {
        let path = |template: &str| ClaimTemplate::parse(template).unwrap().path(&claims());
        assert_eq!(path("/staff/{sub}"), Ok("/staff/alice".into()));
        assert_eq!(path("{https://example.com/path}"), Ok("/teams/a".into()));
        assert_eq!(path("/staff/{evil}"), Err("evil".into()));
        assert_eq!(path("/staff/{up}"), Err("up".into()));
        for name in ["blank", "tab"] {
            assert_eq!(path(&format!("/staff/{{{name}}}")), Err(name.into()));
        }
        assert_eq!(path("{blank path}"), Err("blank path".into()));
    }

    #[test]
    fn words_come_from_lists_and_texts() {
        let words = |template: &str| ClaimTemplate::parse(template).unwrap().words(&claims()).unwrap();
        assert_eq!(words("{groups}"), ["staff", "admins"]);
        assert_eq!(words("inference, {sub}"), ["inference", "alice"]);
    }

    #[test]
    fn broken_templates_are_refused() {
        for bad in ["{", "a{b", "a}", "{}", "{ }", "{a{b}}"] {
            assert!(ClaimTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
