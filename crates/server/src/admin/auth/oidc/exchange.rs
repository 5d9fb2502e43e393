//! Requests to a provider: discovery, and the exchange of a code for an ID token.

use domain::fault::{self, Fault};
use identity::claim_template::Claims;
use identity::key_set::KeySet;
use identity::oidc::flow::LoginFlow;
use identity::oidc::{ALGORITHMS, DISCOVERY_PATH, Discovery, OidcProvider};
use identity::token::{self, TokenRules};
use pipeline::services::json_document;
use serde::Deserialize;

use crate::App;

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

/// The key that signs the cookies of logins: the same on all replicas.
pub fn flow_key(app: &App) -> [u8; 32] {
    app.refresher.store().derived_key("oidc login")
}

/// Reads the discovery document of a provider.
pub async fn discover(app: &App, provider: &OidcProvider) -> Result<Discovery, Fault> {
    let address = format!("{}{DISCOVERY_PATH}", provider.issuer.trim_end_matches('/'));
    let document = json_document::get(&app.gateway.egress, &address).await;
    let discovery = document.and_then(|document| Discovery::parse(&document, &provider.issuer));
    discovery.map_err(|reason| unreachable(provider, &reason))
}

/// Exchanges a code and verifies the ID token: signature, issuer, audience, times, nonce.
pub async fn claims(
    app: &App,
    provider: &OidcProvider,
    login: &LoginFlow,
    code: &str,
) -> Result<Claims, Fault> {
    let egress = &app.gateway.egress;
    let discovery = discover(app, provider).await?;
    let (form, authorization) = login.token_request(provider, &discovery, code);
    let answer =
        json_document::post_form(egress, &discovery.token_endpoint, form, authorization.as_ref()).await;
    let answer = answer.map_err(|reason| super::refused(&provider.name, &reason))?;
    let TokenAnswer { id_token } = serde_json::from_slice(&answer)
        .map_err(|_| super::refused(&provider.name, "the answer has no ID token"))?;
    let keys = json_document::get(egress, &discovery.jwks_uri).await.and_then(|json| KeySet::parse(&json));
    let keys = keys.map_err(|reason| unreachable(provider, &reason))?;
    let audience = [provider.client_id.clone()];
    let rules = TokenRules { issuer: &provider.issuer, audience: &audience, algorithms: &ALGORITHMS };
    let verified = token::verify(&id_token, rules, &keys, app.gateway.clock.now());
    let checked = verified.and_then(|claims| login.check(provider, &claims).map(|()| claims));
    checked.map_err(|rejection| super::refused(&provider.name, rejection.as_str()))
}

fn unreachable(provider: &OidcProvider, reason: &str) -> Fault {
    tracing::warn!(provider = provider.name, reason, "login provider cannot be used");
    fault::feature_unavailable(format!("The login provider '{}' cannot be used: {reason}.", provider.name))
}
