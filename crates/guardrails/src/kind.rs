//! Kinds of personal data and secrets, and the labels of findings.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A kind of personal data or secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PiiKind {
    Email,
    Phone,
    Ssn,
    CreditCard,
    Iban,
    IpAddress,
    MacAddress,
    CryptoAddress,
    NationalId,
    DateOfBirth,
    ApiKey,
    PrivateKey,
    Jwt,
    ConnectionString,
}

impl PiiKind {
    pub const ALL: [Self; 14] = [
        Self::Email,
        Self::Phone,
        Self::Ssn,
        Self::CreditCard,
        Self::Iban,
        Self::IpAddress,
        Self::MacAddress,
        Self::CryptoAddress,
        Self::NationalId,
        Self::DateOfBirth,
        Self::ApiKey,
        Self::PrivateKey,
        Self::Jwt,
        Self::ConnectionString,
    ];

    /// The kinds that are redacted unless a guardrail names others: those that are seldom mistaken for something else.
    pub fn defaults() -> impl Iterator<Item = Self> {
        let is_ambiguous = |kind: &Self| matches!(kind, Self::Phone | Self::DateOfBirth | Self::IpAddress);
        Self::ALL.into_iter().filter(move |kind| !is_ambiguous(kind))
    }

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Ssn => "ssn",
            Self::CreditCard => "credit_card",
            Self::Iban => "iban",
            Self::IpAddress => "ip_address",
            Self::MacAddress => "mac_address",
            Self::CryptoAddress => "crypto_address",
            Self::NationalId => "national_id",
            Self::DateOfBirth => "date_of_birth",
            Self::ApiKey => "api_key",
            Self::PrivateKey => "private_key",
            Self::Jwt => "jwt",
            Self::ConnectionString => "connection_string",
        }
    }

    /// The name in placeholders.
    pub fn placeholder_name(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Phone => "PHONE",
            Self::Ssn => "SSN",
            Self::CreditCard => "CREDIT_CARD",
            Self::Iban => "IBAN",
            Self::IpAddress => "IP_ADDRESS",
            Self::MacAddress => "MAC_ADDRESS",
            Self::CryptoAddress => "CRYPTO_ADDRESS",
            Self::NationalId => "NATIONAL_ID",
            Self::DateOfBirth => "DATE_OF_BIRTH",
            Self::ApiKey => "API_KEY",
            Self::PrivateKey => "PRIVATE_KEY",
            Self::Jwt => "JWT",
            Self::ConnectionString => "CONNECTION_STRING",
        }
    }
}

impl Display for PiiKind {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The given text names no kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl Error for UnknownKind {}

impl Display for UnknownKind {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("unknown kind of personal data")
    }
}

impl FromStr for PiiKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownKind)
    }
}

/// The rule that a finding comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// A pattern of a guardrail's configuration, by its index.
    Pattern(usize),
    Pii(PiiKind),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in PiiKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.placeholder_name(), kind.name().to_uppercase());
        }
        assert_eq!("passport".parse::<PiiKind>(), Err(UnknownKind));
    }

    #[test]
    fn ambiguous_kinds_are_off_by_default() {
        let defaults: Vec<PiiKind> = PiiKind::defaults().collect();
        let missing: Vec<&str> =
            PiiKind::ALL.iter().filter(|kind| !defaults.contains(kind)).map(|kind| kind.name()).collect();
        assert_eq!(missing, ["phone", "ip_address", "date_of_birth"]);
    }
}
