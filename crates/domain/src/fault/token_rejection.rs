//! The reasons for which tokens of issuers are refused.

/// The reason why a token is refused; for the operator, not for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenRejection {
    Malformed,
    UnknownIssuer,
    AlgorithmRefused,
    CriticalHeader,
    WrongType,
    /// The issuer's keys, as far as they are known, have none for this token.
    UnknownKey,
    BadSignature,
    WrongAudience,
    NoExpiry,
    Expired,
    NotYetValid,
    NoSubject,
    WrongNonce,
    /// A claim that the rules of the issuer need is missing or not usable.
    ClaimMissing,
    Revoked,
}

impl TokenRejection {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "token is malformed",
            Self::UnknownIssuer => "token of an unknown issuer",
            Self::AlgorithmRefused => "token with an algorithm that is not allowed",
            Self::CriticalHeader => "token with a critical header",
            Self::WrongType => "token of another type",
            Self::UnknownKey => "token with an unknown signing key",
            Self::BadSignature => "token with an invalid signature",
            Self::WrongAudience => "token for another audience",
            Self::NoExpiry => "token without an expiry",
            Self::Expired => "expired token",
            Self::NotYetValid => "token that is not valid yet",
            Self::NoSubject => "token without a subject",
            Self::WrongNonce => "token of another login",
            Self::ClaimMissing => "token without a claim that the issuer's rules need",
            Self::Revoked => "revoked token",
        }
    }
}
