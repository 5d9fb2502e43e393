//! Verification of JSON Web Tokens: signature, algorithm, issuer, audience and times.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::clock::Timestamp;
pub use domain::fault::TokenRejection;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Map, Value};

use crate::claim_template::Claims;
use crate::key_set::KeySet;

/// Tolerated difference between the clocks of issuer and gateway, in seconds.
pub const CLOCK_SKEW: i64 = 60;
/// The beginning of every token: its header is a JSON object in base64.
pub const PREFIX: &str = "ey";
/// The longest token that is read.
pub const LONGEST: usize = 8192;
const LONGEST_TEXT: usize = 512;

/// The head of a token, not verified.
#[derive(Debug)]
pub struct TokenHead {
    pub algorithm: Algorithm,
    pub key_id: Option<String>,
    /// The issuer that the token claims to be from.
    pub issuer: String,
}

/// The requirements on a token.
#[derive(Clone, Copy, Debug)]
pub struct TokenRules<'a> {
    pub issuer: &'a str,
    /// One of these must be in `aud`.
    pub audience: &'a [String],
    pub algorithms: &'a [Algorithm],
}

/// Whether a text has the form of a token: three parts of base64url.
fn is_token(text: &str) -> bool {
    text.len() <= LONGEST
        && text.starts_with(PREFIX)
        && text.bytes().filter(|byte| *byte == b'.').count() == 2
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Reads the parts of a token that decide which issuer and key it is verified with.
pub fn head(token: &str) -> Result<TokenHead, TokenRejection> {
    if !is_token(token) {
        return Err(TokenRejection::Malformed);
    }
    let mut parts = token.split('.');
    let header = object(parts.next())?;
    if header.contains_key("crit") || header.contains_key("b64") || header.contains_key("zip") {
        return Err(TokenRejection::CriticalHeader);
    }
    match header.get("typ") {
        None => {}
        Some(Value::String(kind))
            if ["jwt", "at+jwt", "application/at+jwt"]
                .iter()
                .any(|known| kind.eq_ignore_ascii_case(known)) => {}
        Some(_) => return Err(TokenRejection::WrongType),
    }
    let algorithm = header.get("alg").and_then(Value::as_str).ok_or(TokenRejection::Malformed)?;
    let algorithm = algorithm.parse().map_err(|_| TokenRejection::AlgorithmRefused)?;
    let key_id = match header.get("kid") {
        None => None,
        Some(Value::String(id)) if id.len() <= LONGEST_TEXT => Some(id.clone()),
        Some(_) => return Err(TokenRejection::Malformed),
    };
    let claims = object(parts.next())?;
    let issuer = claims.get("iss").and_then(Value::as_str).ok_or(TokenRejection::UnknownIssuer)?;
    Ok(TokenHead { algorithm, key_id, issuer: issuer.to_owned() })
}

fn object(part: Option<&str>) -> Result<Map<String, Value>, TokenRejection> {
    let bytes = URL_SAFE_NO_PAD.decode(part.unwrap_or_default()).map_err(|_| TokenRejection::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenRejection::Malformed)
}

/// Verifies a token and returns its claims.
pub fn verify(
    token: &str,
    rules: TokenRules<'_>,
    keys: &KeySet,
    now: Timestamp,
) -> Result<Claims, TokenRejection> {
    let head = head(token)?;
    if head.issuer != rules.issuer {
        return Err(TokenRejection::UnknownIssuer);
    }
    if !rules.algorithms.contains(&head.algorithm) {
        return Err(TokenRejection::AlgorithmRefused);
    }
    let key = keys.find(head.key_id.as_deref(), head.algorithm).ok_or(TokenRejection::UnknownKey)?;
    // The crate reads the system's clock, so times and names are checked here.
    let mut validation = Validation::new(head.algorithm);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let decoded = jsonwebtoken::decode::<Claims>(token, key, &validation);
    let claims = decoded.map_err(|error| match error.kind() {
        ErrorKind::InvalidSignature | ErrorKind::Base64(_) => TokenRejection::BadSignature,
        _ => TokenRejection::Malformed,
    });
    let claims = claims?.claims;
    check(&claims, rules, now)?;
    Ok(claims)
}

fn check(claims: &Claims, rules: TokenRules<'_>, now: Timestamp) -> Result<(), TokenRejection> {
    if claims.get("iss").and_then(Value::as_str) != Some(rules.issuer) {
        return Err(TokenRejection::UnknownIssuer);
    }
    let is_ours =
        |name: &Value| name.as_str().is_some_and(|name| rules.audience.iter().any(|own| own == name));
    let addressed = match claims.get("aud") {
        Some(Value::Array(names)) => names.iter().any(is_ours),
        Some(name) => is_ours(name),
        None => false,
    };
    if !addressed {
        return Err(TokenRejection::WrongAudience);
    }
    let expires_at = time(claims, "exp")?.ok_or(TokenRejection::NoExpiry)?;
    if now.seconds() >= expires_at.saturating_add(CLOCK_SKEW) {
        return Err(TokenRejection::Expired);
    }
    for name in ["nbf", "iat"] {
        if time(claims, name)?.is_some_and(|from| from > now.seconds().saturating_add(CLOCK_SKEW)) {
            return Err(TokenRejection::NotYetValid);
        }
    }
    match claims.get("sub") {
        Some(Value::String(subject)) if (1..=LONGEST_TEXT).contains(&subject.len()) => Ok(()),
        _ => Err(TokenRejection::NoSubject),
    }
}

/// A time claim in seconds.
pub fn time(claims: &Claims, name: &str) -> Result<Option<i64>, TokenRejection> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) => {
            let seconds = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds.floor() as i64));
            seconds.filter(|seconds| *seconds >= 0).map(Some).ok_or(TokenRejection::Malformed)
        }
        Some(_) => Err(TokenRejection::Malformed),
    }
}
