//! Requests to a provider: discovery, and the exchange of a code for an ID token.

use std::sync::Arc;

use domain::fault::{self, Fault};
use identity::claim_template::Claims;
use identity::key_set::KeySet;
use identity::oidc::flow::LoginFlow;
use identity::oidc::{ALGORITHMS, Discovery, OidcProvider};
use identity::token::{self, TokenRejection, TokenRules};
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

/// The discovery document of a provider.
pub async fn discover(app: &App, provider: &OidcProvider) -> Result<Arc<Discovery>, Fault> {
    let gateway = &app.gateway;
    let discovery = app.oidc_documents.discovery(&gateway.egress, provider, gateway.clock.tick()).await;
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
    let audience = [provider.client_id.clone()];
    let rules = TokenRules { issuer: &provider.issuer, audience: &audience, algorithms: &ALGORITHMS };
    let verify = |keys: Arc<KeySet>| token::verify(&id_token, rules, &keys, app.gateway.clock.now());
    let (documents, now) = (&app.oidc_documents, app.gateway.clock.tick());
    let keys = documents.keys(egress, provider, &discovery, now).await;
    let mut verified = verify(keys.map_err(|reason| unreachable(provider, &reason))?);
    if verified.as_ref().is_err_and(|rejection| *rejection == TokenRejection::UnknownKey) {
        let keys = documents.newer_keys(egress, provider, &discovery, now).await;
        verified = verify(keys.map_err(|reason| unreachable(provider, &reason))?);
    }
    let checked = verified.and_then(|claims| login.check(provider, &claims).map(|()| claims));
    checked.map_err(|rejection| super::refused(&provider.name, rejection.as_str()))
}

fn unreachable(provider: &OidcProvider, reason: &str) -> Fault {
    tracing::warn!(provider = provider.name, reason, "login provider cannot be used");
    fault::feature_unavailable(format!("The login provider '{}' cannot be used: {reason}.", provider.name))
}
