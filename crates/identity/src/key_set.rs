//! The public keys of an issuer, from its JSON Web Key Set.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The most keys of a set that are used.
const MOST_KEYS: usize = 64;

/// The keys of an issuer that can verify a signature.
#[derive(Default)]
pub struct KeySet {
    keys: Vec<SigningKey>,
}

struct SigningKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
    /// The key as the issuer wrote it.
    document: Value,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a key set. Keys of other kinds and purposes are left out; symmetric ones are never used.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let document: Document =
            serde_json::from_slice(json).map_err(|_| "not a JSON Web Key Set".to_owned())?;
        let keys = document.keys.into_iter().take(MOST_KEYS).filter_map(signing_key).collect();
        Ok(Self { keys })
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a key of an earlier set is missing.
    pub fn lacks_key_of(&self, earlier: &Self) -> bool {
        let has = |key: &SigningKey| self.keys.iter().any(|own| own.document == key.document);
        !earlier.keys.iter().all(has)
    }

    /// The key for a token: the one with its id, or the only one that fits if the token names none.
    pub fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&DecodingKey> {
        let fits = |key: &&SigningKey| key.algorithms.contains(&algorithm);
        let mut found = match id {
            Some(id) => {
                self.keys.iter().filter(|key| key.id.as_deref() == Some(id)).filter(fits).collect::<Vec<_>>()
            }
            None => self.keys.iter().filter(fits).collect(),
        };
        match (found.pop(), found.is_empty()) {
            (Some(key), true) => Some(&key.key),
            _ => None,
        }
    }
}

fn signing_key(value: Value) -> Option<SigningKey> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = algorithms(&jwk.algorithm)?;
    if let Some(declared) = &jwk.common.key_algorithm {
        algorithms.retain(|algorithm| named(*algorithm) == Some(*declared));
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    (!algorithms.is_empty()).then_some(SigningKey { id: jwk.common.key_id, algorithms, key, document: value })
}

/// The algorithms that a key can verify: a key is never used with those of another family.
fn algorithms(parameters: &AlgorithmParameters) -> Option<Vec<Algorithm>> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    match parameters {
        AlgorithmParameters::RSA(_) => Some(vec![RS256, RS384, RS512, PS256, PS384, PS512]),
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => Some(vec![ES256]),
            EllipticCurve::P384 => Some(vec![ES384]),
            _ => None,
        },
        AlgorithmParameters::OctetKeyPair(_) => Some(vec![EdDSA]),
        AlgorithmParameters::OctetKey(_) => None,
    }
}

fn named(algorithm: Algorithm) -> Option<KeyAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => KeyAlgorithm::ES256,
        Algorithm::ES384 => KeyAlgorithm::ES384,
        Algorithm::RS256 => KeyAlgorithm::RS256,
        Algorithm::RS384 => KeyAlgorithm::RS384,
        Algorithm::RS512 => KeyAlgorithm::RS512,
        Algorithm::PS256 => KeyAlgorithm::PS256,
        Algorithm::PS384 => KeyAlgorithm::PS384,
        Algorithm::PS512 => KeyAlgorithm::PS512,
        Algorithm::EdDSA => KeyAlgorithm::EdDSA,
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => return None,
    })
}
