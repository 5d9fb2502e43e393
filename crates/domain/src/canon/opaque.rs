//! State of a model that travels through clients untouched: thinking signatures, encrypted reasoning.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::call::Format;

/// Bytes that mean something only to the model that made them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    pub origin: Origin,
    pub data: String,
    /// The thinking this belongs to has no readable text at all (redacted or encrypted as a whole).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The readable text the data vouches for, where the client's format might not echo it exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub format: Format,
    /// The model as its provider names it; empty when the client's own format carried the state and did not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// What a sealed state begins with: nothing a provider issues does. It is base64 itself, so that a client which takes
/// the state for bytes, and writes them out again in either alphabet, leaves it as it is.
pub const SEAL_MARK: &str = "GHsealed";

impl Opaque {
    /// For the field of another format that its clients echo: origin and data in one piece of base64.
    pub fn seal(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut sealed = SEAL_MARK.to_owned();
        STANDARD.encode_string(json, &mut sealed);
        sealed
    }

    /// What a client echoed: a state sealed by us, or one that its own format issued.
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

    /// The model that made it can take it back; no other can.
    pub fn fits(&self, format: Format, model: &str) -> bool {
        self.origin.format == format && (self.origin.model.is_empty() || self.origin.model == model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_state_comes_back_exactly_and_a_native_one_is_left_alone() {
        let opaque = Opaque {
            origin: Origin { format: Format::Generate, model: "m".into() },
            data: "äöü+/=\n".into(),
            whole: true,
            text: Some("so".into()),
        };
        let sealed = opaque.seal();
        // A client that knows bytes writes it out again, as whole base64, in its own alphabet.
        let bytes = STANDARD.decode(&sealed).unwrap();
        let again = base64::engine::general_purpose::URL_SAFE.encode(bytes);
        assert_eq!(Opaque::open(&again, Format::Messages), opaque);
        assert_eq!(Opaque::open(&sealed, Format::Messages), opaque);
        assert!(sealed.starts_with(SEAL_MARK));
        let native = Opaque::open("EqQBCg==", Format::Messages);
        assert_eq!((native.data.as_str(), native.origin.format), ("EqQBCg==", Format::Messages));
        assert!(native.fits(Format::Messages, "any") && !native.fits(Format::Generate, "any"));
        assert!(opaque.fits(Format::Generate, "m") && !opaque.fits(Format::Generate, "other"));
    }
}
