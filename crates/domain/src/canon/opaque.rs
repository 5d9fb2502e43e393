//! Opaque model state that clients echo unchanged: thinking signatures, encrypted reasoning.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::call::Format;

/// Data that only the model that produced it can interpret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    pub origin: Origin,
    pub data: String,
    /// True if the thinking has no readable text at all (redacted or encrypted as a whole).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The readable text that the data signs, for client formats that might not echo it exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub format: Format,
    /// The model as its provider names it; empty when the state came in the client's own format, which does not name
    /// it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Prefix of a sealed state; no provider issues values that start with it. The prefix is valid base64, so a client that
/// decodes the state to bytes and encodes it again in either alphabet preserves it.
pub const SEAL_MARK: &str = "GHsealed";

impl Opaque {
    /// Encodes origin and data as one base64 string, for a field that clients of another format echo.
    pub fn seal(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut sealed = SEAL_MARK.to_owned();
        STANDARD.encode_string(json, &mut sealed);
        sealed
    }

    /// Decodes a value that a client echoed: a sealed state, or a native one of the client's own format.
    pub fn open(text: &str, native: Format) -> Self {
        Self::unseal(text).unwrap_or_else(|| Self {
            origin: Origin { format: native, model: String::new() },
            data: text.to_owned(),
            whole: false,
            text: None,
        })
    }

    pub fn unseal(text: &str) -> Option<Self> {
        let sealed = text.strip_prefix(SEAL_MARK)?.trim_end_matches('=');
        let sealed = sealed.replace('-', "+").replace('_', "/");
        serde_json::from_slice(&STANDARD_NO_PAD.decode(sealed).ok()?).ok()
    }

    /// True if the state was produced by this model in this format; no other model can use it.
    pub fn fits(&self, format: Format, model: &str) -> bool {
        self.origin.format == format && (self.origin.model.is_empty() || self.origin.model == model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_state_round_trips_and_native_state_is_unchanged() {
        let opaque = Opaque {
            origin: Origin { format: Format::Gemini, model: "m".into() },
            data: "äöü+/=\n".into(),
            whole: true,
            text: Some("so".into()),
        };
        let sealed = opaque.seal();
        // A client that treats the value as bytes encodes it again, in the URL-safe alphabet.
        let bytes = STANDARD.decode(&sealed).unwrap();
        let again = base64::engine::general_purpose::URL_SAFE.encode(bytes);
        assert_eq!(Opaque::open(&again, Format::Messages), opaque);
        assert_eq!(Opaque::open(&sealed, Format::Messages), opaque);
        assert!(sealed.starts_with(SEAL_MARK));
        let native = Opaque::open("EqQBCg==", Format::Messages);
        assert_eq!((native.data.as_str(), native.origin.format), ("EqQBCg==", Format::Messages));
        assert!(native.fits(Format::Messages, "any") && !native.fits(Format::Gemini, "any"));
        assert!(opaque.fits(Format::Gemini, "m") && !opaque.fits(Format::Gemini, "other"));
    }
}
