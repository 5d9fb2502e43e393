//! Tokens that are refused: one row each, with keys made here. The suite `identity` adds those of a real provider.

use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{EncodingKey, Header};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;
use crate::token_issuer::TokenIssuer;

const ISSUER: &str = "https://issuer.example";
const NOW: i64 = 1_900_000_000;

/// An issuer with an elliptic curve key and an Edwards curve key, and a stranger's key with the same id.
struct Issuer {
    own: EncodingKey,
    edwards: EncodingKey,
    stranger: EncodingKey,
    public: Vec<u8>,
    keys: KeySet,
}

fn elliptic() -> (EncodingKey, Vec<u8>) {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
    (EncodingKey::from_ec_der(document.as_ref()), pair.public_key().as_ref().to_vec())
}

impl Issuer {
    fn new() -> Self {
        let ((own, public), (stranger, _)) = (elliptic(), elliptic());
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let set = json!({"keys": [
            {"kty": "EC", "crv": "P-256", "kid": "k1", "use": "sig", "alg": "ES256",
                "x": text(&public[1..33]), "y": text(&public[33..])},
            {"kty": "OKP", "crv": "Ed25519", "kid": "k2", "x": text(pair.public_key().as_ref())},
            {"kty": "oct", "kid": "k3", "k": text(b"a secret that must never verify a token")},
            {"kty": "EC", "crv": "P-256", "kid": "k4", "use": "enc", "x": text(&public[1..33]), "y": text(&public[33..])},
            {"kty": "unheard of", "kid": "k5"},
        ]});
        let keys = KeySet::parse(set.to_string().as_bytes()).unwrap();
        assert_eq!(keys.len(), 2);
        Self { own, edwards: EncodingKey::from_ed_der(document.as_ref()), stranger, public, keys }
    }

    fn sign(&self, header: &Header, claims: &Value) -> String {
        jsonwebtoken::encode(header, claims, &self.own).unwrap()
    }

    fn verify(&self, token: &str) -> Result<Claims, TokenRejection> {
        self.verify_with(token, &[Algorithm::ES256])
    }

    fn verify_with(&self, token: &str, algorithms: &[Algorithm]) -> Result<Claims, TokenRejection> {
        let audience = ["gateway".to_owned()];
        let rules = TokenRules { issuer: ISSUER, audience: &audience, algorithms };
        verify(token, rules, &self.keys, Timestamp::from_seconds(NOW))
    }
}

fn header() -> Header {
    Header { kid: Some("k1".into()), ..Header::new(Algorithm::ES256) }
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": "gateway", "sub": "alice", "iat": NOW - 10, "exp": NOW + 600})
}

/// The claims with some replaced; null removes one.
fn claims_with(changes: Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// A token of any header with the signature bytes of the own key over it.
fn raw(issuer: &Issuer, header: &Value, claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", part(&header.to_string()), part(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &issuer.own, Algorithm::ES256).unwrap();
    format!("{message}.{signature}")
}

#[test]
fn good_tokens_are_accepted() {
    let issuer = Issuer::new();
    for changes in [
        json!({}),
        json!({"aud": ["other", "gateway"]}),
        json!({"exp": NOW - 59}),
        json!({"nbf": NOW + 60, "iat": NOW + 60}),
        json!({"exp": NOW as f64 + 600.5}),
        json!({"iat": null}),
    ] {
        let token = issuer.sign(&header(), &claims_with(changes.clone()));
        assert_eq!(
            issuer.verify(&token).map(|claims| claims["sub"].clone()),
            Ok(json!("alice")),
            "{changes}"
        );
    }
    let no_id = issuer.sign(&Header { kid: None, ..header() }, &claims());
    assert!(issuer.verify(&no_id).is_ok(), "only one key fits");
    let typed = Header { typ: Some("at+jwt".into()), ..header() };
    assert!(issuer.verify(&issuer.sign(&typed, &claims())).is_ok());
    let edwards = Header { kid: Some("k2".into()), ..Header::new(Algorithm::EdDSA) };
    let edwards = jsonwebtoken::encode(&edwards, &claims(), &issuer.edwards).unwrap();
    assert!(issuer.verify_with(&edwards, &[Algorithm::EdDSA]).is_ok());
}

#[test]
fn bad_claims_are_refused() {
    use TokenRejection::*;
    let issuer = Issuer::new();
    for (changes, expected) in [
        (json!({"iss": "https://other.example"}), UnknownIssuer),
        (json!({"iss": format!("{ISSUER}/")}), UnknownIssuer),
        (json!({"iss": null}), UnknownIssuer),
        (json!({"iss": [ISSUER]}), UnknownIssuer),
        (json!({"aud": "other"}), WrongAudience),
        (json!({"aud": ["other"]}), WrongAudience),
        (json!({"aud": []}), WrongAudience),
        (json!({"aud": null}), WrongAudience),
        (json!({"aud": {"gateway": true}}), WrongAudience),
        (json!({"aud": "Gateway"}), WrongAudience),
        (json!({"exp": null}), NoExpiry),
        (json!({"exp": NOW - 60}), Expired),
        (json!({"exp": 0}), Expired),
        (json!({"exp": -1}), Malformed),
        (json!({"exp": (NOW + 600).to_string()}), Malformed),
        (json!({"exp": [NOW + 600]}), Malformed),
        (json!({"nbf": NOW + 61}), NotYetValid),
        (json!({"nbf": "soon"}), Malformed),
        (json!({"iat": NOW + 3600}), NotYetValid),
        (json!({"sub": null}), NoSubject),
        (json!({"sub": ""}), NoSubject),
        (json!({"sub": 7}), NoSubject),
        (json!({"sub": "x".repeat(513)}), NoSubject),
    ] {
        let token = issuer.sign(&header(), &claims_with(changes.clone()));
        assert_eq!(issuer.verify(&token).unwrap_err(), expected, "{changes}");
    }
}

#[test]
fn bad_signatures_and_headers_are_refused() {
    use TokenRejection::*;
    let issuer = Issuer::new();
    let good = issuer.sign(&header(), &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let stranger = jsonwebtoken::encode(&header(), &claims(), &issuer.stranger).unwrap();
    let other_claims = URL_SAFE_NO_PAD.encode(claims_with(json!({"sub": "mallory"})).to_string());
    let confused = |key: &[u8]| {
        let header = Header { kid: Some("k1".into()), ..Header::new(Algorithm::HS256) };
        jsonwebtoken::encode(&header, &claims(), &EncodingKey::from_secret(key)).unwrap()
    };
    let symmetric = Header { kid: Some("k3".into()), ..Header::new(Algorithm::HS256) };
    let secret = EncodingKey::from_secret(b"a secret that must never verify a token");
    let symmetric = jsonwebtoken::encode(&symmetric, &claims(), &secret).unwrap();
    let none = |alg: &str| {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "typ": "JWT", "kid": "k1"}).to_string());
        format!("{header}.{}.", parts[1])
    };
    let with_key = Header { kid: Some("k9".into()), ..header() };
    let text = claims().to_string();
    let rows: Vec<(&str, String, TokenRejection)> = vec![
        ("a stranger's key of the same id", stranger, BadSignature),
        ("other claims", format!("{}.{other_claims}.{}", parts[0], parts[2]), BadSignature),
        ("no signature", format!("{}.{}.", parts[0], parts[1]), BadSignature),
        ("a cut signature", good[..good.len() - 4].to_owned(), BadSignature),
        (
            "zeros for a signature",
            format!("{}.{}.{}", parts[0], parts[1], URL_SAFE_NO_PAD.encode([0u8; 64])),
            BadSignature,
        ),
        ("algorithm none", none("none"), AlgorithmRefused),
        ("algorithm None", none("None"), AlgorithmRefused),
        ("algorithm NONE", none("NONE"), AlgorithmRefused),
        ("no algorithm text", none(""), AlgorithmRefused),
        ("the public key as a secret", confused(&issuer.public), AlgorithmRefused),
        ("its base64 as a secret", confused(STANDARD.encode(&issuer.public).as_bytes()), AlgorithmRefused),
        ("a symmetric key of the set", symmetric, AlgorithmRefused),
        (
            "an algorithm that is not configured",
            raw(&issuer, &json!({"alg": "RS256", "kid": "k1"}), &text),
            AlgorithmRefused,
        ),
        ("an unknown key", issuer.sign(&with_key, &claims()), UnknownKey),
        ("a key for encryption", raw(&issuer, &json!({"alg": "ES256", "kid": "k4"}), &text), UnknownKey),
        ("a key of another family", raw(&issuer, &json!({"alg": "ES256", "kid": "k2"}), &text), UnknownKey),
        ("a key id that is a number", raw(&issuer, &json!({"alg": "ES256", "kid": 1}), &text), Malformed),
        ("a long key id", raw(&issuer, &json!({"alg": "ES256", "kid": "k".repeat(600)}), &text), Malformed),
        (
            "a critical header",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1", "crit": ["exp"]}), &text),
            CriticalHeader,
        ),
        (
            "an unencoded payload",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1", "b64": false}), &text),
            CriticalHeader,
        ),
        (
            "a compressed payload",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1", "zip": "DEF"}), &text),
            CriticalHeader,
        ),
        (
            "a logout token",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1", "typ": "logout+jwt"}), &text),
            WrongType,
        ),
        (
            "a type that is a number",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1", "typ": 1}), &text),
            WrongType,
        ),
        ("no algorithm", raw(&issuer, &json!({"kid": "k1"}), &text), Malformed),
        ("claims that are a list", raw(&issuer, &json!({"alg": "ES256", "kid": "k1"}), "[]"), Malformed),
        (
            "claims that are no JSON",
            raw(&issuer, &json!({"alg": "ES256", "kid": "k1"}), "{\"iss\""),
            Malformed,
        ),
        ("two parts", format!("{}.{}", parts[0], parts[1]), Malformed),
        ("four parts", format!("{good}.x"), Malformed),
        ("five parts, as of an encrypted token", format!("{good}.x.y"), Malformed),
        ("padding", format!("{}=.{}.{}", parts[0], parts[1], parts[2]), Malformed),
        ("blanks", good.replace('.', " ."), Malformed),
        ("a header that is no JSON", format!("eyJhb.{}.{}", parts[1], parts[2]), Malformed),
        ("nothing", String::new(), Malformed),
        ("too long", issuer.sign(&header(), &claims_with(json!({"pad": "x".repeat(9000)}))), Malformed),
    ];
    for (about, token, expected) in rows {
        assert_eq!(issuer.verify(&token).unwrap_err(), expected, "{about}");
    }
    // The key's own algorithm counts, whatever the issuer's rules allow.
    let allowed = [Algorithm::ES256, Algorithm::ES384, Algorithm::RS256, Algorithm::EdDSA];
    let as_rsa = raw(&issuer, &json!({"alg": "RS256", "kid": "k1"}), &text);
    assert_eq!(issuer.verify_with(&as_rsa, &allowed).unwrap_err(), UnknownKey);
}

#[test]
fn an_embedded_key_is_never_used() {
    let issuer = Issuer::new();
    let (mallory, public) = elliptic();
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(&public[1..33]), "y": URL_SAFE_NO_PAD.encode(&public[33..])});
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for header in [
        json!({"alg": "ES256", "kid": "k1", "jwk": jwk}),
        json!({"alg": "ES256", "jwk": jwk}),
        json!({"alg": "ES256", "kid": "k1", "jku": "https://evil.example/jwks"}),
        json!({"alg": "ES256", "kid": "k1", "x5u": "https://evil.example/cert"}),
    ] {
        let message = format!("{}.{}", part(&header), part(&claims()));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &mallory, Algorithm::ES256).unwrap();
        let refused = issuer.verify(&format!("{message}.{signature}")).unwrap_err();
        assert_eq!(refused, TokenRejection::BadSignature, "{header}");
    }
}

#[test]
fn rules_map_claims_to_rights() {
    let list = json!([{
        "issuer": ISSUER, "audience": ["gateway"], "algorithms": ["ES256"],
        "claims": {"user_path": "/staff/{email}", "tenant_id": "{org}", "scopes": "{scope}", "name": "{name}"},
        "rate_limits": {"requests_per_minute": "5"}, "allowed_models": ["openai/*"],
    }]);
    let issuer = TokenIssuer::parse_list(&list.to_string()).unwrap().remove(0);
    let all = claims_with(
        json!({"email": "a@example.com", "org": "t1", "scope": "openid inference admin:usage:read", "name": "Alice", "jti": "j1"}),
    );
    let facts = issuer.grant(all.as_object().unwrap(), [1; 32]).unwrap();
    assert_eq!((&*facts.subject, facts.jti.as_deref()), ("alice", Some("j1")));
    let grant = &facts.grant;
    assert_eq!(grant.user_path.as_ref().map(|path| path.as_str()), Some("/staff/a@example.com"));
    assert_eq!((grant.tenant_id.as_deref(), &*grant.name), (Some("t1"), "Alice"));
    assert_eq!(
        grant.scopes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["inference", "admin:usage:read"]
    );
    assert_eq!(grant.rate_limits.requests_per_minute, Some(5));
    assert_eq!(grant.lists.allowed_models.as_deref(), Some(&["openai/*".to_owned()][..]));
    assert_eq!(grant.expires_at, Some(Timestamp::from_seconds(NOW + 600 + CLOCK_SKEW)));
    for missing in ["email", "org", "scope", "name"] {
        let mut some = all.as_object().unwrap().clone();
        some.remove(missing);
        assert_eq!(issuer.grant(&some, [1; 32]).unwrap_err(), TokenRejection::ClaimMissing, "{missing}");
    }
    for evil in ["a|b", "a\nb", &"x".repeat(201)] {
        let mut some = all.as_object().unwrap().clone();
        some.insert("org".into(), json!(evil));
        assert_eq!(issuer.grant(&some, [1; 32]).unwrap_err(), TokenRejection::ClaimMissing, "{evil}");
    }
    for evil in ["../root", "a/b", "a:b", ".."] {
        let mut some = all.as_object().unwrap().clone();
        some.insert("email".into(), json!(evil));
        assert_eq!(issuer.grant(&some, [1; 32]).unwrap_err(), TokenRejection::ClaimMissing, "{evil}");
    }
}

#[test]
fn unusable_issuers_are_refused() {
    for bad in [
        json!([{"issuer": ISSUER, "audience": []}]),
        json!([{"issuer": ISSUER}]),
        json!([{"issuer": "name", "audience": ["a"]}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "algorithms": ["HS256"]}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "algorithms": ["none"]}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "algorithms": []}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "jwks_url": "file:///etc/passwd"}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "claims": {"user_path": "{"}}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "claims": {"path": "x"}}]),
        json!([{"issuer": ISSUER, "audience": ["a"], "rate_limits": {"requests_per_minute": 0}}]),
        json!([{"issuer": ISSUER, "audience": ["a"]}, {"issuer": ISSUER, "audience": ["b"]}]),
    ] {
        assert!(TokenIssuer::parse_list(&bad.to_string()).is_err(), "{bad}");
    }
}
