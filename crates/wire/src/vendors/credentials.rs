//! Credentials: the way in which a vendor authenticates its callers.

/// The way in which an instance's key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// The vendor takes no key.
    None,
    /// `Authorization: Bearer …`.
    Bearer,
    /// The key as the value of the header with this name, in lower case.
    Header(&'static str),
}

impl Credentials {
    pub fn takes_api_key(self) -> bool {
        self != Self::None
    }

    /// Name and value of the header that authenticates a request.
    pub fn header(self, key: &str) -> Option<(&'static str, String)> {
        match self {
            Self::None => None,
            Self::Bearer => Some(("authorization", format!("Bearer {key}"))),
            Self::Header(name) => Some((name, key.to_owned())),
        }
    }
}
