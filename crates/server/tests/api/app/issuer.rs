//! An issuer of tokens and OpenID Connect provider for tests: keys of its own, and the documents that it serves.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::TestSettings;

const AUDIENCE: &str = "gateway";

pub struct TestIssuer {
    pub url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    url: String,
    key: EncodingKey,
    key_id: String,
    jwks: Value,
    /// The claims of the next ID token.
    account: Value,
    /// The requests, as their first line and their body.
    requests: Vec<String>,
}

fn new_key(id: &str) -> (EncodingKey, Value) {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
    let public = pair.public_key().as_ref();
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let jwk =
        json!({"kty": "EC", "crv": "P-256", "kid": id, "x": text(&public[1..33]), "y": text(&public[33..])});
    (EncodingKey::from_ec_der(document.as_ref()), json!({"keys": [jwk]}))
}

impl TestIssuer {
    /// Starts the issuer on a thread of its own, which ends with the process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (key, jwks) = new_key("k1");
        let state = State {
            url: url.clone(),
            key,
            key_id: "k1".into(),
            jwks,
            account: Value::Null,
            requests: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let served = state.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                serve(connection, &served);
            }
        });
        Self { url, state }
    }

    /// Settings in which this issuer's tokens are accepted, with more members of its entry in `TOKEN_ISSUERS`.
    pub fn settings(&self, more: Value) -> TestSettings {
        let mut issuer = json!({"issuer": self.url, "audience": [AUDIENCE], "algorithms": ["ES256"]});
        for (name, value) in more.as_object().unwrap() {
            issuer[name] = value.clone();
        }
        let list = identity::token_issuer::TokenIssuer::parse_list(&json!([issuer]).to_string()).unwrap();
        TestSettings { token_issuers: list, ..TestSettings::with_identity() }
    }

    /// A token with these claims, signed with the current key.
    pub fn sign(&self, claims: &Value) -> String {
        let state = self.state.lock().unwrap();
        let header = Header { kid: Some(state.key_id.clone()), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, claims, &state.key).unwrap()
    }

    /// A valid token of a subject.
    pub fn token(&self, subject: &str, now: i64) -> String {
        self.sign(&self.claims(subject, now))
    }

    pub fn claims(&self, subject: &str, now: i64) -> Value {
        json!({"iss": self.url, "aud": AUDIENCE, "sub": subject, "iat": now - 5, "exp": now + 600})
    }

    /// Replaces the key by another.
    pub fn rotate(&self, id: &str) {
        let mut state = self.state.lock().unwrap();
        (state.key, state.jwks) = new_key(id);
        state.key_id = id.to_owned();
    }

    /// Sets the claims of the next ID token.
    pub fn answer_with(&self, claims: Value) {
        self.state.lock().unwrap().account = claims;
    }

    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }
}

fn serve(mut connection: TcpStream, state: &Mutex<State>) {
    let Some((head, body)) = read(&mut connection) else { return };
    let line = head.lines().next().unwrap_or_default().to_owned();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut state = state.lock().unwrap();
    state.requests.push(format!("{line}\n{body}"));
    let answer = match &*path {
        "/.well-known/openid-configuration" => Some(json!({
            "issuer": state.url,
            "authorization_endpoint": format!("{}/authorize", state.url),
            "token_endpoint": format!("{}/token", state.url),
            "jwks_uri": format!("{}/jwks", state.url),
        })),
        "/jwks" => Some(state.jwks.clone()),
        "/token" if !state.account.is_null() => {
            let header = Header { kid: Some(state.key_id.clone()), ..Header::new(Algorithm::ES256) };
            let token = jsonwebtoken::encode(&header, &state.account, &state.key).unwrap();
            Some(json!({"id_token": token, "access_token": "unused", "token_type": "Bearer"}))
        }
        _ => None,
    };
    let (status, text) = match answer {
        Some(answer) => ("200 OK", answer.to_string()),
        None => ("400 Bad Request", json!({"error": "invalid_grant"}).to_string()),
    };
    let length = text.len();
    let _ = write!(
        connection,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
}

/// The head and body of a request.
fn read(connection: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match connection.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
