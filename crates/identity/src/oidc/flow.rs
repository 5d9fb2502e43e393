//! One login from its start to the callback: the state that a signed cookie keeps in between.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::clock::Timestamp;
use domain::ids::Entropy;
use domain::secret::Secret;
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Discovery, OidcProvider};
use crate::claim_template::Claims;
use crate::token::TokenRejection;

/// The time that a user has to log in at the provider, in seconds.
pub const LIFETIME: i64 = 600;

/// The state of a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginFlow {
    pub provider: String,
    /// Sent through the provider and compared at the callback.
    pub state: String,
    /// Sent to the provider and repeated in the ID token.
    pub nonce: String,
    /// The PKCE verifier, sent only to the token endpoint.
    pub verifier: String,
    pub redirect_uri: String,
    pub expires_at: i64,
}

impl LoginFlow {
    pub fn start(provider: &str, redirect_uri: String, now: Timestamp, entropy: &dyn Entropy) -> Self {
        let random = || {
            let mut bytes = [0u8; 32];
            entropy.fill(&mut bytes);
            URL_SAFE_NO_PAD.encode(bytes)
        };
        let (state, nonce, verifier) = (random(), random(), random());
        let expires_at = now.seconds() + LIFETIME;
        Self { provider: provider.to_owned(), state, nonce, verifier, redirect_uri, expires_at }
    }

    /// The text for the cookie: the state and its signature.
    pub fn seal(&self, key: &[u8; 32]) -> String {
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(signature(key, &body).finalize().into_bytes());
        format!("{body}.{signature}")
    }

    /// Reads a cookie; `None` if it is forged or expired.
    pub fn open(text: &str, key: &[u8; 32], now: Timestamp) -> Option<Self> {
        let (body, sent) = text.split_once('.')?;
        let sent = URL_SAFE_NO_PAD.decode(sent).ok()?;
        signature(key, body).verify_slice(&sent).ok()?;
        let flow: Self = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        (now.seconds() < flow.expires_at).then_some(flow)
    }

    /// The address that the browser is sent to.
    pub fn authorization_url(&self, provider: &OidcProvider, discovery: &Discovery) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()));
        let scopes = provider.scopes.join(" ");
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &provider.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("scope", &scopes),
            ("state", &self.state),
            ("nonce", &self.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if discovery.authorization_endpoint.contains('?') { '&' } else { '?' };
        format!("{}{separator}{query}", discovery.authorization_endpoint)
    }

    /// The body of the request to the token endpoint, and its `Authorization` header.
    pub fn token_request(
        &self,
        provider: &OidcProvider,
        discovery: &Discovery,
        code: &str,
    ) -> (String, Option<Secret>) {
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*self.redirect_uri),
            ("code_verifier", &*self.verifier),
        ];
        match &provider.client_secret {
            Some(secret) if discovery.uses_basic() => {
                let pair = format!("{}:{}", encode(&provider.client_id), encode(secret.reveal()));
                (form(&pairs), Some(Secret::new(format!("Basic {}", STANDARD.encode(pair)))))
            }
            Some(secret) => {
                pairs.extend([("client_id", &*provider.client_id), ("client_secret", secret.reveal())]);
                (form(&pairs), None)
            }
            None => {
                pairs.push(("client_id", &provider.client_id));
                (form(&pairs), None)
            }
        }
    }

    /// Checks the claims of an ID token that are about this login.
    pub fn check(&self, provider: &OidcProvider, claims: &Claims) -> Result<(), TokenRejection> {
        let text = |name: &str| claims.get(name).and_then(serde_json::Value::as_str);
        if text("nonce") != Some(&*self.nonce) {
            return Err(TokenRejection::WrongNonce);
        }
        let shared =
            claims.get("aud").and_then(|names| names.as_array()).is_some_and(|names| names.len() > 1);
        let authorized = text("azp");
        if authorized.is_some_and(|client| client != provider.client_id) || (shared && authorized.is_none()) {
            return Err(TokenRejection::WrongAudience);
        }
        Ok(())
    }
}

fn signature(key: &[u8; 32], body: &str) -> Hmac<Sha256> {
    // HMAC takes keys of any length.
    #[expect(clippy::unwrap_used, reason = "HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(b"oidc login\n");
    mac.update(body.as_bytes());
    mac
}

fn form(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    pairs.join("&")
}

/// Percent-encodes everything but unreserved characters.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
