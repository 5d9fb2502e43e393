//! Tests of the state of a login, and of the claims that belong to it.

use serde_json::{Value, json};

use super::*;

const KEY: [u8; 32] = [7; 32];
const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

fn provider(secret: Option<&str>) -> OidcProvider {
    let list = json!([{"name": "corp", "issuer": "https://id.example", "client_id": "gate way", "client_secret": secret}]);
    OidcProvider::parse_list(&list.to_string()).unwrap().remove(0)
}

fn discovery(methods: &[&str]) -> Discovery {
    let document = json!({
        "issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth?tenant=1",
        "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/jwks",
        "token_endpoint_auth_methods_supported": methods,
    });
    Discovery::parse(document.to_string().as_bytes(), "https://id.example").unwrap()
}

fn flow() -> LoginFlow {
    let entropy = testkit::SeededEntropy::new(3);
    LoginFlow::start("corp", "https://gateway/callback".into(), NOW, &entropy)
}

#[test]
fn the_cookie_is_read_only_as_signed_and_in_time() {
    let flow = flow();
    let text = flow.seal(&KEY);
    assert_eq!(LoginFlow::open(&text, &KEY, NOW), Some(flow.clone()));
    assert_eq!(LoginFlow::open(&text, &[8; 32], NOW), None, "another key");
    let late = Timestamp::from_seconds(NOW.seconds() + LIFETIME);
    assert_eq!(LoginFlow::open(&text, &KEY, late), None, "expired");
    let (body, signature) = text.split_once('.').unwrap();
    let forged = LoginFlow { state: "known".into(), ..flow };
    let forged = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&forged).unwrap());
    for bad in ["", ".", body, &format!("{body}."), &format!("{forged}.{signature}"), &format!("{body}.AAAA")]
    {
        assert_eq!(LoginFlow::open(bad, &KEY, NOW), None, "{bad}");
    }
}

#[test]
fn the_provider_gets_the_challenge_and_not_the_verifier() {
    let flow = flow();
    let url = flow.authorization_url(&provider(None), &discovery(&[]));
    assert!(
        url.starts_with("https://id.example/auth?tenant=1&response_type=code&client_id=gate%20way&"),
        "{url}"
    );
    assert!(url.contains("redirect_uri=https%3A%2F%2Fgateway%2Fcallback"), "{url}");
    assert!(url.contains("code_challenge_method=S256") && !url.contains(&flow.verifier), "{url}");
    assert!(url.contains(&flow.state) && url.contains(&flow.nonce));
}

#[test]
fn the_client_authenticates_as_the_provider_supports_it() {
    let flow = flow();
    let (body, header) = flow.token_request(&provider(Some("s:1")), &discovery(&[]), "c&d");
    assert!(body.contains("code=c%26d") && body.contains(&flow.verifier) && !body.contains("client_secret"));
    let header = header.unwrap();
    let pair = STANDARD.decode(header.reveal().strip_prefix("Basic ").unwrap()).unwrap();
    assert_eq!(pair, b"gate%20way:s%3A1");
    let (body, header) = flow.token_request(&provider(Some("s")), &discovery(&["client_secret_post"]), "c");
    assert!(body.contains("client_secret=s") && header.is_none());
    let (body, header) = flow.token_request(&provider(None), &discovery(&["none"]), "c");
    assert!(body.contains("client_id=gate%20way") && !body.contains("client_secret") && header.is_none());
}

#[test]
fn an_id_token_must_be_of_this_login() {
    let flow = flow();
    let check = |claims: Value| flow.check(&provider(None), claims.as_object().unwrap());
    let nonce = &flow.nonce;
    assert_eq!(check(json!({"nonce": nonce, "aud": "gate way"})), Ok(()));
    assert_eq!(check(json!({"nonce": nonce, "aud": ["gate way", "b"], "azp": "gate way"})), Ok(()));
    for (claims, expected) in [
        (json!({"aud": "gate way"}), TokenRejection::WrongNonce),
        (json!({"nonce": "other", "aud": "gate way"}), TokenRejection::WrongNonce),
        (json!({"nonce": "", "aud": "gate way"}), TokenRejection::WrongNonce),
        (json!({"nonce": nonce, "aud": ["gate way", "b"]}), TokenRejection::WrongAudience),
        (json!({"nonce": nonce, "aud": "gate way", "azp": "b"}), TokenRejection::WrongAudience),
    ] {
        assert_eq!(check(claims.clone()), Err(expected), "{claims}");
    }
}

#[test]
fn a_discovery_document_names_its_own_issuer() {
    let document = json!({"issuer": "https://evil.example", "authorization_endpoint": "a", "token_endpoint": "b", "jwks_uri": "c"});
    assert!(Discovery::parse(document.to_string().as_bytes(), "https://id.example").is_err());
    assert!(Discovery::parse(b"{}", "https://id.example").is_err());
    assert!(Discovery::parse(b"<html>", "https://id.example").is_err());
}
